"""huey on SQLite, synchronous FULL. A job is gone when it is taken, not when it is done: a crash loses it."""
# pyright: basic, reportMissingImports=false
# The peers are not in the environment that types are checked in.

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import huey

from bench.peers.contract import Done, payload

FULL = 2  # as pragma synchronous counts
POLL = 0.01  # seconds


class Peer:
    blocking = True

    def __init__(self, place: str) -> None:
        self._huey = huey.SqliteHuey(filename=f"{place}/huey.db", fsync=FULL, results=False)

        @self._huey.task(name="noop")
        def noop(number: int, **_: str) -> None:
            self._done(number)

        self._noop = noop

    async def prepare(self) -> None:
        """Making it makes its tables."""

    async def open(self) -> None:
        self._huey.pending_count()

    async def put(self, number: int) -> None:
        self._noop(**payload(number))

    async def put_many(self, numbers: Sequence[int]) -> None:
        """There is no call for many."""
        for number in numbers:
            await self.put(number)

    async def work(self, done: Done) -> None:
        self._done = done
        consumer = self._huey.create_consumer(workers=1, periodic=False, initial_delay=POLL, backoff=1.0)
        consumer.start()
        await asyncio.Event().wait()

    async def left(self) -> int:
        return self._huey.pending_count()

    async def close(self) -> None:
        self._huey.storage.close()
