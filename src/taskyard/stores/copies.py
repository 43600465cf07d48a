"""The rows of a yard as they move from one store to another.

A copy says the same on every store: it has no number that a store gave a lane, a task or an outbox row. Events keep
their numbers, because readers have them as cursors. This module does not access a store.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeVar

from taskyard.core.changes import (
    PLANNED_ON,
    Blocker,
    Checkpoint,
    Edge,
    Limit,
    Outbox,
    Output,
    Record,
    Signal,
    StoredEvent,
)
from taskyard.core.task import Attempt, Definition, Hot, Lane, TaskId
from taskyard.core.units import Micros

EVENT_BLOCK = 1024  # event numbers that some stores keep in one row: these are restored in one call


class YardSecret(NamedTuple):
    """What leases are minted and the secrets of hooks are made from."""

    secret: bytes


class CounterCopy(NamedTuple):
    workspace: str
    name: str  # see identifiers.CounterKind
    value: int


class DutyCopy(NamedTuple):
    name: str
    until: Micros


class PulseCopy(NamedTuple):
    name: str  # see ledger.pulse
    at: Micros


class PrunedEvents(NamedTuple):
    workspace: str
    through: int  # the highest number of a pruned event


class TaskCopy(NamedTuple):
    """A task without its history, which follows as copies of its own."""

    hot: Hot  # with the numbers of the store that it comes from; `restore` gives it others
    lane: Lane
    definition: Definition


class OutboxCopy(NamedTuple):
    number: int  # of the store that it comes from
    outbox: Outbox


Kind = TypeVar("Kind", bound="Copy")
TaskPart = Attempt | Output | Checkpoint | Signal | Blocker | Edge
_Kept = YardSecret | Record | Limit | CounterCopy | DutyCopy | PulseCopy | PrunedEvents
Copy = _Kept | TaskCopy | TaskPart | StoredEvent | OutboxCopy


class YardPart(StrEnum):
    """What a yard is made of, in the order in which it is copied."""

    SECRET = "secret"
    RECORDS = "records"
    LIMITS = "limits"
    COUNTERS = "counters"
    DUTIES = "duties"
    PULSES = "pulses"
    PRUNED = "pruned"
    TASKS = "tasks"  # each task is followed by its history
    EVENTS = "events"
    OUTBOX = "outbox"


CopyPlace = tuple[str | int, ...]  # of a copy in its part; the empty one comes before all
START: CopyPlace = ()


def place_after(page: Sequence[Copy]) -> CopyPlace:
    """The place of the last copy of a page, to go on behind it."""
    return next(place for copy in reversed(page) if (place := place_of(copy)))


def place_of(copy: Copy) -> CopyPlace:
    """The place of a copy in its part. A part of a task has none: it follows its task."""
    match copy:
        case Record() as record:
            return record.kind, record.workspace, record.id
        case Limit() | CounterCopy():
            return copy.workspace, copy.name
        case DutyCopy() | PulseCopy():
            return (copy.name,)
        case PrunedEvents():
            return (copy.workspace,)
        case TaskCopy():
            return (copy.hot.seq,)
        case StoredEvent():
            return (copy.seq,)
        case OutboxCopy():
            return (copy.number,)
        case YardSecret():
            return ("",)
        case _:
            return START


def copies_of(kind: type[Kind], copies: Iterable[Copy]) -> list[Kind]:
    return [copy for copy in copies if isinstance(copy, kind)]


def planned_workspaces(copies: Iterable[Copy]) -> list[str]:
    """The workspaces whose claim plans these copies make stale."""
    return sorted({each.workspace for each in copies_of(Record, copies) if each.kind in PLANNED_ON})


def first_events(copies: Iterable[Copy]) -> dict[TaskId, int]:
    """The number of the first of these events of each task."""
    found: dict[TaskId, int] = {}
    for seq, event, _ in copies_of(StoredEvent, copies):
        if event.task_id is not None:
            found.setdefault(event.task_id, seq)
    return found


def last_event(copies: Iterable[Copy]) -> int:
    """The highest number of an event that was stored, or pruned since; 0 where there is none."""
    pruned = [each.through for each in copies_of(PrunedEvents, copies)]
    return max((*pruned, *(each.seq for each in copies_of(StoredEvent, copies))), default=0)


class TaskHistory(NamedTuple):
    """What belongs to the tasks of a page, each list in the order in which it is copied."""

    attempts: Sequence[Attempt]
    outputs: Sequence[Output]
    checkpoints: Sequence[Checkpoint]
    signals: Sequence[Signal]
    blockers: Sequence[Blocker]
    edges: Sequence[Edge]  # that leave the tasks


def with_history(tasks: Sequence[TaskCopy], history: TaskHistory) -> list[Copy]:
    parts: defaultdict[TaskId, list[TaskPart]] = defaultdict(list)
    for each in history:
        for part in each:
            parts[part.parent if isinstance(part, Edge) else part.task_id].append(part)
    return [copy for task in tasks for copy in (task, *parts[task.hot.id])]
