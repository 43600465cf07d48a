"""Taskyard beside other systems: moving to it, and working with them."""
