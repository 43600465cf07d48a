"""A whole yard as a file, and from a file: how a yard moves to another store."""
