"""The Redis store: a yard under one hash tag of a Redis or Valkey server."""

from taskyard.stores.redis.store import RedisStore

__all__ = ["RedisStore"]
