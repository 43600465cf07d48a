"""Tasks: putting them in, finding them, cancelling and running them again."""
