"""Random names of tasks for others to hold."""
