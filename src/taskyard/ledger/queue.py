"""Group commit: what is decided while a flush is under way lands together in the next one.

There is no timer. An idle committer flushes at once, so a lone caller waits for nobody.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from taskyard.core.changes import ChangeSet, Committed, Conflict, Taken
from taskyard.core.errors import StoreFull
from taskyard.stores.contract import Store

Result = Committed | Conflict | Taken
BATCH = 500  # sets a flush takes at most
BIG = 200  # rows from which on a set commits alone, so that it delays no neighbour


class _Decided(NamedTuple):
    sets: Sequence[ChangeSet]
    landed: asyncio.Future[Sequence[Result]]


class Committer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: deque[_Decided] = deque()
        self._flushing: asyncio.Task[None] | None = None
        self.flushes = 0  # so far: whoever has time to spare sees by it whether others are at work

    async def commit(self, change_set: ChangeSet) -> Result:
        """Land one set, together with whatever else is waiting."""
        (result,) = await self.commit_all([change_set])
        return result

    async def commit_all(self, sets: Sequence[ChangeSet]) -> Sequence[Result]:
        """Land sets that touch no row twice, each for itself."""
        decided = _Decided(sets, asyncio.get_running_loop().create_future())
        self._waiting.append(decided)
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())
        # A caller that is cancelled does not take its sets back: they may have landed already.
        return await decided.landed

    async def close(self) -> None:
        while self._flushing is not None:
            await self._flushing

    async def _flush(self) -> None:
        try:
            while self._waiting:
                self.flushes += 1
                await self._land(self._batch())
        finally:
            self._flushing = None

    async def _land(self, batch: list[_Decided]) -> None:
        try:
            results = await self._store.commit([change_set for decided in batch for change_set in decided.sets])
        except StoreFull as full:
            # Some of them may be such as a full store takes: none shall suffer for another.
            if len(batch) > 1:
                for decided in batch:
                    await self._land([decided])
            else:
                _refuse(batch, full)
        except BaseException as error:
            _refuse(batch, error)
            if not isinstance(error, Exception):
                raise
        else:
            left = iter(results)
            for decided in batch:
                mine = [next(left) for _ in decided.sets]
                if not decided.landed.done():
                    decided.landed.set_result(mine)

    def _batch(self) -> list[_Decided]:
        """The sets at the head that touch no row twice: of two decided on one version, only one can land."""
        batch: list[_Decided] = []
        guarded: set[str] = set()
        number = 0
        while self._waiting and number < BATCH:
            decided = self._waiting[0]
            rows = {row for change_set in decided.sets for row in _guarded(change_set)}
            is_big = len(decided.sets) == 1 and len(rows) > BIG
            if batch and (is_big or not guarded.isdisjoint(rows)):
                break
            guarded |= rows
            number += len(decided.sets)
            batch.append(self._waiting.popleft())
            if is_big:
                break
        return batch


def _refuse(batch: Sequence[_Decided], error: BaseException) -> None:
    for decided in batch:
        if not decided.landed.done():
            decided.landed.set_exception(error)
            decided.landed.exception()  # a caller that has gone away must not make this an unheard error


def _guarded(change_set: ChangeSet) -> Iterator[str]:
    for change in change_set.changes:
        yield change.before.id
    for expect in change_set.expects:
        yield expect.task_id
    for record in change_set.records:
        yield f"{record.kind}:{record.workspace}:{record.id}"
    for task in change_set.tasks:
        yield task.hot.id
