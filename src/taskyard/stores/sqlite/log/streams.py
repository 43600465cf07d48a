"""Streams, beside the log.

What an append adds is decided before the writer's turn, by what this process knows of the end of the stream or reads
of it. The writer then has one statement, which inserts the rows if nothing has changed. Where something has, or where
there are events to write, the append is decided in a transaction, by what is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import apsw

from taskyard.core.attempt_stream import (
    REFUSED,
    SEEN_REQUESTS,
    ChunkKind,
    StreamAppend,
    StreamAppended,
    StreamChunk,
    StreamEnd,
    StreamPlace,
    appended,
    may_append,
)
from taskyard.core.changes import Event
from taskyard.core.json_value import compact
from taskyard.core.task import DagId, Status, TaskId
from taskyard.core.units import Micros
from taskyard.stores.shared.rows import Row
from taskyard.stores.sqlite.statements import SQL, json_list
from taskyard.stores.sqlite.transaction import SqliteTransaction

MOST_KNOWN = 1_000  # ends of streams, of the attempts that spoke last


class Holder(NamedTuple):
    """A task that is held, as far as the rules of appending need it."""

    id: TaskId
    seq: int
    workspace: str
    dag_id: DagId | None
    status: Status
    attempt: int
    lease: str | None


class HeldStream(NamedTuple):
    """The attempt of a task, and the end of its stream."""

    holder: Holder
    end: StreamEnd


Ends = dict[TaskId, HeldStream]


class KnownEnds:
    """The ends of streams that this process wrote to a moment ago. Others may have written since."""

    def __init__(self) -> None:
        self._ends: Ends = {}  # the one that spoke last is the last

    def take(self, task_ids: Iterable[TaskId]) -> Ends:
        """Those of these tasks, which are known again when they are kept: meanwhile they are written to."""
        return {task_id: found for task_id in task_ids if (found := self._ends.pop(task_id, None))}

    def keep(self, ends: Ends) -> None:
        """Know these ends, which are stored."""
        self._ends |= ends
        while len(self._ends) > MOST_KNOWN:
            del self._ends[next(iter(self._ends))]


class Additions(NamedTuple):
    """What appends add to their streams."""

    answers: list[StreamAppended]
    ends: Ends  # afterwards, of the streams that may be appended to
    rows: list[Row]
    events: list[Event]


def decide(appends: Sequence[StreamAppend], ends: Mapping[TaskId, HeldStream], now: Micros) -> Additions:
    growth = Additions([], {}, [], [])
    for each in appends:
        found = growth.ends.get(each.task_id) or ends.get(each.task_id)
        if found is None or not may_append(found.holder, each):
            growth.answers.append(REFUSED)
            continue
        holder = found.holder
        answer, chunks, events, end = appended(each, holder, found.end, now)
        growth.answers.append(answer)
        growth.ends[each.task_id] = HeldStream(holder, end)
        growth.rows.extend([(holder.seq, *chunk[1:]) for chunk in chunks])
        growth.events.extend(events)
    return growth


class DecidedAppends:
    """Appends for which one statement is enough, if their streams still end where they did."""

    def __init__(self, growth: Additions, ends: Mapping[TaskId, HeldStream]) -> None:
        self._growth = growth
        self._rows = compact(growth.rows)
        self._guards = compact([_guard(ends[task_id]) for task_id in growth.ends])

    def insert(self, connection: apsw.Connection) -> Additions | None:
        """None: something has changed, and nothing is inserted."""
        connection.execute(SQL["insert_decided_chunks"], (self._rows, self._guards))
        return self._growth if connection.changes() == len(self._growth.rows) else None


def decide_early(appends: Sequence[StreamAppend], ends: Ends, now: Micros) -> DecidedAppends | None:
    """None: a transaction must decide it, since it has events to write, or something to refuse for certain."""
    growth = decide(appends, ends, now)
    is_plain = growth.rows and not growth.events and REFUSED not in growth.answers
    return DecidedAppends(growth, ends) if is_plain else None


def _guard(found: HeldStream) -> Row:
    holder, end = found
    return holder.seq, holder.attempt, holder.status, holder.lease, end.number


def append(transaction: SqliteTransaction, appends: Sequence[StreamAppend]) -> Additions:
    """Decide by what is stored, and write it."""
    ends = read_ends(transaction.connection, {each.task_id for each in appends})
    growth = decide(appends, ends, transaction.now)
    transaction.write_streams(growth.rows, growth.ends)
    transaction.append_events(growth.events)
    return growth


def read_ends(connection: apsw.Connection, task_ids: Iterable[TaskId]) -> Ends:
    found = json.loads(connection.execute(SQL["held_streams"], (json_list(task_ids), SEEN_REQUESTS)).get)
    ends: Ends = {}
    for task_id, seq, workspace, dag_id, status, attempt, lease, last, total, kind, requests in found:
        holder = Holder(task_id, seq, workspace, dag_id, Status(status), attempt, lease)
        is_full = kind == ChunkKind.CUT
        end = StreamEnd() if last is None else StreamEnd(last + 1, total, is_full, tuple(requests))
        ends[task_id] = HeldStream(holder, end)
    return ends


def prune(transaction: SqliteTransaction, before: Micros, after: str, limit: int) -> str | None:
    seq = int(after or -1)
    for _ in range(limit):
        found = transaction.connection.execute(SQL["next_stream"], (seq,)).get
        if found is None:
            return None
        seq = found
        if transaction.connection.execute(SQL["is_stream_over"], (seq, before)).get:
            transaction.run("remove_stream", seq)
    return str(seq)


def read(connection: apsw.Connection, task_id: TaskId, after: StreamPlace, limit: int) -> list[StreamChunk]:
    return [parse_chunk(row) for row in connection.execute(SQL["stream"], (task_id, *after, limit))]


def parse_chunk(row: Row) -> StreamChunk:
    task_id, attempt, index, at, kind, *rest = row
    return StreamChunk(TaskId(task_id), attempt, index, Micros(at), ChunkKind(kind), *rest)
