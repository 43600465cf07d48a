"""What clients may read by address, and how they hear that it has changed."""
