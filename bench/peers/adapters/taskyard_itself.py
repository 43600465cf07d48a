"""Taskyard itself, on whichever store the place is a URL of, as its users run it: with full history, and sweeping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import taskyard
from bench.peers.contract import Done, payload
from taskyard.app import Yard
from taskyard.core.task import Status
from taskyard.worker.context import Context
from taskyard.worker.handlers import Agent
from taskyard.worker.process.runner import Worker

TYPE = "noop"
SLOTS = 500  # as many as pgqueuer and graphile-worker take at once


class Peer:
    blocking: ClassVar[bool] = False

    def __init__(self, place: str) -> None:
        self._yard: Yard = taskyard.connect(place)

    async def prepare(self) -> None:
        """Opening a yard makes it."""

    async def open(self) -> None:
        await self._yard.open()

    async def put(self, number: int) -> None:
        await self._yard.enqueue(TYPE, payload=payload(number))

    async def put_many(self, numbers: Sequence[int]) -> None:
        await self._yard.enqueue_many([{"type": TYPE, "payload": payload(number)} for number in numbers])

    async def work(self, done: Done) -> None:
        agent = Agent("bench", max_concurrent_tasks=SLOTS)

        @agent.handles(TYPE)
        async def noop(_: Context, given: dict[str, int]) -> None:
            done(given["number"])

        await Worker(self._yard, agent).run()

    async def left(self) -> int:
        stats = await self._yard.tasks.stats()
        return sum(sum(types.values()) for status, types in stats.items() if not Status(status).is_final)

    async def close(self) -> None:
        await self._yard.close()
