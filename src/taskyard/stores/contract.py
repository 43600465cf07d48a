"""What every store promises.

The core decides; a store checks that nothing has changed, and writes. A store contains no rule about tasks but three:
claim, extend and lift, where the choice and the write must be atomic. Each of these leaves a task exactly as its pure
function in `core.transitions` would, and calls that function where it can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol, runtime_checkable

from taskyard.core.attempt_stream import StreamAppend, StreamAppended, StreamChunk, StreamPlace
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
    RecordChange,
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
from taskyard.stores.copies import Copy, CopyPlace, YardPart
from taskyard.stores.shared.migrations import State


class OutcomeUnknown(StoreUnavailable):
    """The answer to a write was lost. The write may be stored; a read shows whether it is."""


class Clock(Protocol):
    def now(self) -> Micros: ...


class Stale(NamedTuple):
    """The claim was planned on configuration or lanes that have changed since. Read them again."""

    epoch: int


class Claimed(NamedTuple):
    tasks: tuple[Hot, ...]  # in the order of plan.leases: the n-th has the n-th lease
    parked: int  # tasks that the claim parked, because a key is held or a budget is spent
    definitions: tuple[Definition, ...] = ()  # of these tasks, read in the same transaction
    took_all: bool = False  # nothing is left that more room under the agent's own ceilings would let it take


class Extended(NamedTuple):
    """The result of a heartbeat: the row after it, or the unchanged row if the lease is another's."""

    hot: Hot | None  # None: the task does not exist
    accepted: bool


class Cursor(NamedTuple):
    """A place among the final tasks, in the order in which they ended. What the numbers mean is the store's own."""

    major: int
    minor: int


FROM_THE_OLDEST = Cursor(0, 0)


class Prunable(NamedTuple):
    """A batch of tasks that may be removed, and where the next batch begins."""

    tasks: tuple[Hot, ...]
    cursor: Cursor | None  # None: no final task that is old enough follows


class Graph(NamedTuple):
    tasks: tuple[Hot, ...]
    edges: tuple[Edge, ...]


class Config(NamedTuple):
    """Everything that a claim is planned on, read on one snapshot."""

    epoch: int
    records: tuple[Record, ...]  # of the kinds in changes.PLANNED_ON
    lanes: Mapping[LaneId, Lane]  # the lanes with an id above the given one
    yard: str  # the yard's identity: it differs after the store was emptied or replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which tasks to list. All given conditions must match."""

    workspace: str
    statuses: frozenset[Status] = frozenset()
    types: frozenset[str] = frozenset()
    queue: str | None = None
    agent: str | None = None  # addressed to, or held by
    subject: str | None = None
    dag_id: str | None = None
    parent_id: str | None = None
    tag: str | None = None
    text: str | None = None  # found in title, prompt or payload
    reason: str | None = None  # that an attempt at it failed for
    since: Micros | None = None  # put in at this time or later
    until: Micros | None = None  # put in before this time
    oldest_first: bool = False  # else the newest come first

    def conditions(self) -> dict[str, str | Micros]:
        """Those of one value that are given, by the name of the field."""
        values = {name: getattr(self, name) for name in _ONE_VALUE}
        return {name: value for name, value in values.items() if value is not None}


_OTHERS = ("workspace", "statuses", "types", "oldest_first")
_ONE_VALUE = [each.name for each in fields(Filter) if each.name not in _OTHERS]


class Embedding(NamedTuple):
    """The vector of a task's text."""

    workspace: str
    task_id: TaskId
    type: str
    embedder: str  # what made the vector; vectors of one embedder have one length
    vector: Sequence[float]  # of length 1, so that the product of two is the cosine of their angle


class VectorQuery(NamedTuple):
    """Which vectors are searched, and for what."""

    workspace: str
    embedder: str
    vector: Sequence[float]
    limit: int
    types: Sequence[str] | None = None  # of tasks; None: all


class Near(NamedTuple):
    task_id: TaskId
    score: float  # the cosine: 1 is the same direction


class ExternalTransaction(Protocol):
    """The caller's own transaction on the yard's database. These methods never begin, commit or roll back."""

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]: ...
    async def by_key(self, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]: ...
    async def insert(self, tasks: Sequence[NewTask], blockers: Sequence[Blocker]) -> None: ...


class Store(Protocol):
    """The data of one yard. Coroutines of one event loop may share it; other processes may have the yard open too."""

    secret: bytes  # created with the yard, and known to all its processes
    pace: Pace

    def twin(self) -> Store | None:
        """Another store object for the same yard, not yet open, for another thread; None if that is not possible."""
        ...

    def join(self, connection: Any) -> ExternalTransaction:
        """Take part in a transaction of the caller; `InvalidInput` if this store cannot."""
        ...

    async def schema(self) -> State:
        """The stored schema and the schema of this release. It works before `open`, and changes nothing."""
        ...

    async def migrate(self) -> None:
        """Migrate the stored schema to this release, before `open`. Several processes may do so at once."""
        ...

    async def open(self) -> None:
        """Open the store, migrating it first. A store with `migrates=False` raises `SchemaTooOld` instead.

        A migration that shuts out the releases at work on the store waits for `migrate`: `MigrationNeedsStop`.
        """
        ...

    async def close(self) -> None: ...

    def now(self) -> Micros:
        """The store's time. It goes back only if the clock was set back by more than `clock_jump.TOLERANCE`."""
        ...

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        """Apply each set whose rows are all still at the version it was decided on. Answers the outcome of each set.

        Sets stand or fall alone. A set that is applied is applied whole: rows, events, blockers, counters, or none.
        New tasks get their `seq` in the order given. Order within a set: guards, changes, new tasks, edges, blockers,
        lifts, the rest; limits and counters last, in the order of their names. When a limit has room again, tasks that
        are parked on it are un-parked by `claiming.unpark`.
        """
        ...

    async def claim(self, plan: ClaimPlan) -> Claimed | Stale:
        """Take the best tasks of the plan's lanes that every ceiling allows, atomically.

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
        """Record that these agents and runtimes (agent:ID, runtime:ID) are alive now."""
        ...

    async def pulses(self, prefix: str) -> dict[str, Micros]: ...

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        """The ids of these lanes. New lanes are added, which makes claim plans stale."""
        ...

    async def config(self, workspace: str, lanes_above: LaneId) -> Config: ...

    async def duty(self, name: str) -> Micros | None:
        """When the duty was last due; None if no process has taken it yet."""
        ...

    async def take_duty(self, name: str, now: Micros, until: Micros) -> Micros | None:
        """Take a sweep's duty. Only the one caller that moved its time on gets an answer: the time before.

        A stored time beyond `until` by more than `clock_jump.TOLERANCE` came from a wrong clock, and counts as past.
        """
        ...

    # Reads. Each read sees one snapshot. Two reads may see different ones; versions detect that.
    async def load(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]: ...
    async def definitions(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Definition]: ...
    async def labels(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Labels]:
        """The fields that events are filtered by, without the rest of the definitions, which may be large."""
        ...

    async def outputs(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Output]: ...
    async def attempts(self, task_id: TaskId) -> list[Attempt]: ...
    async def histories(self, task_ids: Sequence[TaskId]) -> dict[TaskId, list[Attempt]]:
        """The attempts of many tasks. A task without attempts is left out."""
        ...

    async def checkpoints(self, task_id: TaskId) -> list[Checkpoint]: ...
    async def signals(self, task_id: TaskId) -> list[Signal]: ...
    async def blockers(self, task_ids: Sequence[TaskId]) -> list[Blocker]: ...
    async def awaited(self, workspace: str, limit: int) -> list[Blocker]:
        """The signals that pending tasks wait for, the longest wait first. Reads no other task."""
        ...

    async def edges(self, parents: Sequence[TaskId]) -> list[Edge]:
        """The edges that leave these tasks."""
        ...

    async def graph(self, dag_id: DagId) -> Graph: ...
    async def begun(self, dag_ids: Sequence[DagId]) -> set[DagId]:
        """Those of these DAGs of which a task was ever claimed."""
        ...

    async def stuck(self, dag_id: DagId) -> bool:
        """Whether nothing in the DAG can proceed: no task is ready, held, validating or retrying, nor pending on
        anything but tasks."""
        ...

    async def by_key(self, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]:
        """The live owner of each idempotency key."""
        ...

    async def record(self, kind: str, workspace: str, record_id: str) -> Record | None: ...
    async def named(self, kind: str, workspace: str, ids: Sequence[str]) -> dict[str, Record]:
        """Those of these records that exist, by id."""
        ...

    async def records(self, kind: str, workspace: str | None = None) -> list[Record]:
        """All records of a kind, for kinds with few records. Kinds that grow are read with `page`."""
        ...

    async def page(
        self, kind: str, workspace: str, *, prefix: str = "", below: str | None = None, limit: int
    ) -> list[Record]:
        """The records whose id begins with the prefix and comes before `below`, highest id first, by code points.

        Reads no more rows than it answers. The next page is the one below the last id of this page.
        """
        ...

    async def limits(self, workspace: str, names: Sequence[str] | None) -> dict[str, Limit]:
        """The stored limits of these names, or all limits of the workspace."""
        ...

    async def counts(self, workspace: str, names: Sequence[str]) -> dict[str, int]: ...
    async def held(self, *, agent: AgentId | None = None, runtime: RuntimeId | None = None) -> list[Hot]: ...
    async def held_under(self, agent: AgentId, stems: Sequence[str]) -> list[Hot]:
        """What the agent holds under leases with these sealed stems."""
        ...

    async def due(self, now: Micros, limit: int) -> list[Hot]: ...
    async def drifting(self, now: Micros, limit: int) -> list[Hot]:
        """Waiting tasks whose rank must be recomputed."""
        ...

    async def prunable(
        self, before: Micros, limit: int, *, dead_too: bool, after: Cursor = FROM_THE_OLDEST
    ) -> Prunable:
        """Tasks that have been final since before then, as whole DAGs and single tasks, the oldest end first.

        Reads no more than `limit` final tasks behind the cursor, and the DAGs that these belong to. DAGs are answered
        whole, so the answer exceeds `limit` only by the rest of its last DAG.
        """
        ...

    async def find(self, which: Filter, *, after: int, limit: int) -> list[Hot]:
        """Newest first, by `seq` below `after`; with `oldest_first` above it. 0: from the first one."""
        ...

    async def tally(self, workspace: str) -> dict[tuple[Status, str], int]:
        """Tasks by status and type."""
        ...

    async def depth(self, workspace: str) -> dict[Status, int]:
        """The number of unfinished tasks by status. Its cost does not grow with finished tasks."""
        ...

    async def longest_ready(self, workspace: str) -> Hot | None:
        """The ready task that was enqueued first."""
        ...

    async def first_ready(self, lanes: Sequence[LaneId], limit: int) -> list[Hot]:
        """The ready tasks of each lane that come first, by rank and then by `seq`: at most `limit` of each lane.

        Reads no more rows than lanes and tasks that it answers.
        """
        ...

    async def ahead(self, lane: LaneId, rank: int, seq: int, limit: int) -> int:
        """How many ready tasks of the lane come before this place, counted up to the limit."""
        ...

    async def events(
        self, *, after: int, limit: int, workspace: str | None = None, task_id: TaskId | None = None
    ) -> list[StoredEvent]:
        """Events in order of sequence, none skipped. `EventsGone` if events of the workspace after `after` were pruned.

        With `after` 0, a reader gets all kept events. A task's events are kept as long as the task. Sequence numbers
        grow, with gaps that mean nothing: `after` need not be the number of an event.
        """
        ...

    async def events_of(self, task_ids: Sequence[TaskId]) -> list[StoredEvent]:
        """All events of a few tasks, in order of sequence. No row of the log is read twice for them."""
        ...

    async def newest_events(
        self, *, limit: int, below: int | None = None, workspace: str | None = None, task_id: TaskId | None = None
    ) -> list[StoredEvent]:
        """The last kept events, newest first, of those with a number below the given one."""
        ...

    async def pruned(self, workspace: str | None = None) -> int:
        """The highest sequence number of a pruned event, of the workspace or of all; 0 if none was pruned."""
        ...

    async def outbox(self, topic: str, limit: int) -> list[tuple[int, Outbox]]: ...
    async def prune_events(self, before: Micros, after: int, limit: int) -> int | None:
        """Remove events from before that time that belong to no task and no DAG, beginning after the number `after`.

        It reads at most `limit` events. Answers the number to continue after; None: no such event follows.
        """
        ...

    async def settle(self, outbox_ids: Sequence[int]) -> None:
        """These outbox rows were delivered."""
        ...

    async def keep_embeddings(self, embeddings: Sequence[Embedding]) -> None:
        """Store these vectors in place of those of the same task and embedder. Tasks that do not exist are left out.

        A vector is removed with its task.
        """
        ...

    async def nearest(self, query: VectorQuery) -> list[Near]:
        """The tasks with the nearest vectors, nearest first; equally near ones by id."""
        ...

    async def embedded(self, workspace: str, embedder: str, task_ids: Sequence[TaskId]) -> set[TaskId]:
        """Those of these tasks that have a vector of this embedder."""
        ...

    async def embedding_counts(self, workspace: str) -> dict[str, int]:
        """How many vectors the workspace has, by embedder."""
        ...

    # Streams, beside the log.

    async def append_streams(self, appends: Sequence[StreamAppend]) -> list[StreamAppended]:
        """Append to each attempt's stream what `attempt_stream.appended` gives, if `attempt_stream.may_append`.

        Appends stand or fall alone. Chunks and events of one append are stored together, without a version. Where
        there is no event, only waiters of `streamed` are woken.
        """
        ...

    async def stream(self, task_id: TaskId, after: StreamPlace, limit: int) -> list[StreamChunk]:
        """The chunks of a task behind this place, in order."""
        ...

    async def prune_streams(self, before: Micros, after: str, limit: int) -> str | None:
        """Remove the streams of tasks that are gone, or have been final since before then.

        It looks at `limit` tasks behind the place `after` (at first ''). Answers where to continue; None: at the end.
        """
        ...

    async def streamed(self, mark: int, timeout: float, task_id: TaskId | None = None) -> int:
        """Return when any process may have appended to the task's stream, or any, since `mark`, or at the time-out."""
        ...

    async def changed(self, mark: int, timeout: float, plan: ClaimPlan | None = None, *, took_all: bool = False) -> int:
        """Return when any process may have written something since `mark`, or at the time-out.

        With the plan of a claim that found nothing, writes that cannot change its answer may be ignored; also those
        that make room under the agent's own ceilings, if the claim took all there was.
        """
        ...

    async def health(self) -> dict[str, Json]:
        """Figures for operators. `engine` names the store; figures that it does not know are left out.

        Names end with their unit: `_bytes`, `_sec`, `_share` (from 0 to 1). The guide to operating explains them.
        """
        ...

    async def checks(self) -> list[str]:
        """Problems of the stored data that the store finds; empty if there are none."""
        ...

    # Copies, with which a yard moves to another store.

    async def dump(self, part: YardPart, after: CopyPlace, limit: int) -> list[Copy]:
        """The copies of a part behind this place, in its order (`copies.place_of`, texts by code points).

        The history of a task follows it, and is not counted: attempts, output, checkpoints, signals, blockers, edges
        that leave it, each in order. Events whose task or DAG is gone are left out.
        """
        ...

    async def restore(self, copies: Sequence[Copy], progress: RecordChange) -> bool:
        """Write these copies as they are, and the record with them, or nothing. False: that record has changed.

        Nothing follows from a copy: no event, no task that becomes ready. Tasks get their `seq` in the order given;
        each comes in one call with its history. Events come after their tasks. They keep their numbers, which are above
        all that are stored; those of a block of `copies.EVENT_BLOCK` numbers come in one call.
        """
        ...


@runtime_checkable
class OpensStore(Protocol):
    """Makes the store that a URL names; nothing is connected before `Store.open`.

    A package adds a store by an entry point of the group `taskyard.stores`, named by the scheme of its URLs.
    """

    def __call__(self, url: str, /, *, clock: Clock | None, migrates: bool, call_timeout: float) -> Store:
        """`clock` is given by tests; without it, the store decides what time it is. `migrates`: see `Store.open`."""
        ...
