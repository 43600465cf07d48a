"""Fast paths of the PostgreSQL store: each applies to the common case and falls back to the general path."""
