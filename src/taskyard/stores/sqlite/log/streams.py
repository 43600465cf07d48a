"""Streams, beside the log."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from taskyard.core.attempt_stream import (
    REFUSED,
    SEEN_REQUESTS,
    ChunkKind,
    StreamAppend,
    StreamAppended,
    StreamChunk,
    StreamPlace,
    appended,
    may_append,
)
from taskyard.core.changes import Event
from taskyard.core.json_value import compact
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.shared.rows import Row
from taskyard.stores.sqlite.statements import SQL, json_list
from taskyard.stores.sqlite.transaction import SqliteTransaction


def append(transaction: SqliteTransaction, appends: Sequence[StreamAppend]) -> list[StreamAppended]:
    found = {hot.id: hot for hot in transaction.load("load", json_list({each.task_id for each in appends}))}
    held = [(each.task_id, hot.seq, hot.attempt, each.request) for each in appends if (hot := found.get(each.task_id))]
    ends: dict[TaskId, list[StreamChunk]] = {}
    for row in transaction.connection.execute(SQL["stream_ends"], (compact(held), SEEN_REQUESTS)):
        chunk = parse_chunk(row)
        ends.setdefault(chunk.task_id, []).append(chunk)
    answers: list[StreamAppended] = []
    placed: list[Row] = []
    events: list[Event] = []
    for each in appends:
        hot = found.get(each.task_id)
        if hot is None or not may_append(hot, each):
            answers.append(REFUSED)
            continue
        last = ends.setdefault(hot.id, [])
        answer, chunks, announced = appended(each, hot, last, transaction.now)
        answers.append(answer)
        last += chunks
        placed += [(hot.seq, *chunk[1:]) for chunk in chunks]
        events += announced
    transaction.write_streams(placed, {each.task_id for each in appends})
    transaction.append_events(events)
    return answers


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
