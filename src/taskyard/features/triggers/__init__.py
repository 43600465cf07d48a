"""Triggers: work that comes in by webhooks, by events and by figures."""
