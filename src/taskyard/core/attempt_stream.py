"""Streams: what an attempt says while it works, beside the log. Messages and progress are announced by an event too.

A chunk has a place: the number of its attempt, and its number in the attempt. Nothing here reads a clock or a store.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from taskyard.core.changes import Event
from taskyard.core.task import HELD, DagId, Status, TaskId, lone_dag
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


class Speaker(Protocol):
    """What must be known of a task whose attempt says something. The moving row of a task is one."""

    @property
    def id(self) -> TaskId: ...
    @property
    def workspace(self) -> str: ...
    @property
    def dag_id(self) -> DagId | None: ...
    @property
    def status(self) -> Status: ...
    @property
    def attempt(self) -> int: ...
    @property
    def lease(self) -> str | None: ...


def may_append(task: Speaker, append: StreamAppend) -> bool:
    return task.status in HELD and task.lease == append.lease and task.workspace == append.workspace


class StreamEnd(NamedTuple):
    """What must be known of an attempt's stream to append to it."""

    number: int = 0  # of the next chunk
    total: int = 0  # bytes so far
    is_full: bool = False
    requests: tuple[str, ...] = ()  # of the last chunks, the oldest first

    def behind(self, chunks: Sequence[StreamChunk]) -> StreamEnd:
        """The end when these are stored too."""
        if not chunks:
            return self
        requests = (*self.requests, *(each.request for each in chunks))
        last = chunks[-1]
        return StreamEnd(last.number + 1, last.total, last.kind is ChunkKind.CUT, requests[-SEEN_REQUESTS:])


class StreamGrowth(NamedTuple):
    """What an append adds to its attempt."""

    answer: StreamAppended
    chunks: list[StreamChunk]
    events: list[Event]
    end: StreamEnd


def appended(append: StreamAppend, task: Speaker, end: StreamEnd, now: Micros) -> StreamGrowth:
    """What to store behind the end of the stream of the attempt under way.

    Nothing for a request that is stored already. What exceeds `MOST_BYTES` is left out; a chunk of kind `cut` says so.
    Listeners hear messages and progress all the same: each has an event, as long as the attempt goes on. A chunk
    without a body remembers the request of these, so that they do not hear them again when it is repeated.
    """
    if append.request in end.requests:
        return StreamGrowth(StreamAppended(accepted=True, is_full=end.is_full), [], [], end)
    number, total, is_full, _ = end
    events = [_announcement(task, entry, now) for entry in append.entries if entry.kind in ANNOUNCED]
    chunks: list[StreamChunk] = []
    if is_full:
        memory = StreamChunk(append.task_id, task.attempt, number, now, ChunkKind.CUT, "", total, append.request)
        chunks += [memory] if events else []
        return StreamGrowth(StreamAppended(accepted=True, is_full=True), chunks, events, end.behind(chunks))
    for entry in append.entries:
        size = len(entry.body.encode())
        is_full = total + size > MOST_BYTES
        kind, body = StreamEntry(ChunkKind.CUT, str(MOST_BYTES)) if is_full else entry
        total += 0 if is_full else size
        chunks.append(StreamChunk(append.task_id, task.attempt, number, now, kind, body, total, append.request))
        number += 1
        if is_full:
            break
    return StreamGrowth(StreamAppended(accepted=True, is_full=is_full), chunks, events, end.behind(chunks))


def _announcement(task: Speaker, entry: StreamEntry, now: Micros) -> Event:
    name = ANNOUNCED[entry.kind]
    dag_id = task.dag_id or lone_dag(task.id)
    return Event(name, task.workspace, task.id, dag_id, now, None, None, task.attempt, entry.body)
