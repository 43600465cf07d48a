"""Streams: what an attempt says while it works, beside the log. Messages and progress are announced by an event too.

A chunk has a place: the number of its attempt, and its number in the attempt. Nothing here reads a clock or a store.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from taskyard.core.changes import Event
from taskyard.core.task import HELD, Hot, TaskId, dag_of
from taskyard.core.units import HOUR, Micros

MOST_BYTES = 8 << 20  # of one attempt
KEPT_AFTER_END = Micros(HOUR)
SEEN_REQUESTS = 8  # last chunks in which a repeated request is looked for


class ChunkKind(StrEnum):
    TEXT = "text"  # what the agent writes; pieces that come together are one chunk
    JSON = "json"  # a value that is no text
    STDOUT = "stdout"  # printed by a command agent
    STDERR = "stderr"
    MESSAGE = "message"  # said for those who watch; listeners of the whole yard hear it too
    PROGRESS = "progress"
    CUT = "cut"  # an attempt said more than is kept; those behind the first have no body, and only remember a request


# The events of those that are announced to listeners of the whole yard.
ANNOUNCED = {ChunkKind.MESSAGE: "task.message", ChunkKind.PROGRESS: "task.progress"}


class StreamPlace(NamedTuple):
    attempt: int
    number: int  # of the chunk in its attempt, from 0


BEGINNING = StreamPlace(0, 0)  # before every chunk: attempts are numbered from 1


class StreamEntry(NamedTuple):
    """Something to be appended."""

    kind: ChunkKind
    body: str  # JSON, except of text, stdout and stderr


class StreamChunk(NamedTuple):
    task_id: TaskId
    attempt: int
    number: int
    at: Micros
    kind: ChunkKind
    body: str
    total: int  # bytes of the attempt's chunks up to this one
    request: str  # by which a repeated append is known

    @property
    def place(self) -> StreamPlace:
        return StreamPlace(self.attempt, self.number)

    @property
    def is_shown(self) -> bool:
        """Whether readers get it: what only remembers a request says nothing."""
        return self.kind is not ChunkKind.CUT or self.body != ""


class StreamAppend(NamedTuple):
    """Entries for the stream of the attempt that holds the lease."""

    task_id: TaskId
    workspace: str
    lease: str  # sealed
    request: str  # the same when the call is repeated, and otherwise no other's
    entries: tuple[StreamEntry, ...]


class StreamAppended(NamedTuple):
    accepted: bool  # False: the lease is not that of the attempt under way
    is_full: bool = False  # nothing more of this attempt is kept


REFUSED = StreamAppended(accepted=False)


def may_append(hot: Hot | None, append: StreamAppend) -> bool:
    return hot is not None and hot.status in HELD and hot.lease == append.lease and hot.workspace == append.workspace


class StreamGrowth(NamedTuple):
    """What an append adds to its attempt."""

    answer: StreamAppended
    chunks: list[StreamChunk]
    events: list[Event]


def appended(append: StreamAppend, hot: Hot, last: Sequence[StreamChunk], now: Micros) -> StreamGrowth:
    """What to store behind the last chunks of the attempt under way, which are given oldest first.

    Nothing for a request that is stored already. What exceeds `MOST_BYTES` is left out; a chunk of kind `cut` says so.
    Listeners hear messages and progress all the same: each has an event, as long as the attempt goes on. A chunk
    without a body remembers the request of these, so that they do not hear them again when it is repeated.
    """
    is_full = bool(last) and last[-1].kind is ChunkKind.CUT
    if any(each.request == append.request for each in last):
        return StreamGrowth(StreamAppended(accepted=True, is_full=is_full), [], [])
    events = [_announcement(hot, entry, now) for entry in append.entries if entry.kind in ANNOUNCED]
    number, total = (last[-1].number + 1, last[-1].total) if last else (0, 0)
    if is_full:
        memory = StreamChunk(append.task_id, hot.attempt, number, now, ChunkKind.CUT, "", total, append.request)
        return StreamGrowth(StreamAppended(accepted=True, is_full=True), [memory] if events else [], events)
    chunks: list[StreamChunk] = []
    for entry in append.entries:
        is_full = total + len(entry.body.encode()) > MOST_BYTES
        kind, body = StreamEntry(ChunkKind.CUT, str(MOST_BYTES)) if is_full else entry
        total += 0 if is_full else len(body.encode())
        chunks.append(StreamChunk(append.task_id, hot.attempt, number, now, kind, body, total, append.request))
        number += 1
        if is_full:
            break
    return StreamGrowth(StreamAppended(accepted=True, is_full=is_full), chunks, events)


def _announcement(hot: Hot, entry: StreamEntry, now: Micros) -> Event:
    name = ANNOUNCED[entry.kind]
    return Event(name, hot.workspace, hot.id, dag_of(hot), now, None, None, hot.attempt, entry.body)
