"""A yard in a PostgreSQL database, for as many machines as like."""

from taskyard.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
