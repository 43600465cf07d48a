"""One folder for each noun: its rules, which are pure, and what is done by them."""
