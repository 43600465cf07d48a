"""Circuit breakers of task types."""
