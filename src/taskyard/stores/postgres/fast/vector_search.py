"""Search of vectors by the extension pgvector.

It applies where an operator has created the extension (`create extension vector`). The slow path reads every vector
and compares them in this process (`shared.vectors`). Its gain is in docs/benchmarks.md.
"""

from __future__ import annotations

from array import array

from taskyard.core.task import TaskId
from taskyard.stores.contract import Near, VectorQuery
from taskyard.stores.postgres.connection.reader import PostgresReader
from taskyard.stores.shared import vectors

_HEADER = 20  # bytes before the first element: dimensions, flags, type, length, lower bound


async def nearest(reader: PostgresReader, query: VectorQuery) -> list[Near]:
    which = (query.workspace, query.embedder, None if query.types is None else list(query.types))
    if await reader.value("has_pgvector"):
        found = await reader.ask("nearest_embeddings", *which, list(query.vector), query.limit)
        return [Near(*row) for row in found]
    stored = await reader.ask("embeddings", *which)
    return vectors.rank([(TaskId(task_id), _packed(sent)) for task_id, sent in stored], query)


def _packed(sent: bytes) -> bytes:
    """The floats of an array, which the server sends highest byte first, each behind its own length."""
    words = array("f", sent[_HEADER:])[1::2]
    words.byteswap()
    return words.tobytes()
