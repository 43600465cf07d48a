"""Tasks found, counted and listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Unpack

from taskyard.core.errors import InvalidInput
from taskyard.core.task import Hot, Status, TaskId
from taskyard.core.units import MicroUsd
from taskyard.definition.task_fields import TaskConditions, TaskFilter
from taskyard.features.tasks.answers import Counted, Relations, Total
from taskyard.features.tasks.parts import AttemptView, attempt_view
from taskyard.features.tasks.task_rows import TaskInShort, TaskRow, in_short, row_of
from taskyard.features.tasks.views import Task, stored_task
from taskyard.ledger.ledger import Ledger
from taskyard.stores.contract import Filter

MOST_LISTED = 200
DEFAULT_LISTED = 50
MOST_COUNTED = 10_000
MOST_TOTAL = 1_000  # of a list: beyond that it is enough to know that there are more
COUNTED_AT_ONCE = 1000


class Queries:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def history(self, task_id: str) -> list[AttemptView]:
        """How the attempts at a task ended, in their order."""
        attempts = await self._store.attempts((await self._ledger.load(TaskId(task_id))).id)
        return [attempt_view(attempt) for attempt in attempts]

    async def find(self, *, limit: int = DEFAULT_LISTED, cursor: int = 0, **which: Unpack[TaskFilter]) -> list[Task]:
        """Tasks, newest first. The cursor is the `seq` of the last one seen."""
        if not 1 <= limit <= MOST_LISTED:
            raise InvalidInput("limit", f"must be from 1 to {MOST_LISTED}")
        return await self.tasks(await self._store.find(self.filter(**which), after=cursor, limit=limit))

    def filter(
        self, *, status: str | Sequence[str] = (), type: str | Sequence[str] = (), **which: Unpack[TaskConditions]
    ) -> Filter:
        statuses = frozenset(_status(word) for word in _several(status))
        return Filter(workspace=self._workspace, statuses=statuses, types=frozenset(_several(type)), **which)

    async def tasks(self, hots: Sequence[Hot]) -> list[Task]:
        """The tasks of these rows, but for those that were pruned since the rows were read."""
        definitions = await self._store.definitions([hot.id for hot in hots])
        return [Task(hot, definitions[hot.id]) for hot in hots if hot.id in definitions]

    async def rows(self, *, limit: int = DEFAULT_LISTED, cursor: int = 0, **which: Unpack[TaskFilter]) -> list[TaskRow]:
        """The same, each task as one line without anything long."""
        tasks = await self.find(limit=limit, cursor=cursor, **which)
        costs = await self.costs_of([stored_task(task)[0] for task in tasks])
        return [row_of(task, costs[task.id]) for task in tasks]

    async def in_short(self, hots: Sequence[Hot]) -> tuple[TaskInShort, ...]:
        """Tasks of a graph in outline."""
        costs = await self.costs_of(hots)
        return tuple(in_short(task, costs[task.id]) for task in await self.tasks(hots))

    async def costs_of(self, hots: Sequence[Hot]) -> dict[TaskId, MicroUsd]:
        """All attempts at each task together, the one under way included."""
        tried = [hot.id for hot in hots if hot.attempt]
        histories = await self._store.histories(tried) if tried else {}
        return {
            hot.id: MicroUsd(
                sum(attempt.cost for attempt in histories.get(hot.id, ())) + (hot.spent if hot.status.is_held else 0)
            )
            for hot in hots
        }

    async def count(self, **which: Unpack[TaskFilter]) -> Counted:
        """How many tasks match what `find` takes, by status: all of them, or the newest of too many.

        Every status is named, also one in which there are none.
        """
        wanted = self.filter(**which)
        if wanted == Filter(workspace=self._workspace):
            return Counted({status: sum(types.values()) for status, types in (await self.stats()).items()}, False)
        counts, seen, after = Counter[str](dict.fromkeys(map(str, Status), 0)), 0, 0
        while seen < MOST_COUNTED:
            page = await self._store.find(wanted, after=after, limit=COUNTED_AT_ONCE)
            counts.update(hot.status.value for hot in page)
            seen += len(page)
            if len(page) < COUNTED_AT_ONCE:
                return Counted(dict(counts), False)
            after = page[-1].seq
        return Counted(dict(counts), True)

    async def total(self, **which: Unpack[TaskFilter]) -> Total:
        """How many tasks match what `find` takes, counted up to a number."""
        found = await self._store.find(self.filter(**which), after=0, limit=MOST_TOTAL + 1)
        return Total(min(len(found), MOST_TOTAL), len(found) > MOST_TOTAL)

    async def relations(self, task_id: str) -> Relations:
        """What the task depends on, what depends on it, what it spawned or repeats, and who spawned it."""
        hot = await self._ledger.load(TaskId(task_id))
        definition = await self._ledger.definition(hot.id)
        edges = await self._store.edges([hot.id])
        children = await self._store.find(
            Filter(workspace=self._workspace, parent_id=hot.id), after=0, limit=MOST_LISTED
        )
        groups: dict[str, list[TaskId]] = {
            "dependencies": list(definition.depends_on),
            "dependents": [edge.child for edge in edges if edge.kind == "depends"],
            "children": [child.id for child in reversed(children)],
            "parent": [definition.parent_id] if definition.parent_id else [],
            "rerun_of": [definition.rerun_of] if definition.rerun_of else [],
        }
        rows = await self.rows_by_id([each for ids in groups.values() for each in ids[:MOST_LISTED]])
        found = {name: [rows[each] for each in ids if each in rows] for name, ids in groups.items()}
        return Relations(
            found["dependencies"],
            found["dependents"],
            found["children"],
            next(iter(found["parent"]), None),
            next(iter(found["rerun_of"]), None),
        )

    async def rows_by_id(self, task_ids: Sequence[TaskId]) -> dict[TaskId, TaskRow]:
        hots = [hot for hot in (await self._store.load(task_ids)).values() if hot.workspace == self._workspace]
        costs = await self.costs_of(hots)
        return {task.id: row_of(task, costs[task.id]) for task in await self.tasks(hots)}

    async def stats(self) -> dict[str, dict[str, int]]:
        """Tasks by status and type. Every status is named, also one in which there are none."""
        figures: dict[str, dict[str, int]] = {status.value: {} for status in Status}
        for (status, type_), count in (await self._store.tally(self._workspace)).items():
            figures[status.value][type_] = count
        return figures


def _several(words: str | Sequence[str]) -> Sequence[str]:
    return (words,) if isinstance(words, str) else words


def _status(word: str) -> Status:
    try:
        return Status(word)
    except ValueError:
        raise InvalidInput("status", f"must be one of {', '.join(Status)}") from None
