"""The SQLite store: a yard in one file, shared by the processes of one machine."""

from taskyard.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
