"""Streams, beside the log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

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
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.postgres.connection.reader import PostgresReader
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.postgres.transaction import PostgresTransaction
from taskyard.stores.shared.rows import Row


async def append(
    transaction: PostgresTransaction, appends: Sequence[StreamAppend]
) -> tuple[list[StreamAppended], bool]:
    """Answers also whether there are events."""
    # The lock keeps the attempts from ending, and others from writing to their streams, until the chunks are stored.
    found = {hot.id: hot for hot in await transaction.load("lock_held", list({each.task_id for each in appends}))}
    ends = await _ends(transaction, [(hot.id, hot.seq, hot.attempt) for hot in found.values()])
    answers: list[StreamAppended] = []
    placed: list[Row] = []
    events: list[Event] = []
    for each in appends:
        hot = found.get(each.task_id)
        if hot is None or not may_append(hot, each):
            answers.append(REFUSED)
            continue
        answer, chunks, announced, ends[hot.id] = appended(each, hot, ends[hot.id], transaction.now)
        answers.append(answer)
        placed += [(hot.seq, *chunk[1:]) for chunk in chunks]
        events += announced
    if placed:
        await transaction.run("insert_chunks", *transpose(placed, 8))
    if events:
        transaction.plan_numbers(events)
        transaction.add_events(events)
        await transaction.write_log()
        await transaction.flush(is_last=True)
    return answers, bool(events)


async def _ends(transaction: PostgresTransaction, held: Sequence[Row]) -> defaultdict[TaskId, StreamEnd]:
    ends = defaultdict[TaskId, StreamEnd](StreamEnd)
    if held:
        for row in await transaction.query("stream_ends", *transpose(held, 3), SEEN_REQUESTS):
            chunk = parse_chunk(row)
            ends[chunk.task_id] = ends[chunk.task_id].behind([chunk])
    return ends


async def prune(transaction: PostgresTransaction, before: Micros, after: str, limit: int) -> str | None:
    found = await transaction.query("next_streams", int(after or -1), before, limit)
    if over := [seq for seq, is_over in found if is_over]:
        await transaction.run("remove_streams", over)
    return str(found[-1][0]) if len(found) == limit else None


async def read(reader: PostgresReader, task_id: TaskId, after: StreamPlace, limit: int) -> list[StreamChunk]:
    return [parse_chunk(row) for row in await reader.ask("stream", task_id, *after, limit)]


def parse_chunk(row: Row) -> StreamChunk:
    task_id, attempt, index, at, kind, *rest = row
    return StreamChunk(TaskId(task_id), attempt, index, Micros(at), ChunkKind(kind), *rest)
