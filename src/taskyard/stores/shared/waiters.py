"""The coroutines of one event loop that wait for a write."""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet
from contextlib import suppress

from taskyard.stores.turns import at_rest

ANYTHING = None  # a write of unknown topics; and the choice of a waiter for writes of every topic


class Waiters:
    def __init__(self) -> None:
        self.mark = 1  # of the last known write
        self._marks: dict[str, int] = {}  # of the last write of each topic
        self._unknown = 1  # of the last write of unknown topics
        self._waiting: dict[asyncio.Future[None], AbstractSet[str] | None] = {}

    @property
    def is_awaited(self) -> bool:
        """Whether a coroutine waits that has not been woken."""
        return not all(waiting.done() for waiting in self._waiting)

    def wake(self, topics: AbstractSet[str] | None = ANYTHING) -> None:
        """Something was written, or may have been, that concerns these topics."""
        self.mark += 1
        if topics is None:
            self._unknown = self.mark
        else:
            self._marks.update(dict.fromkeys(topics, self.mark))
        for waiting, wanted in self._waiting.items():
            if not waiting.done() and (topics is None or wanted is None or not wanted.isdisjoint(topics)):
                waiting.set_result(None)

    async def wait(self, mark: int, timeout: float, wanted: AbstractSet[str] | None = ANYTHING) -> None:
        """Wait for a write since the mark on a wanted topic, or until the time-out."""
        if self.has_changed(mark, wanted):
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[waiting] = wanted
        try:
            with at_rest(), suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await waiting
        finally:
            del self._waiting[waiting]

    def has_changed(self, mark: int, wanted: AbstractSet[str] | None) -> bool:
        """Whether a write on a wanted topic is known since the mark."""
        if wanted is None:
            return mark != self.mark
        return mark < self._unknown or any(mark < self._marks.get(topic, 0) for topic in wanted)
