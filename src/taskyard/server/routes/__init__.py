"""The calls of `wire.calls`, answered."""
