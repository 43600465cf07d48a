"""Group commit: what is decided while a flush is under way lands together in the next one.

There is no timer. An idle committer flushes at once, so a lone caller waits for nobody.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator

from taskyard.core.changes import ChangeSet, Committed, Conflict, Taken
from taskyard.stores.contract import Store

Result = Committed | Conflict | Taken
BATCH = 500  # sets a flush takes at most
BIG = 200  # rows from which on a set commits alone, so that it delays no neighbour


class Committer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: deque[tuple[ChangeSet, asyncio.Future[Result]]] = deque()
        self._flushing: asyncio.Task[None] | None = None

    async def commit(self, change_set: ChangeSet) -> Result:
        """Land one set, together with whatever else is waiting."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((change_set, future))
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())
        # A caller that is cancelled does not take its set back: it may have landed already.
        return await asyncio.shield(future)

    async def commit_all(self, sets: list[ChangeSet]) -> list[Result]:
        return list(await asyncio.gather(*(self.commit(each) for each in sets)))

    async def close(self) -> None:
        while self._flushing is not None:
            await self._flushing

    async def _flush(self) -> None:
        try:
            while self._waiting:
                batch = self._batch()
                await self._land(batch)
        finally:
            self._flushing = None

    async def _land(self, batch: list[tuple[ChangeSet, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._store.commit([change_set for change_set, _ in batch])
        except BaseException as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
                    future.exception()  # a caller that has gone away must not make this an unheard error
            if not isinstance(error, Exception):
                raise
        else:
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(result)

    def _batch(self) -> list[tuple[ChangeSet, asyncio.Future[Result]]]:
        """The sets at the head that touch no row twice: of two decided on one version, only one can land."""
        batch: list[tuple[ChangeSet, asyncio.Future[Result]]] = []
        guarded: set[str] = set()
        while self._waiting and len(batch) < BATCH:
            change_set, _ = self._waiting[0]
            rows = set(_guarded(change_set))
            if batch and (guarded & rows or len(rows) > BIG):
                break
            guarded |= rows
            batch.append(self._waiting.popleft())
            if len(rows) > BIG:
                break
        return batch


def _guarded(change_set: ChangeSet) -> Iterator[str]:
    for change in change_set.changes:
        yield change.before.id
    for expect in change_set.expects:
        yield expect.task_id
    for record in change_set.records:
        yield f"{record.kind}:{record.workspace}:{record.id}"
    for task in change_set.tasks:
        yield task.hot.id
