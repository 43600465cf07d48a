"""Variants of task types, to be compared."""
