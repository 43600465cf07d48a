"""Waiting until tasks end: one look at the store for everybody in this process who waits, woken by what is written."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from taskyard.core.errors import TaskyardError
from taskyard.core.task import TaskId
from taskyard.stores.contract import Store

GATHER = 0.02  # seconds between two looks: in a busy yard something is written all the time
IDLE = 5.0  # seconds after which the store is looked at again without being woken


class Ends:
    """Those who wait for the end of a task, by task."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[TaskId, set[asyncio.Future[None]]] = {}
        self._watching: asyncio.Task[None] | None = None

    async def wait(self, task_id: TaskId, timeout: float) -> None:
        """Return when the task has ended or is gone, or at the time-out."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # First known as waiting and then looked: an end in between is met by the look or by the wake-up.
        self._waiting.setdefault(task_id, set()).add(ended)
        try:
            await self._look([task_id])
            if not ended.done():
                self._watch()
                with suppress(TimeoutError):
                    async with asyncio.timeout(timeout):
                        await ended
        finally:
            self._leave(task_id, ended)

    async def close(self) -> None:
        if (watching := self._watching) is not None:
            watching.cancel()
            await asyncio.wait([watching])

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch_on(), name="taskyard ends")

    async def _watch_on(self) -> None:
        try:
            while self._waiting:
                mark = await self._store.changed(-1, 0)
                await self._look(list(self._waiting))
                await asyncio.sleep(GATHER)
                await self._store.changed(mark, IDLE)
        except TaskyardError as error:
            for each in [waiting for all_of_one in self._waiting.values() for waiting in all_of_one]:
                if not each.done():
                    each.set_exception(error)

    async def _look(self, task_ids: list[TaskId]) -> None:
        found = await self._store.load(task_ids)
        for task_id in task_ids:
            if (hot := found.get(task_id)) is None or hot.status.is_final:
                for ended in self._waiting.get(task_id, ()):
                    if not ended.done():
                        ended.set_result(None)

    def _leave(self, task_id: TaskId, ended: asyncio.Future[None]) -> None:
        others = self._waiting[task_id]
        others.discard(ended)
        if not others:
            del self._waiting[task_id]
        if not self._waiting and self._watching is not None:
            self._watching.cancel()
            self._watching = None
