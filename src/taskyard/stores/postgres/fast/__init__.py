"""Fast paths of the PostgreSQL store: each one says when it applies, what the slow path is, and its measured gain."""
