"""Fast paths of the SQLite store: each one says when it applies, what the slow path is, and its measured gain."""
