"""Tasks that wait for a person's word."""
