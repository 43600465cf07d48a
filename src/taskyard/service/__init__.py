"""The use cases: load, decide, commit."""
