"""The one queue before a store, for all workspaces: every change set passes through it, and waits in it once.

A line of the queue belongs to a decider: arrivals and completions have one in each workspace. What waits in a line is
decided on together, and what that comes to is committed at once, as one group. Sets that were decided on one by one
share a line of their own, and big ones another: nobody waits for a big set but those behind it. There is no timer:
where nothing is under way, a lone caller waits for nobody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar
from weakref import WeakSet

from taskyard.core.changes import ChangeSet, Committed, Conflict, Taken
from taskyard.core.errors import StoreFull
from taskyard.ledger.batcher import Batcher, Waiting
from taskyard.stores.contract import Store

Result = Committed | Conflict | Taken
BATCH = 500  # sets that are committed together at most
BIG = 200  # rows from which on a set commits beside the others, so that it delays no neighbour
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class CommitQueue:
    """Group commit: what waits while a commit is under way is committed together in the next one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lines: WeakSet[Batcher[Any, Any]] = WeakSet()  # of workspaces that somebody still uses
        self._single_sets = _SingleSets(self._commit_singly, most=BATCH)
        self._big_sets = Batcher(self._commit_singly, most=1)
        self.commits = 0  # so far: whoever has time to spare sees by it whether others are at work

    def line(
        self,
        decide: Callable[[Sequence[Asked]], Awaitable[Sequence[Answer | Exception]]],
        *,
        most: int,
        weigh: Callable[[Asked], int] | None = None,
        heaviest: int = 0,
        worth_a_second: int = 0,
        halves: bool = False,
    ) -> Batcher[Asked, Answer]:
        """A line for what this decides on and commits by `commit_now`: the next batch while one commits."""
        line = Batcher(decide, most=most, weigh=weigh, heaviest=heaviest, worth_a_second=worth_a_second, halves=halves)
        self._lines.add(line)
        return line

    async def commit(self, change_set: ChangeSet) -> Result:
        """Commit one set, together with whatever else is waiting; a big one by itself, beside those."""
        return await (self._big_sets if _is_big(change_set) else self._single_sets).ask(change_set)

    async def commit_now(self, sets: Sequence[ChangeSet]) -> Sequence[Result]:
        """Commit sets that were decided on together and touch no row twice, each for itself."""
        self.commits += 1
        return await self._store.commit(sets)

    async def close(self) -> None:
        """Let what waits be committed. What meets a conflict is decided on again, one by one."""
        for line in (*self._lines, self._single_sets, self._big_sets):
            await line.close()

    async def _commit_singly(self, sets: Sequence[ChangeSet]) -> Sequence[Result | Exception]:
        try:
            return await self.commit_now(sets)
        except StoreFull as full:
            # Some of them may be such as a full store takes: none shall suffer for another.
            if len(sets) == 1:
                return [full]
            return [answer for each in sets for answer in await self._commit_singly([each])]


class _SingleSets(Batcher[ChangeSet, Result]):
    """Sets of several callers: of two that were decided on one version only one can be stored, so they go apart."""

    def _batch(self) -> list[Waiting[ChangeSet, Result]]:
        batch: list[Waiting[ChangeSet, Result]] = []
        guarded: set[str] = set()
        while self._waiting and len(batch) < self._most:
            rows = set(_guarded(self._waiting[0][0]))
            if not guarded.isdisjoint(rows):
                break
            guarded |= rows
            batch.append(self._waiting.popleft())
        return batch


def _is_big(change_set: ChangeSet) -> bool:
    return sum(map(len, (change_set.changes, change_set.expects, change_set.records, change_set.tasks))) > BIG


def _guarded(change_set: ChangeSet) -> Iterator[str]:
    for change in change_set.changes:
        yield change.before.id
    for expect in change_set.expects:
        yield expect.task_id
    for record in change_set.records:
        yield f"{record.kind}:{record.workspace}:{record.id}"
    for task in change_set.tasks:
        yield task.hot.id
