"""The log of what has happened, and who follows it."""
