"""A write transaction under way: what it has locked, and the rows that are still to be written.

It knows no change set and no guard; those who use it have looked first. Only where one statement is to be the whole of
it does that look itself whether the tasks it moves have moved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from taskyard.core.changes import Change, Event, Limit, NewTask
from taskyard.core.identifiers import is_own_ceiling
from taskyard.core.task import Hot, LaneId, Status, TaskId
from taskyard.core.units import Micros
from taskyard.stores.postgres.connection import wakeups
from taskyard.stores.postgres.connection.pool import Connection
from taskyard.stores.postgres.connection.wakeups import News
from taskyard.stores.postgres.fast.claim_cursors import LAST, Place
from taskyard.stores.postgres.statements import Part, Statements, new_rows, number_of
from taskyard.stores.shared import rows
from taskyard.stores.shared.commits.batching import Key


class Contended(Exception):
    """Rows were wanted out of order that others have. Roll back, and begin by waiting for them."""

    def __init__(self, task_ids: Collection[TaskId]) -> None:
        super().__init__()
        self.task_ids = frozenset(task_ids)


class CeilingsMoved(Exception):
    """Between reading them and writing. Roll back, and begin by locking these."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__()
        self.names = frozenset(names)


class Transaction:
    def __init__(
        self, connection: Connection, sql: Statements, now: Micros, *, store_clock: bool, whole: bool = False
    ) -> None:
        self.connection = connection
        self.sql = sql
        self.now = now
        self.whole = whole  # whether all of it goes out in one statement, which has locked nothing before
        self.good_until: Micros | None = None  # of one statement: by then it must have its locks
        self._steps = 0
        self.locked: set[TaskId] = set()
        self.wrote = False
        self._news: set[str] = set()
        self._fronts: dict[LaneId, Place] = {}
        self._store_clock = store_clock  # whether the database's own clock decides, and not a given one
        self._parts: list[Part] = []
        self._events: list[Event] = []

    async def ask(self, name: str, *values: Any) -> list[rows.Row]:
        return await self.connection.fetch(self.sql[name], *values)

    async def run(self, name: str, *values: Any) -> None:
        await self.connection.execute(self.sql[name], *values)
        self.wrote = True

    async def bump_epoch(self, workspace: str) -> None:
        """What claims are planned on there has changed."""
        await self.run("bump_epochs", [workspace])
        self._news.add(wakeups.of_plans(workspace))

    # Locks.

    async def keep_claims_out(self, workspaces: Collection[str]) -> None:
        """Until this transaction ends no claim is made there, and none is under way."""
        await self.ask("let_no_claim_in", sorted({number_of(workspace) for workspace in workspaces}))

    async def lock(self, task_ids: Collection[TaskId]) -> dict[TaskId, tuple[int, Micros | None]]:
        """Wait for these rows, in the order of their ids; version and end of the lease of those that are there."""
        if not task_ids:
            return {}
        found = await self.ask("lock_tasks", list(task_ids))
        self.locked.update(row[0] for row in found)
        if self._store_clock and found:
            self.now = Micros(max(self.now, *(row[3] for row in found)))
        return {row[0]: (row[1], row[2]) for row in found}

    async def lock_more(self, task_ids: Iterable[TaskId]) -> None:
        """Rows that nobody knew of when the others were locked: without waiting, for that might be for ever."""
        wanted = set(task_ids) - self.locked
        if wanted:
            self.locked.update(row[0] for row in await self.ask("lock_more_tasks", list(wanted)))
        if missing := wanted - self.locked:
            raise Contended(missing)

    # What is to be written goes out together, when something has to be known that depends on it.

    def write(self, name: str, values: Sequence[rows.Row]) -> None:
        if values:
            self._parts.append(self.sql.part(name, values))

    def move_limits(self, moves: Sequence[tuple[str, str, int, int]]) -> None:
        """By workspace and name: what is held and spent more, or less."""
        self.write("move_limits", moves)
        eased = [(workspace, name) for workspace, name, held, _ in moves if held < 0]
        self._news |= {wakeups.of_room(*key) for key in eased if is_own_ceiling(key[1])}

    def move(self, changes: Iterable[Change]) -> None:
        changes = list(changes)
        if self.whole:
            self._steps += len(changes)
            self._parts += self.sql.guarded_moves(changes)
        else:
            self.move_hot((change.before, change.after) for change in changes)
        ready = (change.after for change in changes if change.after.status is Status.READY)
        self._readied((hot.lane, (hot.rank, hot.seq)) for hot in ready)

    def move_hot(self, steps: Iterable[tuple[Hot, Hot]]) -> None:
        self._parts += self.sql.moves(steps)

    def insert(self, tasks: Sequence[NewTask]) -> None:
        if not tasks:
            return
        self.write("new_tasks", new_rows(tasks))
        ready = (task.hot for task in tasks if task.hot.status is Status.READY)
        self._readied((hot.lane, (hot.rank, LAST)) for hot in ready)
        self._parts += [Part(name, self.sql[name], ()) for name in ("insert_tasks", "insert_definitions")]
        tags = [(place, tag) for place, task in enumerate(tasks, 1) for tag in task.definition.tags]
        self.write("insert_new_tags", tags)

    def _readied(self, places: Iterable[tuple[LaneId, Place]]) -> None:
        for lane, place in places:
            self._fronts[lane] = min(self._fronts.get(lane, place), place)

    @property
    def news(self) -> News:
        """For those who wait, and for the claims of other processes."""
        return News(self._fronts, frozenset(self._news))

    def tell(self, events: Iterable[Event]) -> None:
        self._events += events

    def tell_now(self) -> None:
        """Put the events into what goes out next."""
        events, self._events = self._events, []
        self.write("insert_events", events)

    @property
    def has_parts(self) -> bool:
        return bool(self._parts)

    async def flush(self, answering: Sequence[str] = ()) -> list[rows.Row]:
        """Send what is to be written, in one statement."""
        parts, self._parts = self._parts, []
        if not parts:
            return []
        if self.whole:
            until = self.good_until if self._store_clock else None
            sql, values = self.sql.whole(parts, answering, self._steps, until)
        else:
            sql, values = self.sql.bundle(parts, answering)
        found = await self.connection.fetch(sql, *values)
        self.wrote = True
        return [row for row in found if row[0] is not None]

    async def take(self, tasks: Iterable[Hot], workspace: str, epoch: int, slots: int) -> bool:
        """Send it as all of a claim, and say whether it was made: not where one of the tasks has moved."""
        parts, self._parts = self._parts, []
        seen = [(hot.id, hot.version) for hot in tasks]
        sql, values = self.sql.taking(parts, seen, workspace, epoch, slots)
        self.wrote = await self.connection.run_behind(self.sql.lock_plan(workspace), sql, values) > 0
        return self.wrote

    async def load(self, name: str, *values: Any) -> list[Hot]:
        return [rows.parse_hot(row) for row in await self.ask(name, *values)]

    async def limits(self, workspace: str, names: Collection[str]) -> dict[str, Limit]:
        """As they are now, unlocked. One that has no row is unlimited and unused."""
        found = {row[1]: Limit._make(row) for row in await self.ask("limits", workspace, list(names))}
        return {name: found.get(name, Limit(workspace, name, None, 0, 0)) for name in names}


def limit_of(row: rows.Row) -> tuple[Key, Limit]:
    return (row[0], row[1]), Limit(*row[:5])
