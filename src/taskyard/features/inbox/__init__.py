"""Inboxes: what is written to an agent, or told to it, and read once."""
