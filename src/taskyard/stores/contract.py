"""What every store promises.

The core decides; a store checks that nothing has moved, and writes. A store names no verb and knows no rule but three:
claim, extend and lift, where choosing and taking must be one step. Each of these leaves a task exactly as its pure
function in `core.transitions` would, and calls that function where it can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from taskyard.core.changes import (
    Beat,
    Blocker,
    ChangeSet,
    Checkpoint,
    Committed,
    Conflict,
    Edge,
    Labels,
    Limit,
    NewTask,
    Outbox,
    Output,
    Record,
    Signal,
    StoredEvent,
    Taken,
    Touch,
)
from taskyard.core.claiming import ClaimPlan, Pace
from taskyard.core.errors import StoreUnavailable
from taskyard.core.json_value import Json
from taskyard.core.task import AgentId, Attempt, DagId, Definition, Hot, Lane, LaneId, RuntimeId, Status, TaskId
from taskyard.core.units import Micros
from taskyard.stores.shared.migrations import State


class OutcomeUnknown(StoreUnavailable):
    """The answer to a write was lost: it may have been stored, and then it is there to be read."""


class Clock(Protocol):
    def now(self) -> Micros: ...


class Stale(NamedTuple):
    """The plan was made on configuration or lanes that have changed: read them again."""

    epoch: int


class Claimed(NamedTuple):
    tasks: tuple[Hot, ...]  # in the order of plan.leases: the n-th has the n-th lease
    parked: int  # met and put aside, because a key is held or money is gone
    definitions: tuple[Definition, ...] = ()  # of these tasks, read in the same step


class Extended(NamedTuple):
    """What a heartbeat found: the row after it, or the row as it is where the lease is not its own."""

    hot: Hot | None  # None: no such task
    accepted: bool


class Cursor(NamedTuple):
    """A place among the final tasks, in the order in which they ended."""

    updated_at: Micros
    seq: int


FROM_THE_OLDEST = Cursor(Micros(0), 0)


class Prunable(NamedTuple):
    """A piece of what may be removed, and where the next piece begins."""

    tasks: tuple[Hot, ...]
    cursor: Cursor | None  # None: every final task that is old enough has been looked at


class Graph(NamedTuple):
    tasks: tuple[Hot, ...]
    edges: tuple[Edge, ...]


class Config(NamedTuple):
    """Everything a claim is planned on, read at one moment."""

    epoch: int
    records: tuple[Record, ...]  # of the kinds in changes.PLANNED_ON
    lanes: Mapping[LaneId, Lane]  # those with an id above the one asked for
    yard: str  # which one this is: another where the store was emptied, restored from nothing or replaced since


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which tasks to list. Everything given must match."""

    workspace: str
    statuses: frozenset[Status] = frozenset()
    types: frozenset[str] = frozenset()
    queue: str | None = None
    agent: str | None = None  # addressed to, or held by
    subject: str | None = None
    dag_id: DagId | None = None
    parent_id: TaskId | None = None
    tag: str | None = None
    text: str | None = None  # found in title, prompt or payload


class Guest(Protocol):
    """The caller's own transaction on the yard's database. Nothing here begins, commits or rolls back."""

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]: ...
    async def by_key(self, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]: ...
    async def insert(self, tasks: Sequence[NewTask], blockers: Sequence[Blocker]) -> None: ...


class Store(Protocol):
    """One yard's data. Safe to share between tasks of one event loop; other processes may have it open too."""

    secret: bytes  # made when the yard was, known to every process of it
    pace: Pace

    def twin(self) -> Store | None:
        """Another connection to the same yard, not yet open, for another thread; None where there can be none."""
        ...

    def join(self, connection: Any) -> Guest:
        """Take part in a transaction of the caller's; `InvalidInput` where this store cannot."""
        ...

    async def schema(self) -> State:
        """What is stored and what this release knows. May be asked before `open`, and changes nothing."""
        ...

    async def migrate(self) -> None:
        """Bring what is stored to this release, before `open`. Many may do so at once."""
        ...

    async def open(self) -> None:
        """Migrate where that is outstanding; a store that was told not to raises `SchemaTooOld` instead."""
        ...

    async def close(self) -> None: ...

    def now(self) -> Micros:
        """The time that counts. It goes back only where the clock was set back by more than `clock_jump.TOLERANCE`."""
        ...

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        """Apply each set whose rows are all still at the version it was decided on; say which were.

        Sets stand or fall alone. A set that is applied is applied whole: rows, events, blockers, counters, or none.
        New tasks get their `seq` in the order given. Order within a set: guards, changes, new tasks, edges, blockers,
        lifts, the rest; limits and counters last, in the order of their names, and after a limit has room again, what
        is parked on it is un-parked by `claiming.unpark`.
        """
        ...

    async def claim(self, plan: ClaimPlan) -> Claimed | Stale:
        """Take the best tasks of the plan's lanes that every ceiling allows, in one step.

        Reads no more rows than lanes + tasks taken + tasks set aside. Same choice as `claiming.choose`. A plan that
        `claiming.is_outdated` is stale: no claim is written whose lease began long before.
        """
        ...

    async def extend(self, beats: Sequence[Beat]) -> list[Extended]:
        """Apply `transitions.beat` to each row whose lease is the beat's. Writes no event and no version."""
        ...

    async def touch(self, touches: Sequence[Touch]) -> None:
        """Move `due_at`, and the lease's end where one is given, where `due_at` is still the one that was seen."""
        ...

    async def pulse(self, names: Sequence[str]) -> None:
        """Note that these (agent:ID, runtime:ID) were heard of now."""
        ...

    async def pulses(self, prefix: str) -> dict[str, Micros]: ...

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        """The ids of these lanes; new ones are added, which makes claim plans stale."""
        ...

    async def config(self, workspace: str, lanes_above: LaneId) -> Config: ...

    async def duty(self, name: str) -> Micros | None:
        """When the duty was last due; None where nobody has ever taken it."""
        ...

    async def take_duty(self, name: str, now: Micros, until: Micros) -> Micros | None:
        """Become the holder of a sweep's duty: its last time is answered to the one caller that moved it on.

        A next time that lies beyond `until`, by more than `clock_jump.TOLERANCE`, a wrong clock has set: it is past.
        """
        ...

    # Reads. Each sees one moment; two reads may see different ones, which is what versions are for.
    async def load(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]: ...
    async def definitions(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Definition]: ...
    async def labels(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Labels]:
        """What events are filtered by, without the rest of the definitions, which may be large."""
        ...

    async def outputs(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Output]: ...
    async def attempts(self, task_id: TaskId) -> list[Attempt]: ...
    async def histories(self, task_ids: Sequence[TaskId]) -> dict[TaskId, list[Attempt]]:
        """The attempts at many tasks; one without any is left out."""
        ...

    async def checkpoints(self, task_id: TaskId) -> list[Checkpoint]: ...
    async def signals(self, task_id: TaskId) -> list[Signal]: ...
    async def blockers(self, task_ids: Sequence[TaskId]) -> list[Blocker]: ...
    async def awaited(self, workspace: str, limit: int) -> list[Blocker]:
        """The signals that pending tasks wait for, the longest wait first. Reads no task that waits for none."""
        ...

    async def edges(self, parents: Sequence[TaskId]) -> list[Edge]:
        """The edges that leave these tasks."""
        ...

    async def graph(self, dag_id: DagId) -> Graph: ...
    async def stuck(self, dag_id: DagId) -> bool:
        """Whether nothing in the DAG can proceed: no task is ready, held, validating or retrying, nor pending on
        anything but tasks."""
        ...

    async def by_key(self, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]:
        """The live owner of each idempotency key."""
        ...

    async def record(self, kind: str, workspace: str, record_id: str) -> Record | None: ...
    async def named(self, kind: str, workspace: str, ids: Sequence[str]) -> dict[str, Record]:
        """Those of these records that are there, by their ids."""
        ...

    async def records(self, kind: str, workspace: str | None = None) -> list[Record]:
        """All of a kind. For kinds of which there are few: those that grow are read with `page`."""
        ...

    async def page(
        self, kind: str, workspace: str, *, prefix: str = "", below: str | None = None, limit: int
    ) -> list[Record]:
        """Those whose id begins so and comes before `below`, the highest id first, in the order of code points.

        Reads no more rows than it answers with: the next page is that below the last id of this one.
        """
        ...

    async def limits(self, workspace: str, names: Sequence[str] | None) -> dict[str, Limit]:
        """Those of these names that are stored; all of the workspace's where none are named."""
        ...

    async def counts(self, workspace: str, names: Sequence[str]) -> dict[str, int]: ...
    async def held(self, *, agent: AgentId | None = None, runtime: RuntimeId | None = None) -> list[Hot]: ...
    async def due(self, now: Micros, limit: int) -> list[Hot]: ...
    async def drifting(self, now: Micros, limit: int) -> list[Hot]:
        """Waiting tasks whose rank must be computed again."""
        ...

    async def prunable(
        self, before: Micros, limit: int, *, dead_too: bool, after: Cursor = FROM_THE_OLDEST
    ) -> Prunable:
        """All tasks of some DAGs, and lone tasks, that have been final since before then, those that ended first first.

        Looks at no more than `limit` final tasks behind the cursor and at the DAGs that these belong to, and answers
        with whole DAGs, so with more than `limit` tasks only where the last DAG is larger than what was left.
        """
        ...

    async def find(self, which: Filter, *, after: int, limit: int) -> list[Hot]:
        """Newest first, by `seq` below `after` (0: from the newest)."""
        ...

    async def tally(self, workspace: str) -> dict[tuple[Status, str], int]:
        """Tasks by status and type."""
        ...

    async def depth(self, workspace: str) -> dict[Status, int]:
        """How many tasks have not ended, by status. Reads none that has: it costs the same whatever the history is."""
        ...

    async def longest_ready(self, workspace: str) -> Hot | None:
        """Of the tasks that may be claimed, the one that came first."""
        ...

    async def ahead(self, lane: LaneId, rank: int, seq: int, limit: int) -> int:
        """How many ready tasks of the lane come before this place, counted up to the limit."""
        ...

    async def events(
        self, *, after: int, limit: int, workspace: str | None = None, task_id: TaskId | None = None
    ) -> list[StoredEvent]:
        """In order of sequence, none skipped. `EventsGone` where some of the workspace's after `after` were pruned.

        From 0 on, a reader gets what is kept. A task's events are kept for as long as the task is.
        """
        ...

    async def pruned(self, workspace: str | None = None) -> int:
        """The highest sequence number of an event that was pruned, there or anywhere; 0 where none was."""
        ...

    async def outbox(self, topic: str, limit: int) -> list[tuple[int, Outbox]]: ...
    async def prune_events(self, before: Micros, after: int, limit: int) -> int | None:
        """Remove events from before that time that are of no task and no DAG, of the next after the number `after`.

        At most so many of a workspace are looked at. The answer is the number to go on after; None: there are no more.
        """
        ...

    async def settle(self, outbox_ids: Sequence[int]) -> None:
        """These outbox rows were delivered."""
        ...

    async def changed(self, mark: int, timeout: float, plan: ClaimPlan | None = None) -> int:
        """Return when something may have been written since `mark`, by any process, or at the time-out.

        With the plan of a claim that found nothing, what cannot change its answer may be passed over.
        """
        ...

    async def health(self) -> dict[str, Json]:
        """Figures that whoever runs the store watches. `engine` names it; what it cannot tell is left out.

        Names end with their unit: `_bytes`, `_sec`, `_share` (from 0 to 1). The guide to operating explains them.
        """
        ...

    async def checks(self) -> list[str]:
        """What is wrong with the stored data as the engine sees it; empty when sound."""
        ...


@runtime_checkable
class OpensStore(Protocol):
    """Makes the store that a URL names; nothing is connected before `Store.open`.

    A package adds a store by an entry point of the group `taskyard.stores`, named by the scheme of its URLs.
    """

    def __call__(self, url: str, /, *, clock: Clock | None, migrates: bool, call_timeout: float) -> Store:
        """`clock` is given by tests; without it, the store decides what time it is. `migrates`: see `Store.open`."""
        ...
