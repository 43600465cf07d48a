"""What several stores use: see README.md for which store uses which module."""
