"""The PostgreSQL store: a yard in a schema, shared by any number of machines."""

from taskyard.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
