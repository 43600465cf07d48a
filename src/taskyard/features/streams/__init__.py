"""What attempts say while they work."""
