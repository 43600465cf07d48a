"""An open write transaction: the rows it has locked, and the rows that it will write.

It knows no change set and checks no guard; its callers have done that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from taskyard.core.changes import Change, Event, Limit, NewTask
from taskyard.core.identifiers import is_own_ceiling
from taskyard.core.task import Hot, LaneId, Status, TaskId
from taskyard.core.units import Micros
from taskyard.stores.postgres.connection import wakeups
from taskyard.stores.postgres.connection.session import PostgresSession
from taskyard.stores.postgres.connection.wakeups import Wakeup
from taskyard.stores.postgres.fast.claim_cursors import LAST, Place
from taskyard.stores.postgres.statements import StatementPart, Statements, format_new_tasks, lock_number
from taskyard.stores.shared import rows
from taskyard.stores.shared.commits.batching import Key


class RowsLocked(Exception):
    """Other transactions have locked rows that are needed out of order. Roll back, and begin by waiting for them."""

    def __init__(self, task_ids: Collection[TaskId]) -> None:
        super().__init__()
        self.task_ids = frozenset(task_ids)


class CeilingsChanged(Exception):
    """Ceilings changed between the read and the write. Roll back, and begin by locking them."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__()
        self.names = frozenset(names)


class PostgresTransaction:
    claim_query = "pick"  # the query that finds and locks the tasks of a claim

    def __init__(self, connection: PostgresSession, sql: Statements, now: Micros, *, store_clock: bool) -> None:
        self.connection = connection
        self.sql = sql
        self.now = now
        self.locked: set[TaskId] = set()
        self.has_written = False
        self._topics: set[str] = set()
        self._ready_from: dict[LaneId, Place] = {}
        self._store_clock = store_clock  # whether the database's clock decides, and not a given one
        self._parts: list[StatementPart] = []
        self._events: list[Event] = []

    async def query(self, name: str, *values: Any) -> list[rows.Row]:
        return await self.connection.fetch(self.sql[name], *values)

    async def run(self, name: str, *values: Any) -> None:
        await self.connection.execute(self.sql[name], *values)
        self.has_written = True

    async def bump_epoch(self, workspace: str) -> None:
        """Note that what claims are planned on has changed in the workspace."""
        await self.run("bump_epochs", [workspace])
        self._topics.add(wakeups.plan_topic(workspace))

    # Locks.

    async def block_claims(self, workspaces: Collection[str]) -> None:
        """Block claims in these workspaces until this transaction ends, and wait for current ones."""
        await self.query("let_no_claim_in", sorted({lock_number(workspace) for workspace in workspaces}))

    async def lock(self, task_ids: Collection[TaskId]) -> dict[TaskId, tuple[int, Micros | None]]:
        """Lock these rows in the order of their ids. Answers version and end of the lease of those that exist."""
        if not task_ids:
            return {}
        found = await self.query("lock_tasks", list(task_ids))
        self.locked.update(row[0] for row in found)
        if self._store_clock and found:
            self.now = Micros(max(self.now, *(row[3] for row in found)))
        return {row[0]: (row[1], row[2]) for row in found}

    async def lock_more(self, task_ids: Iterable[TaskId]) -> None:
        """Lock rows that were not known at the first lock. It does not wait for them, which could be a deadlock."""
        wanted = set(task_ids) - self.locked
        if wanted:
            self.locked.update(row[0] for row in await self.query("lock_more_tasks", list(wanted)))
        if missing := wanted - self.locked:
            raise RowsLocked(missing)

    # Rows to write are collected, and sent together when an answer depends on them.

    def write(self, name: str, values: Sequence[rows.Row]) -> None:
        if values:
            self._parts.append(self.sql.part(name, values))

    def move_limits(self, moves: Sequence[tuple[str, str, int, int]]) -> None:
        """Move limits, each by workspace, name, and the differences of held and spent."""
        self.write("move_limits", moves)
        eased = [(workspace, name) for workspace, name, held, _ in moves if held < 0]
        self._topics |= {wakeups.ceiling_topic(*key) for key in eased if is_own_ceiling(key[1])}

    def apply_changes(self, changes: Iterable[Change]) -> None:
        changes = list(changes)
        self.update_rows((change.before, change.after) for change in changes)
        self._note_ready_changes(changes)

    def _note_ready_changes(self, changes: Iterable[Change]) -> None:
        ready = (change.after for change in changes if change.after.status is Status.READY)
        self._note_ready((hot.lane, (hot.rank, hot.seq)) for hot in ready)

    def update_rows(self, steps: Iterable[tuple[Hot, Hot]]) -> None:
        self._parts += self.sql.updates(steps)

    def insert_tasks(self, tasks: Sequence[NewTask]) -> None:
        if not tasks:
            return
        self.write("new_tasks", format_new_tasks(tasks))
        ready = (task.hot for task in tasks if task.hot.status is Status.READY)
        self._note_ready((hot.lane, (hot.rank, LAST)) for hot in ready)
        self._parts += [StatementPart(name, self.sql[name], ()) for name in ("insert_tasks", "insert_definitions")]
        tags = [(place, tag) for place, task in enumerate(tasks, 1) for tag in task.definition.tags]
        self.write("insert_new_tags", tags)

    def _note_ready(self, places: Iterable[tuple[LaneId, Place]]) -> None:
        for lane, place in places:
            self._ready_from[lane] = min(self._ready_from.get(lane, place), place)

    @property
    def wakeup(self) -> Wakeup:
        """The wake-up for waiting coroutines and for the claims of other processes."""
        return Wakeup(self._ready_from, frozenset(self._topics))

    def add_events(self, events: Iterable[Event]) -> None:
        self._events += events

    def queue_events(self) -> None:
        """Add the collected events to the rows to write."""
        events, self._events = self._events, []
        self.write("insert_events", events)

    @property
    def has_parts(self) -> bool:
        return bool(self._parts)

    async def flush(self, answering: Sequence[str] = ()) -> list[rows.Row]:
        """Send the collected rows in one statement."""
        parts, self._parts = self._parts, []
        if not parts:
            return []
        sql, values = self._bundle(parts, answering)
        found = await self.connection.fetch(sql, *values)
        self.has_written = True
        return [row for row in found if row[0] is not None]

    def _bundle(self, parts: Sequence[StatementPart], answering: Sequence[str]) -> tuple[str, list[str | None]]:
        return self.sql.bundle(parts, answering)

    async def load(self, name: str, *values: Any) -> list[Hot]:
        return [rows.parse_hot(row) for row in await self.query(name, *values)]

    async def limits(self, workspace: str, names: Collection[str]) -> dict[str, Limit]:
        """Read limits without locks. A limit without a row is unlimited and unused."""
        found = {row[1]: Limit._make(row) for row in await self.query("limits", workspace, list(names))}
        return {name: found.get(name, Limit(workspace, name, None, 0, 0)) for name in names}


def parse_limit(row: rows.Row) -> tuple[Key, Limit]:
    return (row[0], row[1]), Limit(*row[:5])
