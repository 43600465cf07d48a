"""Tasks found, counted and listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Unpack

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import value_of
from taskyard.core.record_kinds import DEAD
from taskyard.core.task import Definition, Hot, Reason, Status, TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.definition import arguments, fields
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
MOST_SORTED = 2_000  # of what matches, by what no store has in order
MOST_SUGGESTED = 20
SUGGESTED_FROM = 500  # tasks
SUGGESTED = ("type", "queue", "agent", "subject", "tag", "reason")
SORTS = ("newest", "oldest", "updated", "priority", "failures", "cost", "took")
_BY_ARRIVAL = ("newest", "oldest")
_LAST = 101  # behind every priority
RERUN = "task.rerun"  # the event of a task that is done again as another


class Queries:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def history(self, task_id: str) -> list[AttemptView]:
        """How the attempts at a task ended, in their order."""
        attempts = await self._store.attempts((await self._ledger.load(TaskId(task_id))).id)
        return [attempt_view(attempt) for attempt in attempts]

    async def find(
        self, *, limit: int = DEFAULT_LISTED, cursor: int = 0, sort: str = "newest", **which: Unpack[TaskFilter]
    ) -> list[Task]:
        """Tasks, newest first. The cursor is the `seq` of the last one seen.

        `sort` may be `oldest`, with the same cursor. By `updated`, `priority`, `failures`, `cost` or `took`, the newest
        2,000 that match are sorted, the most of it first, and the cursor is how many were seen.
        """
        if not 1 <= limit <= MOST_LISTED:
            raise InvalidInput("limit", f"must be from 1 to {MOST_LISTED}")
        if sort not in SORTS:
            raise InvalidInput("sort", f"must be one of {', '.join(SORTS)}")
        wanted = self.filter(**which)
        if sort in _BY_ARRIVAL:
            ordered = replace(wanted, oldest_first=sort == "oldest")
            return await self.tasks(await self._store.find(ordered, after=cursor, limit=limit))
        found = await self._store.find(wanted, after=0, limit=MOST_SORTED)
        return await self.tasks((await self._sorted(found, sort))[cursor : cursor + limit])

    async def _sorted(self, hots: Sequence[Hot], sort: str) -> list[Hot]:
        now = self._ledger.now()
        costs = await self.costs_of(hots) if sort == "cost" else {}
        definitions = await self._store.definitions([hot.id for hot in hots]) if sort == "priority" else {}
        keys: dict[str, Callable[[Hot], int]] = {
            "updated": lambda hot: -hot.updated_at,
            "failures": lambda hot: -hot.failures,
            "took": lambda hot: -_took(hot, now),
            "cost": lambda hot: -costs[hot.id],
            "priority": lambda hot: definitions[hot.id].priority if hot.id in definitions else _LAST,
        }
        return sorted(hots, key=keys[sort])  # equals stay in their order: newest first

    async def suggest(self, field: str, *, begins: str = "") -> list[str]:
        """What a filter may be set to, where it begins so: what is there already, at most 20, in order.

        Queues, subjects and tags are those of the newest 500 tasks. Case does not matter.
        """
        if field not in SUGGESTED:
            raise InvalidInput("field", f"must be one of {', '.join(SUGGESTED)}")
        start = arguments.words("begins", begins, most=255).casefold()
        found = sorted({each for each in await self._known(field) if each.casefold().startswith(start)})
        return found[:MOST_SUGGESTED]

    async def _known(self, field: str) -> Iterable[str]:
        match field:
            case "type":
                return {type_ for types in (await self.stats()).values() for type_ in types}
            case "agent":
                agents = (await self._ledger.configuration.current()).agents
                return {name for each in agents.values() for name in (each.id, each.type)}
            case "reason":
                dead = await self._store.page("dead", self._workspace, limit=MOST_LISTED)
                return {*Reason, *(DEAD.of(record)["reason"] for record in dead)}
            case _:
                newest = await self._store.find(Filter(workspace=self._workspace), after=0, limit=SUGGESTED_FROM)
                definitions = (await self._store.definitions([hot.id for hot in newest])).values()
                return {value for each in definitions for value in _values_of(each, field)}

    def filter(
        self,
        *,
        status: str | Sequence[str] = (),
        type: str | Sequence[str] = (),
        since: str | None = None,
        until: str | None = None,
        **which: Unpack[TaskConditions],
    ) -> Filter:
        return Filter(
            workspace=self._workspace,
            statuses=frozenset(_status(word) for word in _several(status)),
            types=frozenset(_several(type)),
            since=_moment("since", since),
            until=_moment("until", until),
            **which,
        )

    async def tasks(self, hots: Sequence[Hot]) -> list[Task]:
        """The tasks of these rows, but for those that were pruned since the rows were read."""
        definitions = await self._store.definitions([hot.id for hot in hots])
        return [Task(hot, definitions[hot.id]) for hot in hots if hot.id in definitions]

    async def rows(
        self, *, limit: int = DEFAULT_LISTED, cursor: int = 0, sort: str = "newest", **which: Unpack[TaskFilter]
    ) -> list[TaskRow]:
        """The same, each task as one line without anything long."""
        tasks = await self.find(limit=limit, cursor=cursor, sort=sort, **which)
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
            "reruns": await self._reruns_of(hot),
        }
        rows = await self.rows_by_id([each for ids in groups.values() for each in ids[:MOST_LISTED]])
        found = {name: [rows[each] for each in ids if each in rows] for name, ids in groups.items()}
        return Relations(
            found["dependencies"],
            found["dependents"],
            found["children"],
            next(iter(found["parent"]), None),
            next(iter(found["rerun_of"]), None),
            found["reruns"],
        )

    async def _reruns_of(self, hot: Hot) -> list[TaskId]:
        """Only what has ended is done again, and says little afterwards: the newest events are enough."""
        if not hot.status.is_final:
            return []
        newest = await self._store.newest_events(limit=MOST_LISTED, workspace=self._workspace, task_id=hot.id)
        facts = [value_of(stored.event.data or "{}") for stored in newest if stored.event.event == RERUN]
        return [TaskId(each["task"]) for each in facts]

    async def rows_by_id(self, task_ids: Sequence[TaskId]) -> dict[TaskId, TaskRow]:
        hots = [hot for hot in (await self._store.load(task_ids)).values() if hot.workspace == self._workspace]
        return await self.rows_of(hots)

    async def rows_of(self, hots: Sequence[Hot]) -> dict[TaskId, TaskRow]:
        """One line for each of these rows, but for those that were pruned since the rows were read."""
        costs = await self.costs_of(hots)
        return {task.id: row_of(task, costs[task.id]) for task in await self.tasks(hots)}

    async def stats(self) -> dict[str, dict[str, int]]:
        """Tasks by status and type. Every status is named, also one in which there are none."""
        figures: dict[str, dict[str, int]] = {status.value: {} for status in Status}
        for (status, type_), count in (await self._store.tally(self._workspace)).items():
            figures[status.value][type_] = count
        return figures


def cursor_after(page: Sequence[Task | TaskRow], limit: int, cursor: int, sort: str) -> int | None:
    """Where the next page of a list begins; None after the last one."""
    if len(page) < limit:
        return None
    if sort in _BY_ARRIVAL:
        return page[-1].seq
    return cursor + limit if cursor + limit < MOST_SORTED else None


def _took(hot: Hot, now: Micros) -> int:
    if hot.started_at is None:
        return -1
    return (hot.updated_at if hot.status.is_final else now) - hot.started_at


def _values_of(definition: Definition, field: str) -> Sequence[str]:
    if field == "tag":
        return definition.tags
    value = definition.queue if field == "queue" else definition.subject
    return () if value is None else (value,)


def _moment(name: str, given: str | None) -> Micros | None:
    return None if given is None else fields.moment(given, name)


def _several(words: str | Sequence[str]) -> Sequence[str]:
    return (words,) if isinstance(words, str) else words


def _status(word: str) -> Status:
    try:
        return Status(word)
    except ValueError:
        raise InvalidInput("status", f"must be one of {', '.join(Status)}") from None
