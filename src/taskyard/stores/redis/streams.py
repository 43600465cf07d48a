"""Streams, beside the log: what is sent to `stream.lua`, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskyard.core.attempt_stream import REFUSED, ChunkKind, StreamAppend, StreamAppended, StreamChunk, StreamPlace
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.redis.encoding import NONE, Word
from taskyard.stores.redis.queries import RedisReader
from taskyard.stores.redis.scripts import STREAM

_ANSWERS = {
    "stored": StreamAppended(accepted=True),
    "full": StreamAppended(accepted=True, is_full=True),
    "refused": REFUSED,
}


def append_words(appends: Sequence[StreamAppend]) -> Iterator[Word]:
    yield len(appends)
    for each in appends:
        yield from (each.task_id, each.workspace, each.lease, each.request, 2 * len(each.entries))
        for kind, body in each.entries:
            yield from (kind.value, body)


def parse_answers(answers: Sequence[str]) -> list[StreamAppended]:
    return [_ANSWERS[each] for each in answers]


async def read(reader: RedisReader, task_id: TaskId, after: StreamPlace, limit: int) -> list[StreamChunk]:
    found = await reader.server.run(STREAM, "read", task_id, *after, limit, idempotent=True)
    return [_parse(*each) for each in found]


def _parse(task_id: str, attempt: str, index: str, chunk: str) -> StreamChunk:
    at, kind, total, request, body = chunk.split(NONE, 4)
    return StreamChunk(
        TaskId(task_id), int(attempt), int(index), Micros(int(at)), ChunkKind(kind), body, int(total), request
    )
