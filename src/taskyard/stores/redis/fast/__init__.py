"""Fast paths of the Redis store: each one says when it applies, what the slow path is, and its measured gain."""
