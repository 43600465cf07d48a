"""What may be appended to a stream, and how places in it are written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypedDict

from taskyard.core.attempt_stream import BEGINNING, ChunkKind, StreamEntry, StreamPlace
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact, encode, is_object, mended

GATHERED_FOR = 0.25  # seconds that what an attempt says is gathered before it is written
GATHERED_BYTES = 16 << 10  # or so much
MOST_CHUNKS = 1_000  # in one call
MOST_CHUNK_BYTES = 1 << 20
_TEXTS = frozenset({ChunkKind.TEXT, ChunkKind.STDOUT, ChunkKind.STDERR})
_SENT = (*_TEXTS, ChunkKind.JSON, ChunkKind.MESSAGE)  # progress is reported by a heartbeat
_PLACE = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)


class NewChunk(TypedDict, total=False):
    """What an agent says: a text, or for `json` and `message` a value."""

    kind: str  # text (where none is given), json, stdout, stderr, message
    text: str
    data: Json


def entries_of(chunks: Sequence[Mapping[str, object]]) -> tuple[StreamEntry, ...]:
    if not 1 <= len(chunks) <= MOST_CHUNKS:
        raise InvalidInput("chunks", f"must be from 1 to {MOST_CHUNKS}")
    return tuple(_entry(each, f"chunks[{place}]") for place, each in enumerate(chunks))


def _entry(chunk: Mapping[str, object], field: str) -> StreamEntry:
    kind, text, data = (chunk.get(name) for name in ("kind", "text", "data"))
    if kind is not None and kind not in _SENT:
        raise InvalidInput(f"{field}.kind", f"must be one of {', '.join(sorted(_SENT))}")
    known = ChunkKind.TEXT if kind is None else ChunkKind(str(kind))
    if known in _TEXTS:
        if not isinstance(text, str) or data is not None:
            raise InvalidInput(f"{field}.text", f"must be a text, and the only content of a chunk of kind {known}")
        return StreamEntry(known, bounded(text, f"{field}.text"))
    if text is not None:
        raise InvalidInput(f"{field}.text", f"cannot be given for a chunk of kind {known}, which has `data`")
    if known is ChunkKind.MESSAGE:
        return message_entry(data, f"{field}.data")
    return StreamEntry(known, encode(data, field=f"{field}.data", max_bytes=MOST_CHUNK_BYTES))


def bounded(text: str, field: str) -> str:
    """The text as every store can hold it: programs print what is no text, and are not refused for it."""
    kept = mended(text)
    if len(kept.encode()) > MOST_CHUNK_BYTES:
        raise InvalidInput(field, f"must be at most {MOST_CHUNK_BYTES} bytes")
    return kept


def place_of(after: str | None) -> StreamPlace:
    """A place as `place_text` writes it."""
    if not after:
        return BEGINNING
    match = _PLACE.fullmatch(after)
    if match is None:
        raise InvalidInput("after", "must be the place of a chunk: ATTEMPT-INDEX, such as 1-17")
    return StreamPlace(int(match[1]), int(match[2]))


def place_text(place: StreamPlace) -> str:
    return f"{place.attempt}-{place.number}"


def message_entry(message: object, field: str, max_bytes: int = MOST_CHUNK_BYTES) -> StreamEntry:
    """A message as its readers get it: always an object, in which a bare value is the text."""
    content = message if is_object(message) else {"text": message}
    return StreamEntry(ChunkKind.MESSAGE, encode(content, field=field, max_bytes=max_bytes))


def progress_entry(progress: Json) -> StreamEntry:
    return StreamEntry(ChunkKind.PROGRESS, compact({"progress": progress}))
