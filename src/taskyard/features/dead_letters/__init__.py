"""Tasks that wait for a person."""
