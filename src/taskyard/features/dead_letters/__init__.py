"""Tasks that failed for good, and what people decide about them."""
