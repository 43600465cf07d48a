"""Combines the reads of many callers: what callers ask for during one read is read together next.

There is no timer. No caller gets a value that was read before the caller asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from taskyard.core.task import TaskId

Value = TypeVar("Value")


class ReadBatcher(Generic[Value]):
    def __init__(self, read: Callable[[Sequence[TaskId]], Awaitable[dict[TaskId, Value]]]) -> None:
        self._read = read
        self._waiting: list[tuple[Sequence[TaskId], asyncio.Future[dict[TaskId, Value]]]] = []
        self._reading: asyncio.Task[None] | None = None

    async def ask(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Value]:
        if self._reading is None and not self._waiting:
            # Other coroutines that are ready to run can join before the read begins.
            self._reading = asyncio.create_task(self._read_all())
        future: asyncio.Future[dict[TaskId, Value]] = asyncio.get_running_loop().create_future()
        self._waiting.append((task_ids, future))
        return await future

    async def _read_all(self) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                await self._answer(waiting)
        finally:
            self._reading = None

    async def _answer(self, waiting: Sequence[tuple[Sequence[TaskId], asyncio.Future[dict[TaskId, Value]]]]) -> None:
        try:
            found = await self._read(list({task_id: None for task_ids, _ in waiting for task_id in task_ids}))
        except BaseException as error:
            for _, future in waiting:
                if not future.done():
                    future.set_exception(error)
                    future.exception()  # mark it as retrieved: a caller that was cancelled does not retrieve it
            if not isinstance(error, Exception):
                raise
            return
        for task_ids, future in waiting:
            if not future.done():
                future.set_result({task_id: found[task_id] for task_id in task_ids if task_id in found})

    async def close(self) -> None:
        while self._reading is not None:
            await self._reading
