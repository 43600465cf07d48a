"""Inboxes: what is written to an agent, by people or by the yard, and read once."""
