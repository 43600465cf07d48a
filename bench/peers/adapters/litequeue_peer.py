"""litequeue on SQLite, with synchronous FULL where its own choice is NORMAL. It brings no worker: this is a loop."""
# pyright: basic, reportMissingImports=false
# The peers are not in the environment that types are checked in.

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from time import sleep

import litequeue

from bench.peers.contract import Done, payload

POLL = 0.002  # seconds


class Peer:
    blocking = True

    def __init__(self, place: str) -> None:
        self._place = place

    async def prepare(self) -> None:
        await self.open()
        await self.close()

    async def open(self) -> None:
        self._queue = litequeue.LiteQueue(f"{self._place}/litequeue.db", timeout=30)
        self._queue.conn.execute("pragma synchronous = full")

    async def put(self, number: int) -> None:
        self._queue.put(json.dumps(payload(number)))

    async def put_many(self, numbers: Sequence[int]) -> None:
        with self._queue.transaction():
            for number in numbers:
                self._queue.put(json.dumps(payload(number)))

    async def work(self, done: Done) -> None:
        await asyncio.to_thread(self._take, done)

    def _take(self, done: Done) -> None:
        while True:
            message = self._queue.pop()
            if message is None:
                sleep(POLL)
                continue
            done(json.loads(message.data)["number"])
            self._queue.done(message.message_id)

    async def left(self) -> int:
        return self._queue.qsize()

    async def close(self) -> None:
        self._queue.close()
