"""The calls of `api.calls`, answered."""
