"""Schedules: work that comes in by the clock."""
