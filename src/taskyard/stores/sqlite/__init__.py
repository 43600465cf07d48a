"""A yard in one file, for as many processes of one machine as like."""

from taskyard.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
