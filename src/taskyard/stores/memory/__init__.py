"""The memory store: the model that the others are compared with, and `memory://`."""

from taskyard.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
