"""An open write transaction: the rows it has locked, and the rows that it will write.

It knows no change set and checks no guard; its callers have done that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

from taskyard.core.changes import Change, Event, Limit, NewTask
from taskyard.core.identifiers import is_own_ceiling
from taskyard.core.named_rows import new_row
from taskyard.core.task import Hot, LaneId, Status, TaskId
from taskyard.core.units import Micros
from taskyard.stores.copies import TaskCopy
from taskyard.stores.postgres.connection.session import PostgresSession
from taskyard.stores.postgres.connection.wakeup import Wakeup
from taskyard.stores.postgres.fast.claim_cursors import LAST, Place
from taskyard.stores.postgres.moves import Step, beats, moves_of
from taskyard.stores.postgres.statements import (
    StatementPart,
    Statements,
    drawing_part,
    lock_number,
    new_task_parts,
    transpose,
)
from taskyard.stores.shared import rows
from taskyard.stores.shared.commits.batching import Key
from taskyard.stores.shared.commits.change_sets import owned_key
from taskyard.stores.shared.log_rows import Chunk, chunk_events, remember_rows, split_events
from taskyard.stores.shared.waiters import ceiling_topic, plan_topic
from taskyard.stores.turns import pause_if_many

PIECE = 125  # new tasks of one statement, where a large set is written in pieces
_STEPS_IN_ROW = 32  # of a task, whose numbers of the log its rows have; later ones have rows of their own


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
        self.moves = moves_of(sql)
        self.now = now
        self.locked: set[TaskId] = set()
        self.has_written = False
        self.is_in_pieces = False  # whether many new tasks are sent in several statements
        self._topics: set[str] = set()
        self._ready_from: dict[LaneId, Place] = {}
        self._store_clock = store_clock  # whether the database's clock decides, and not a given one
        self._parts: list[StatementPart] = []
        self._ranks: dict[TaskId, int] = {}  # of the tasks that are locked: ranks move without a version
        self._events: list[Event] = []
        self._recorded: dict[int, int] = {}  # events that rows of tasks name, by identity, with their chunks
        self._planned: dict[int, int] = {}  # the chunks of events, where there are several
        self._planned_from: Sequence[Sequence[Event]] = ()  # keeps the events alive, by whose identity they are known
        self._numbers: list[int] = []
        self._is_undrawn = False  # numbers are needed, and not drawn yet
        self._are_numbers_old = False
        self._has_new_tasks = False

    async def query(self, name: str, *values: Any) -> list[rows.Row]:
        return await self.connection.fetch(self.sql[name], *values)

    async def run(self, name: str, *values: Any) -> None:
        await self.connection.execute(self.sql[name], *values)
        self.has_written = True

    async def bump_epoch(self, workspace: str) -> None:
        """Note that what claims are planned on has changed in the workspace."""
        await self.run("bump_epochs", [workspace])
        self._topics.add(plan_topic(workspace))

    # Locks.

    async def block_claims(self, workspaces: Collection[str]) -> None:
        """Block claims in these workspaces until this transaction ends, and wait for current ones."""
        await self.query("let_no_claim_in", sorted({lock_number(workspace) for workspace in workspaces}))

    async def lock(self, task_ids: Collection[TaskId]) -> dict[TaskId, tuple[int, Micros | None]]:
        """Lock the rows that guard these tasks. Answers version and end of the lease of those that exist."""
        if not task_ids:
            return {}
        found = await self.query("lock_tasks", list(task_ids))
        self.locked.update(row[0] for row in found)
        self._ranks.update({row[0]: row[4] for row in found})
        if self._store_clock and found:
            self.now = Micros(max(self.now, *(row[5] for row in found)))
        return {row[0]: (row[2], row[3]) for row in found}

    async def lock_more(self, task_ids: Iterable[TaskId]) -> None:
        """Lock pending tasks that were not known at the first lock. Waiting for them could be a deadlock."""
        wanted = set(task_ids) - self.locked
        if wanted:
            self.locked.update(row[0] for row in await self.query("lock_more_tasks", list(wanted)))
            # Others may have drawn a higher number for events of these tasks, before they let go of them.
            self._are_numbers_old = bool(self._numbers)
        if missing := wanted - self.locked:
            raise RowsLocked(missing)

    # Rows to write are collected, and sent together when an answer depends on them.

    def write(self, name: str, values: Sequence[rows.Row]) -> None:
        if values:
            self._parts.append(self.sql.part(name, values))

    def move_limits(self, moves: Sequence[tuple[str, str, int, int]]) -> None:
        """Move limits, each by workspace, name, and the differences of held and spent."""
        self.write("move_limits", moves)
        eased = [(workspace, name) for workspace, name, held, spent in moves if held < 0 or spent < 0]
        self._topics |= {ceiling_topic(*key) for key in eased if is_own_ceiling(key[1])}

    def apply_changes(self, changes: Iterable[Change]) -> None:
        """Write the steps, and the idempotency keys that tasks let go or take by them."""
        changes = list(changes)
        chunks, ranks = self._record((change.event, change.after) for change in changes), self._ranks
        steps = [
            new_row(
                Step,
                (before, after, ranks.get(before.id, before.rank), chunk, before.lease_expires_at if is_same else None),
            )
            for (before, after, _, _, is_same), chunk in zip(changes, chunks, strict=True)
        ]
        self._parts += self.moves.parts(steps, len(self._parts))
        self._write_names(changes)
        self._note_ready_changes(changes)

    def _write_names(self, changes: Sequence[Change]) -> None:
        moved = [
            (owned_key(before), owned_key(after), before.seq)
            for before, after, *_ in changes
            if before.idempotency_key is not None or after.idempotency_key is not None
        ]
        self.write("let_names_go", [(*was, seq) for was, now, seq in moved if was is not None and was != now])
        self.write("take_names", [(*now, seq) for was, now, seq in moved if now is not None and was != now])

    def _note_ready_changes(self, changes: Iterable[Change]) -> None:
        ready = (change.after for change in changes if change.after.status is Status.READY)
        self._note_ready((hot.lane, (hot.rank, hot.seq)) for hot in ready)

    def write_heartbeats(self, steps: Iterable[tuple[Hot, Hot]]) -> None:
        self._parts += beats(self.sql, steps, len(self._parts))

    async def insert_tasks(self, tasks: Sequence[NewTask]) -> None:
        if not tasks:
            return
        ready = [task.hot for task in tasks if task.hot.status is Status.READY]
        self._note_ready((hot.lane, (hot.rank, LAST)) for hot in ready)
        self._has_new_tasks = True
        chunks = self._record((task.event, task.hot) for task in tasks)
        await pause_if_many(tasks)
        size = PIECE if self.is_in_pieces else len(tasks)
        for start in range(0, len(tasks), size):
            if start:
                await self.flush()
            piece = slice(start, start + size)
            self._parts += await new_task_parts(self.sql, tasks[piece], chunks[piece])

    async def restore_tasks(self, tasks: Sequence[TaskCopy]) -> None:
        """Insert tasks of another yard. Their rows name no number of the log: their events come later."""
        self._parts += [self.sql.part("drawn", [(0,)]), *await new_task_parts(self.sql, tasks, [None] * len(tasks))]

    def _note_ready(self, places: Iterable[tuple[LaneId, Place]]) -> None:
        for lane, place in places:
            self._ready_from[lane] = min(self._ready_from.get(lane, place), place)

    @property
    def wakeup(self) -> Wakeup:
        """The wake-up for waiting coroutines and for the claims of other processes."""
        return Wakeup(self._ready_from, frozenset(self._topics))

    # The log. Its numbers are drawn before tasks are written, whose rows name them, and its rows are written last, when
    # all events of the transaction are known.

    def plan_numbers(self, events: Sequence[Event]) -> None:
        """Have numbers drawn for these events by the next flush. The rows of their tasks are locked, more may come."""
        self._plan(events)
        self._is_undrawn = True

    async def _drawn(self, *, is_last: bool) -> list[StatementPart]:
        """The part of a statement that has the numbers: the last one of a transaction draws them itself."""
        chunks = max(len(self._planned_from), 1)
        if self._is_undrawn and is_last:
            return [drawing_part(self.sql, chunks)]
        if self._is_undrawn:
            self._numbers = await self.draw_numbers(chunks)
            self._is_undrawn = False
        return [self.sql.part("drawn", [(number,) for number in self._numbers])] if self._numbers else []

    async def draw_numbers(self, number: int) -> list[int]:
        return [row[0] for row in await self.query("draw_numbers", number)]

    def _plan(self, events: Sequence[Event]) -> None:
        self._planned_from = chunks = list(chunk_events(events))
        if len(chunks) > 1:
            self._planned = {id(event): place for place, chunk in enumerate(chunks, 1) for event in chunk}

    def _record(self, steps: Iterable[tuple[Event, Hot]]) -> list[int | None]:
        """The chunk of each step's event, if the task's row is to name its number. Others are found by task_event."""
        planned, recorded = self._planned, self._recorded
        chunks: list[int | None] = []
        for event, hot in steps:
            chunk = None
            if event.task_id == hot.id and hot.version <= _STEPS_IN_ROW:
                chunk = recorded[id(event)] = planned.get(id(event), 1) if planned else 1
            chunks.append(chunk)
        return chunks

    def add_events(self, events: Iterable[Event]) -> None:
        self._events += events

    async def write_log(self) -> None:
        """Add the collected events to the rows to write."""
        chunks = split_events(self._events)
        if self._are_numbers_old or self._is_planned_otherwise(chunks):
            await self._renumber(chunks)
        if self._has_new_tasks and len(self._recorded) < len(self._events):
            await self.flush()  # a new task is found by its id only then
        self.queue_log(chunks)

    def _is_planned_otherwise(self, chunks: Sequence[Chunk]) -> bool:
        """Whether events that were not known at first have moved others to a later chunk."""
        if len(chunks) <= 1:
            return False
        if len(chunks) > len(self._planned_from):
            return True
        placed = ((place, id(event)) for place, chunk in enumerate(chunks, 1) for event in chunk.events)
        return any(self._recorded.get(event, place) != place for place, event in placed)

    def queue_log(self, chunks: Sequence[Chunk]) -> None:
        for chunk in chunks:
            remember_rows(chunk)
        self.write("insert_log", [(place, *row) for place, chunk in enumerate(chunks, 1) for row in chunk.rows])
        if len(self._recorded) < sum(len(chunk.events) for chunk in chunks):
            others = [
                (place, event)
                for place, chunk in enumerate(chunks, 1)
                for event in chunk.events
                if id(event) not in self._recorded
            ]
            of_tasks = {(event.task_id, place) for place, event in others if event.task_id is not None}
            self.write("insert_task_events", list(of_tasks))
            of_dags = {(event.workspace, event.dag_id, place) for place, event in others if event.task_id is None}
            self.write("insert_dag_events", [row for row in of_dags if row[1] is not None])
        self._events = []

    async def _renumber(self, chunks: Sequence[Chunk]) -> None:
        """Draw numbers for all chunks, and tell the tasks that were written with others."""
        await self.flush()
        before = self._numbers
        self._numbers = await self.draw_numbers(len(chunks))
        moved = [
            (event.task_id, before[self._recorded[id(event)] - 1], number)
            for number, chunk in zip(self._numbers, chunks, strict=True)
            for event in chunk.events
            if id(event) in self._recorded
        ]
        if moved:
            await self.run("renumber", *transpose(moved, 3))

    async def flush(self, answering: Sequence[str] = (), *, is_last: bool = False) -> list[rows.Row]:
        """Send the collected rows in one statement. The last one: nothing that follows has to do with events."""
        parts, self._parts = self._parts, []
        if not parts:
            return []
        sql, values = self._bundle([*await self._drawn(is_last=is_last), *parts], answering)
        found = await self.connection.fetch(sql, *values)
        self.has_written = True
        return [row for row in found if row[0] is not None]

    def _bundle(self, parts: Sequence[StatementPart], answering: Sequence[str]) -> tuple[str, list[str | None]]:
        return self.sql.bundle(parts, answering)

    async def load(self, name: str, *values: Any) -> list[Hot]:
        found = [rows.parse_hot(row) for row in await self.query(name, *values)]
        self._ranks.update({hot.id: hot.rank for hot in found})  # this transaction may have moved them since the lock
        return found

    async def limits(self, workspace: str, names: Collection[str]) -> dict[str, Limit]:
        """Read limits without locks. A limit without a row is unlimited and unused."""
        found = {row[1]: Limit._make(row) for row in await self.query("limits", workspace, list(names))}
        return {name: found.get(name, Limit(workspace, name, None, 0, 0)) for name in names}


def fit_in_pieces(tasks: Sequence[NewTask]) -> bool:
    """Whether there are many, and several statements insert them in the same order as one would.

    One statement inserts by id, and then by key: two who insert the same ones wait for each other in one order.
    """
    if len(tasks) <= PIECE or any(task.hot.idempotency_key is not None for task in tasks):
        return False
    return all(one.hot.id < other.hot.id for one, other in pairwise(tasks))


def parse_limit(row: rows.Row) -> tuple[Key, Limit]:
    return (row[0], row[1]), Limit(*row[:5])
