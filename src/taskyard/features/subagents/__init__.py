"""Subagents: agents that an agent starts and hears from."""
