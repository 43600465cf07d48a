"""dramatiq on Redis, in threads. A message is acknowledged once its actor has run."""
# pyright: basic, reportMissingImports=false
# The peers are not in the environment that types are checked in.

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench.peers.contract import Done, payload

THREADS = 8  # its own default


class Peer:
    blocking = True

    def __init__(self, place: str) -> None:
        self._broker = RedisBroker(url=place)

        def noop(number: int, **_: str) -> None:
            self._done(number)

        self._noop = dramatiq.actor(noop, broker=self._broker)

    async def prepare(self) -> None:
        """Its keys come with the first message."""

    async def open(self) -> None:
        self._broker.client.ping()

    async def put(self, number: int) -> None:
        self._noop.send(**payload(number))

    async def put_many(self, numbers: Sequence[int]) -> None:
        """There is no call for many."""
        for number in numbers:
            await self.put(number)

    async def work(self, done: Done) -> None:
        self._done = done
        worker = dramatiq.Worker(self._broker, worker_threads=THREADS)
        worker.start()
        await asyncio.Event().wait()

    async def left(self) -> int:
        return self._broker.client.hlen("dramatiq:default.msgs")

    async def close(self) -> None:
        self._broker.close()
