"""Queues and presets: which rules work is judged by."""
