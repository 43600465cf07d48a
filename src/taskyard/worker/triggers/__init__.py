"""Processes that listen to a source and fire the triggers that wait for it."""
