"""Notifications: who is notified of what."""
