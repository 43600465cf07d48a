"""Judging what is handed in: by rules in the call, or by a validator afterwards."""
