"""saq on Redis. The result of a job is kept for a while."""
# pyright: basic, reportMissingImports=false
# The peers are not in the environment that types are checked in.

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import saq
from redis.asyncio import Redis
from saq.queue.redis import RedisQueue

from bench.peers.contract import SLOTS, Done, payload


class Peer:
    blocking = False

    def __init__(self, place: str) -> None:
        self._queue = RedisQueue(Redis.from_url(place), max_concurrent_ops=SLOTS)

    async def prepare(self) -> None:
        """Its keys come with the first job."""

    async def open(self) -> None:
        await self._queue.connect()

    async def put(self, number: int) -> None:
        await self._queue.enqueue("noop", **payload(number))

    async def put_many(self, numbers: Sequence[int]) -> None:
        """There is no call for many: as many at a time as it bears."""
        await asyncio.gather(*(self.put(number) for number in numbers))

    async def work(self, done: Done) -> None:
        async def noop(_context: object, *, number: int, **_: str) -> None:
            done(number)

        worker = saq.Worker(self._queue, [("noop", noop)], concurrency=SLOTS)
        worker.SIGNALS = []
        await worker.start()

    async def left(self) -> int:
        return await self._queue.count("incomplete")

    async def close(self) -> None:
        await self._queue.disconnect()
