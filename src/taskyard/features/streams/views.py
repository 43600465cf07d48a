"""What readers of a stream get."""

from __future__ import annotations

import json
from typing import Annotated, Any

from taskyard.core.attempt_stream import BEGINNING, MOST_BYTES, ChunkKind, StreamChunk
from taskyard.core.json_value import is_object
from taskyard.core.task import Status
from taskyard.definition.view import About, Time, view
from taskyard.features.streams.rules import place_text

CUT = f"What this attempt said after its first {MOST_BYTES >> 20} MiB is not kept."


@view
class StreamedChunk:
    """Something that an attempt said."""

    place: Annotated[str, About("Where to read on: ATTEMPT-INDEX.")]
    attempt: int
    index: Annotated[int, About("In its attempt, from 0.")]
    at: Time
    kind: Annotated[str, About("text, json, stdout, stderr, message, progress; cut: no more of this attempt is kept.")]
    text: Annotated[str, About("Of text, stdout, stderr and cut. Pieces of text that came together are one.")]
    data: Annotated[Any, About("Of json, message and progress.")]
    restarted: Annotated[bool, About("The first chunk of a new attempt: what was said before is no part of it.")]


@view
class StreamPage:
    chunks: tuple[StreamedChunk, ...]
    after: Annotated[str, About("Where to read on.")]
    is_over: Annotated[bool, About("The task has ended, and no chunk follows.")]
    status: Status


@view
class StreamReceipt:
    is_full: Annotated[bool, About("Nothing more of this attempt is kept.")]


def chunk_view(chunk: StreamChunk) -> StreamedChunk:
    has_text = chunk.kind in (ChunkKind.TEXT, ChunkKind.STDOUT, ChunkKind.STDERR)
    is_cut = chunk.kind is ChunkKind.CUT
    return StreamedChunk(
        place_text(chunk.place),
        chunk.attempt,
        chunk.number,
        chunk.at,
        chunk.kind.value,
        CUT if is_cut else chunk.body if has_text else "",
        None if has_text or is_cut else json.loads(chunk.body),
        chunk.number == 0 and chunk.attempt > 1,
    )


def page_view(chunks: list[StreamChunk], after: str | None, status: Status, *, is_over: bool) -> StreamPage:
    last = place_text(chunks[-1].place) if chunks else after or place_text(BEGINNING)
    return StreamPage(tuple(chunk_view(each) for each in chunks if each.is_shown), last, is_over, status)


def words_of(data: Any) -> str:
    """What a person reads of a chunk that is no text."""
    if not is_object(data):
        return json.dumps(data, ensure_ascii=False)
    text = data.get("text")
    return text if isinstance(text, str) else json.dumps(data.get("progress", data), ensure_ascii=False)
