"""What every store uses."""
