"""Streams, beside the log."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.attempt_stream import (
    ANNOUNCED,
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
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.postgres.connection.reader import PostgresReader
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.postgres.transaction import PostgresTransaction
from taskyard.stores.shared.rows import Row


async def append(transaction: PostgresTransaction, appends: Sequence[StreamAppend]) -> list[StreamAppended]:
    has_updates = any(entry.kind in ANNOUNCED for each in appends for entry in each.entries)
    if has_updates:
        await transaction.query("lock_updates")
    # The lock keeps the attempts from ending, and others from writing to their streams, until the chunks are stored.
    found = {hot.id: hot for hot in await transaction.load("lock_held", list({each.task_id for each in appends}))}
    ends = await _ends(transaction, [(hot.id, hot.seq, hot.attempt) for hot in found.values()])
    answers: list[StreamAppended] = []
    placed: list[tuple[int, StreamChunk]] = []
    for each in appends:
        hot = found.get(each.task_id)
        if hot is None or not may_append(hot, each):
            answers.append(REFUSED)
            continue
        last = ends.setdefault(hot.id, [])
        answer, new = appended(each, hot.attempt, last, transaction.now)
        answers.append(answer)
        last += new
        placed += [(hot.seq, chunk) for chunk in new]
    await _insert(transaction, placed, has_updates=has_updates)
    return answers


async def _ends(transaction: PostgresTransaction, held: Sequence[Row]) -> dict[TaskId, list[StreamChunk]]:
    ends: dict[TaskId, list[StreamChunk]] = {}
    if held:
        for row in await transaction.query("stream_ends", *transpose(held, 3), SEEN_REQUESTS):
            chunk = parse_chunk(row)
            ends.setdefault(chunk.task_id, []).append(chunk)
    return ends


async def _insert(
    transaction: PostgresTransaction, placed: Sequence[tuple[int, StreamChunk]], *, has_updates: bool
) -> None:
    if not placed:
        return
    number = transaction.now - 1
    if has_updates:
        [(last,)] = await transaction.query("last_update")
        number = max(number, last)
    found: list[Row] = []
    for seq, chunk in placed:
        number += chunk.kind in ANNOUNCED
        found.append((seq, *chunk[1:], number if chunk.kind in ANNOUNCED else None))
    await transaction.run("insert_chunks", *transpose(found, 9))


async def prune(transaction: PostgresTransaction, before: Micros, after: str, limit: int) -> str | None:
    found = await transaction.query("next_streams", int(after or -1), before, limit)
    if over := [seq for seq, is_over in found if is_over]:
        await transaction.run("remove_streams", over)
    return str(found[-1][0]) if len(found) == limit else None


async def read(reader: PostgresReader, task_id: TaskId, after: StreamPlace, limit: int) -> list[StreamChunk]:
    return [parse_chunk(row) for row in await reader.ask("stream", task_id, *after, limit)]


async def updates(reader: PostgresReader, workspace: str, after: int, limit: int) -> list[tuple[int, StreamChunk]]:
    return [(number, parse_chunk(row)) for number, *row in await reader.ask("stream_updates", workspace, after, limit)]


def parse_chunk(row: Row) -> StreamChunk:
    task_id, attempt, index, at, kind, *rest = row
    return StreamChunk(TaskId(task_id), attempt, index, Micros(at), ChunkKind(kind), *rest)
