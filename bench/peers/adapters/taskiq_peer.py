"""taskiq on Redis streams, where a job is acknowledged once it has run. No results are kept."""
# pyright: basic, reportMissingImports=false
# The peers are not in the environment that types are checked in.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import taskiq.api
import taskiq_redis
from redis.asyncio import Redis

from bench.peers.contract import SLOTS, Done, payload

STREAM = "taskiq"


class Peer:
    blocking = False

    def __init__(self, place: str) -> None:
        self._redis = Redis.from_url(place)
        self._broker = taskiq_redis.RedisStreamBroker(place, queue_name=STREAM, consumer_id="0")

        @self._broker.task(task_name="noop")
        async def noop(number: int, **_: str) -> None:
            self._done(number)

        self._noop = noop

    async def prepare(self) -> None:
        await self._broker.startup()

    async def open(self) -> None:
        await self._broker.startup()

    async def put(self, number: int) -> None:
        await self._noop.kiq(**payload(number))

    async def put_many(self, numbers: Sequence[int]) -> None:
        """There is no call for many, and it is no quicker with several at a time."""
        for number in numbers:
            await self.put(number)

    async def work(self, done: Done) -> None:
        self._done = done
        await taskiq.api.run_receiver_task(self._broker, max_async_tasks=SLOTS, max_prefetch=SLOTS)

    async def left(self) -> int:
        (group,) = await self._redis.xinfo_groups(STREAM)
        unread: Any = await self._redis.xrange(STREAM, min=b"(" + group["last-delivered-id"])
        return group["pending"] + len(unread)

    async def close(self) -> None:
        await self._broker.shutdown()
        await self._redis.aclose()
