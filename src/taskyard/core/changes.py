"""What the core decides and a store writes.

A `Change` is one step of one task. A `ChangeSet` is committed whole or not at all, and only if every row it was decided
on is still as it was read. Nothing here knows a verb; nothing here knows a database.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from taskyard.core.json_value import Json
from taskyard.core.task import Attempt, DagId, Definition, Hot, Status, TaskId
from taskyard.core.units import SECOND, Micros, MicroUsd

DECISION_GOOD_FOR = Micros(5 * SECOND)  # one that is written later is made anew: its times would lie in the past


class Event(NamedTuple):
    """One stored fact about a change. The store gives it a sequence number after the row locks are taken."""

    event: str  # task.ready, dag.completed, breaker.opened, …
    workspace: str
    task_id: TaskId | None
    dag_id: DagId | None
    at: Micros
    version: int | None  # the task's after the change; None for events that are not of a task
    status: Status | None
    attempt: int | None
    data: str | None  # JSON: what else the reader wants to know


class Labels(NamedTuple):
    """What a definition says of its task that readers of events filter by."""

    type: str | None = None
    subject: str | None = None
    agent: str | None = None  # whom the task is addressed to; of an event: who did it, or else the addressee


class StoredEvent(NamedTuple):
    seq: int
    event: Event
    labels: Labels = Labels()  # added for readers; a store leaves them blank


class Change(NamedTuple):
    """One step of one task: applied where the row is still at `before.version`."""

    before: Hot
    after: Hot
    event: Event
    # Expiring a lease races with its heartbeat, which bumps no version: such a change also requires that the stored
    # lease_expires_at is the one it was decided on, and past by the store's own clock.
    expiring: bool = False
    # Decided on the row as it was handed out, without reading it again: no heartbeat may have come since, which may
    # have brought what the attempt cost. So the stored lease_expires_at must be the one it was decided on.
    lease_unchanged: bool = False


class Blocker(NamedTuple):
    """One thing that a pending task waits for."""

    task_id: TaskId
    wait: int
    name: str  # see identifiers.BlockerKind


class Edge(NamedTuple):
    parent: TaskId
    child: TaskId
    kind: str  # depends: child needs parent's output; spawned: parent made child; awaited: and waits for it


class NewTask(NamedTuple):
    hot: Hot  # seq 0: the store gives it
    definition: Definition
    event: Event


class Lift(NamedTuple):
    """Take a blocker off: off one task, or off everything it blocks. What has none left becomes ready.

    `ends_wait` takes every blocker of that task's current wait: a time-out.
    """

    name: str
    task_id: TaskId | None = None
    ends_wait: bool = False


class Spend(NamedTuple):
    """A movement on one ceiling: held by attempts under way, spent by those that ended. Commutative."""

    workspace: str
    name: str  # see identifiers.CeilingKind
    held: int
    spent: int = 0


class Count(NamedTuple):
    """A movement of a counter. `clear` sets it to nothing before adding. Folded per batch in the order of the sets."""

    workspace: str
    name: str  # see identifiers.CounterKind
    add: int
    clear: bool = False


class Record(NamedTuple):
    """A versioned document: configuration and everything else that changes seldom."""

    kind: str  # dag, agent, runtime, queue, breaker, workspace, cascade, dead, metrics, artifact, notifier, trigger, …
    workspace: str
    id: str
    version: int  # 0: does not exist
    body: dict[str, Json]


class RecordChange(NamedTuple):
    """Applied where the record is still at `version` (0: absent). No body: it is removed."""

    kind: str
    workspace: str
    id: str
    version: int
    body: dict[str, Json] | None


# A claim was planned on these: changing one makes the plans of that workspace stale (see ClaimPlan.epoch).
PLANNED_ON = frozenset({"agent", "agent_type", "queue", "breaker", "throttle", "variants", "workspace"})


class Expect(NamedTuple):
    """A row that was read and is not written: it must still be at this version.

    Made by `expected`. The status says in which table a store keeps the row that has the version.
    """

    task_id: TaskId
    version: int
    status: Status


def expected(hot: Hot) -> Expect:
    return Expect(hot.id, hot.version, hot.status)


class Ceiling(NamedTuple):
    """Set or lift (None) a stored ceiling."""

    workspace: str
    name: str
    ceiling: int | None


class Limit(NamedTuple):
    """A stored ceiling and what stands against it."""

    workspace: str
    name: str
    ceiling: int | None
    held: int
    spent: int


class Output(NamedTuple):
    task_id: TaskId
    attempt: int
    data: str  # JSON
    artifacts: tuple[str, ...]
    decision_report: str | None  # JSON


class Checkpoint(NamedTuple):
    """The result of a named step. Written once."""

    task_id: TaskId
    name: str
    attempt: int
    data: str  # JSON


class Signal(NamedTuple):
    task_id: TaskId
    name: str
    data: str  # JSON
    sent_by: str
    at: Micros


class Outbox(NamedTuple):
    """Work that follows a change and must not be lost: notify."""

    workspace: str
    topic: str
    task_id: TaskId | None
    data: str  # JSON
    at: Micros


class Rescore(NamedTuple):
    """A task's new place in its lane. Unversioned; applied only while the task waits."""

    task_id: TaskId
    rank: int
    height: int
    rescore_at: Micros | None


class Touch(NamedTuple):
    """When the sweep is to look at a task again. Unversioned; applied only where `due_at` is still `seen`."""

    task_id: TaskId
    seen: Micros
    due_at: Micros | None
    lease_expires_at: Micros | None = None  # given: the lease is forgiven until then


class ChangeSet(NamedTuple):
    """What must be committed together. Guarded: changes, expects, records, and the keys and ids of what is new.

    Made by naming its parts. A tuple for the reason that a row is one (decision 0002): there is one for every step.
    """

    at: Micros  # when it was decided: what lifting makes ready becomes ready then
    changes: tuple[Change, ...] = ()
    expects: tuple[Expect, ...] = ()
    tasks: tuple[NewTask, ...] = ()
    edges: tuple[Edge, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    lifts: tuple[Lift, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    outputs: tuple[Output, ...] = ()  # each with its attempt, which is in `attempts`
    checkpoints: tuple[Checkpoint, ...] = ()
    signals: tuple[Signal, ...] = ()
    records: tuple[RecordChange, ...] = ()
    redefined: tuple[Definition, ...] = ()
    spends: tuple[Spend, ...] = ()
    ceilings: tuple[Ceiling, ...] = ()
    counts: tuple[Count, ...] = ()
    outbox: tuple[Outbox, ...] = ()
    rescores: tuple[Rescore, ...] = ()
    removals: tuple[TaskId, ...] = ()  # each is also expected: pruned only as it was when the sweep saw it
    events: tuple[Event, ...] = ()  # those that belong to no task's change
    good_until: Micros | None = None  # by the store's clock at the write; None: however late that is


# What the yard writes about itself: figures by time, how DAGs and breakers stand, of which empty budget people were
# notified. It stays small. An entry of the audit log says who asked for such a change, and stands in nobody's way.
_HOUSEKEEPING = frozenset({"audit", "breaker", "dag", "meter", "metrics", "pace", "told"})


def goes_on_when_full(change_set: ChangeSet) -> bool:
    """Whether a store that is full should take the set all the same.

    It makes room, ends an attempt, or is needed for that: figures are counted before events are pruned. What puts
    something new in has to wait.
    """
    if change_set.tasks or change_set.checkpoints or change_set.signals:
        return False
    if change_set.removals:
        return True
    if change_set.changes:
        return all(each.before.status.is_held or each.after.status.is_final for each in change_set.changes)
    kinds = [record.kind for record in change_set.records if record.body is not None]
    is_upkeep = change_set.records or change_set.lifts or change_set.rescores or change_set.outbox
    return bool(is_upkeep) and _HOUSEKEEPING.issuperset(kinds)


def merged(sets: Sequence[ChangeSet]) -> ChangeSet:
    """Make one change set of several decisions of one moment."""
    first, *rest = sets
    if not rest:
        return first
    parts = zip(*(one[1:-1] for one in sets), strict=True)
    ends = [one.good_until for one in sets if one.good_until is not None]
    joined: list[Any] = [tuple(chain.from_iterable(each)) for each in parts]
    return ChangeSet._make((first.at, *joined, min(ends, default=None)))


def timely(change_set: ChangeSet) -> ChangeSet:
    """The set, for a store to refuse where it comes so late that its times would contradict the order of events."""
    return change_set._replace(good_until=Micros(change_set.at + DECISION_GOOD_FOR))


def is_late(change_set: ChangeSet, now: Micros) -> bool:
    return change_set.good_until is not None and now > change_set.good_until


class Committed(NamedTuple):
    counts: dict[str, int]  # the counters this set moved, as they are after the batch
    readied: tuple[TaskId, ...]  # what became claimable: new, lifted or un-parked


class Conflict(NamedTuple):
    """Something moved. Load and decide again."""

    what: str


class Taken(NamedTuple):
    """An idempotency key, or a task id, is already in use by these tasks."""

    by: dict[str, TaskId]  # key or id -> the task that has it


class Beat(NamedTuple):
    """One heartbeat. Cost and tokens are the attempt's totals so far; None leaves what is stored."""

    task_id: TaskId
    lease: str  # sealed
    progress: str | None = None
    cost: MicroUsd | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: str | None = None  # JSON, as `CachedTokens`
    workspace: str | None = None  # given: a task of another is left alone, whatever the lease


def is_prunable(event: Event, before: Micros) -> bool:
    """Whether retention takes an event by itself: one of a task or a DAG goes with it, and not before."""
    return event.task_id is None and event.dag_id is None and event.at < before
