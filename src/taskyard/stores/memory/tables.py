"""The rows of a yard in dicts, and the functions that write them.

This module checks no guard, reads no clock and never awaits. Its callers check first, so no reader sees a set that is
partly written.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from taskyard.core import claiming, transitions
from taskyard.core.attempt_stream import StreamChunk
from taskyard.core.changes import (
    PLANNED_ON,
    Blocker,
    Change,
    Checkpoint,
    Count,
    Edge,
    Event,
    Limit,
    Outbox,
    Output,
    Record,
    RecordChange,
    Signal,
    Spend,
    StoredEvent,
)
from taskyard.core.identifiers import blocker_for, dag_ceiling, is_of_dag, is_own_ceiling
from taskyard.core.json_value import Json
from taskyard.core.task import KEY_HELD, LET_GO, Attempt, DagId, Definition, Hot, Lane, LaneId, Status, TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.stores.contract import Embedding, Filter
from taskyard.stores.shared.commits.change_sets import owned_key
from taskyard.stores.shared.filters import has_failed_for, matches
from taskyard.stores.shared.waiters import ceiling_topic, lane_topic, plan_topic


def copied(record: Record) -> Record:
    """A copy that the reader may change. `copy.deepcopy`, which is not limited to JSON, takes several times as long."""
    return record._replace(body={name: _copied(each) for name, each in record.body.items()})


def _copied(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _copied(each) for name, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list) else value


class Tables:
    def __init__(self) -> None:
        self.hot: dict[TaskId, Hot] = {}  # in the order of seq, since a row keeps its place when it is replaced
        self.definitions: dict[TaskId, Definition] = {}
        self.outputs: dict[TaskId, Output] = {}
        self.attempts: dict[TaskId, dict[int, Attempt]] = {}
        self.checkpoints: dict[TaskId, dict[str, Checkpoint]] = {}
        self.signals: dict[TaskId, list[Signal]] = {}
        self.embeddings: dict[TaskId, dict[str, Embedding]] = {}  # by embedder
        self.streams: dict[TaskId, list[StreamChunk]] = {}  # in the order of their places
        self.edges: dict[TaskId, set[Edge]] = {}  # by parent
        self.records: dict[tuple[str, str, str], Record] = {}
        self.limits: dict[tuple[str, str], Limit] = {}
        self.counters: dict[tuple[str, str], int] = {}
        self.lanes: dict[Lane, LaneId] = {}
        self.epochs: Counter[str] = Counter()  # by workspace
        self.pulses: dict[str, Micros] = {}
        self.duties: dict[str, Micros] = {}
        self.events: list[StoredEvent] = []
        self.pruned: dict[str, int] = {}  # by workspace: the number of the last removed event
        self.outbox: dict[int, Outbox] = {}
        self.topics: set[str] = set()  # what waiting claims are woken for at the end of the write

        # Indexes. Written by put_task, block, write_record and the functions that undo these.
        self.keys: dict[tuple[str, str], TaskId] = {}
        self.ready: defaultdict[LaneId, list[tuple[int, int, TaskId]]] = defaultdict(list)  # by rank, then seq
        self.blocking: dict[str, set[Blocker]] = {}
        self.blocked: dict[TaskId, set[Blocker]] = {}
        self.record_ids: defaultdict[tuple[str, str], list[str]] = defaultdict(list)  # by kind and workspace, in order

        self._last_seq = 0
        self._last_event = 0
        self._last_outbox = 0

    def put_task(self, hot: Hot) -> None:
        if (stored := self.hot.get(hot.id)) is not None:
            self._unindex(stored)
        self.hot[hot.id] = hot
        if (key := owned_key(hot)) is not None:
            self.keys[key] = hot.id
        if hot.status is Status.READY:
            insort(self.ready[hot.lane], (hot.rank, hot.seq, hot.id))
            self.topics.add(lane_topic(hot.lane))

    def apply(self, change: Change) -> Hot:
        """Write only the fields that the change differs in, so that a heartbeat since the decision is kept.

        A task that is not held any more keeps nothing that heartbeats write.
        """
        pairs = zip(Hot._fields, change.before, change.after, strict=True)
        moved: dict[str, Any] = {name: value for name, was, value in pairs if value != was}
        gone = {} if change.after.status in KEY_HELD else LET_GO
        after = self.hot[change.before.id]._replace(**gone | moved)
        self.put_task(after)
        return after

    def insert(self, hot: Hot, definition: Definition) -> None:
        self._last_seq += 1
        self.put_task(hot._replace(seq=self._last_seq))
        self.definitions[hot.id] = definition

    def add_events(self, events: Iterable[Event]) -> None:
        for event in events:
            self._last_event += 1
            self.events.append(StoredEvent(self._last_event, event))

    def reserve_events(self, through: int) -> None:
        self._last_event = max(self._last_event, through)

    def add_outbox(self, outbox: Outbox) -> None:
        self._last_outbox += 1
        self.outbox[self._last_outbox] = outbox

    def lane_id(self, lane: Lane) -> LaneId:
        if lane not in self.lanes:
            self.lanes[lane] = LaneId(len(self.lanes) + 1)
            self._bump_epoch(lane.workspace)
        return self.lanes[lane]

    def write_record(self, change: RecordChange) -> None:
        key = change.kind, change.workspace, change.id
        if change.body is None:
            self.remove_record(key)
            self._note_plan(change.kind, change.workspace)
        else:
            self.put_record(Record(*key, change.version + 1, change.body))

    def put_record(self, record: Record) -> None:
        key = record.kind, record.workspace, record.id
        if key not in self.records:
            insort(self.record_ids[record.kind, record.workspace], record.id)
        # A copy, as in a database: later changes of the caller's dict are not stored.
        self.records[key] = copied(record)
        self._note_plan(record.kind, record.workspace)

    def _note_plan(self, kind: str, workspace: str) -> None:
        if kind in PLANNED_ON:
            self._bump_epoch(workspace)

    def _bump_epoch(self, workspace: str) -> None:
        self.epochs[workspace] += 1
        self.topics.add(plan_topic(workspace))

    def remove_record(self, key: tuple[str, str, str]) -> None:
        if self.records.pop(key, None) is not None:
            ids = self.record_ids[key[:2]]
            del ids[bisect_left(ids, key[2])]

    # Blockers.

    def block(self, blocker: Blocker) -> None:
        self.blocking.setdefault(blocker.name, set()).add(blocker)
        self.blocked.setdefault(blocker.task_id, set()).add(blocker)

    def waits_for(self, task_id: TaskId) -> list[Blocker]:
        """The blockers of the task's current wait."""
        hot = self.hot.get(task_id)
        return [] if hot is None else [each for each in self.blocked.get(task_id, ()) if each.wait == hot.wait]

    def lists(self, which: Filter, hot: Hot, after: int) -> bool:
        """Whether a list behind this number has the task."""
        is_behind = after == 0 or (hot.seq > after if which.oldest_first else hot.seq < after)
        return (
            is_behind
            and matches(which, hot, self.definitions[hot.id])
            and has_failed_for(which.reason, self.attempts.get(hot.id, {}).values())
        )

    def lift(self, blockers: Iterable[Blocker], at: Micros) -> list[Change]:
        """Remove these blockers. A pending task without a blocker becomes ready."""
        lifted = sorted(blockers)
        for blocker in lifted:
            self._unblock(blocker)
        changes: list[Change] = []
        for task_id in dict.fromkeys(blocker.task_id for blocker in lifted):
            hot = self.hot.get(task_id)
            if hot is not None and hot.status is Status.PENDING and not self.waits_for(task_id):
                changes.append(transitions.ready(hot, now=at))
                self.put_task(changes[-1].after)
        return changes

    def unpark(self, limit: Limit, at: Micros) -> list[Change]:
        """Make parked tasks ready, as far as the ceiling has room."""
        name = blocker_for(limit.name)
        if name is None:
            return []
        # The name of a key or a budget does not contain the workspace: another workspace may use the same name.
        parked = {
            each.task_id: each
            for each in self.blocking.get(name, ())
            if (hot := self.hot.get(each.task_id)) is not None
            and (hot.workspace, hot.status, hot.wait) == (limit.workspace, Status.PENDING, each.wait)
        }
        reserve = self._default_reserve(limit.workspace)
        chosen = claiming.unpark(limit, [self.hot[task_id] for task_id in parked], reserve)
        return [change for task_id in chosen for change in self.lift([parked[task_id]], at)]

    # Ceilings and counters.

    def limit(self, workspace: str, name: str) -> Limit:
        return self.limits.get((workspace, name), Limit(workspace, name, None, 0, 0))

    def set_limit(self, limit: Limit) -> None:
        if limit.ceiling is None and not limit.held and not limit.spent:
            self.limits.pop((limit.workspace, limit.name), None)
        else:
            self.limits[limit.workspace, limit.name] = limit

    def spend(self, spend: Spend) -> None:
        limit = self.limit(spend.workspace, spend.name)
        self.set_limit(limit._replace(held=limit.held + spend.held, spent=limit.spent + spend.spent))
        if (spend.held < 0 or spend.spent < 0) and is_own_ceiling(spend.name):
            self.topics.add(ceiling_topic(spend.workspace, spend.name))

    def count(self, count: Count) -> None:
        key = count.workspace, count.name
        value = count.add if count.clear else self.counters.get(key, 0) + count.add
        if value:
            self.counters[key] = value
        else:
            self.counters.pop(key, None)

    # Removal.

    def remove(self, task_ids: Collection[TaskId]) -> None:
        """Remove the tasks and everything that belongs only to them."""
        gone = {task_id: self.hot.pop(task_id) for task_id in task_ids if task_id in self.hot}
        for hot in gone.values():
            self._remove_rows(hot)
        dags = {(hot.workspace, hot.dag_id) for hot in gone.values() if hot.dag_id is not None}
        for workspace, dag_id in dags:
            self._remove_dag(workspace, dag_id)
        self.edges = {
            parent: kept
            for parent, edges in self.edges.items()
            if parent not in gone and (kept := {edge for edge in edges if edge.child not in gone})
        }
        self.outbox = {number: row for number, row in self.outbox.items() if row.task_id not in gone}
        for key, record in list(self.records.items()):
            if record.kind == "dead" and str(record.body.get("task_id")) in gone:
                self.remove_record(key)
        self.remove_events(self._events_of(gone, dags))

    def _remove_rows(self, hot: Hot) -> None:
        self._unindex(hot)
        for table in (self.definitions, self.outputs, self.attempts, self.checkpoints, self.signals, self.embeddings):
            table.pop(hot.id, None)
        for blocker in list(self.blocked.get(hot.id, ())):
            self._unblock(blocker)

    def _remove_dag(self, workspace: str, dag_id: DagId) -> None:
        self.remove_record(("dag", workspace, dag_id))
        self.limits.pop((workspace, dag_ceiling(dag_id)), None)
        for key in [key for key in self.counters if key[0] == workspace and is_of_dag(key[1], dag_id)]:
            del self.counters[key]

    def _events_of(self, gone: Collection[TaskId], dags: Collection[tuple[str, DagId]]) -> list[StoredEvent]:
        return [
            stored
            for stored in self.events
            if stored.event.task_id in gone
            or (stored.event.task_id is None and (stored.event.workspace, stored.event.dag_id) in dags)
        ]

    def remove_events(self, doomed: Sequence[StoredEvent]) -> None:
        for seq, event, _ in doomed:
            self.pruned[event.workspace] = max(self.pruned.get(event.workspace, 0), seq)
        gone = {stored.seq for stored in doomed}
        self.events = [stored for stored in self.events if stored.seq not in gone]

    def _unindex(self, hot: Hot) -> None:
        key = owned_key(hot)
        # Another task of the same set may own the key already.
        if key is not None and self.keys.get(key) == hot.id:
            del self.keys[key]
        if hot.status is Status.READY:
            lane = self.ready[hot.lane]
            del lane[bisect_left(lane, (hot.rank, hot.seq, hot.id))]

    def _unblock(self, blocker: Blocker) -> None:
        named, of_task = self.blocking[blocker.name], self.blocked[blocker.task_id]
        named.discard(blocker)
        of_task.discard(blocker)
        if not named:
            del self.blocking[blocker.name]
        if not of_task:
            del self.blocked[blocker.task_id]

    def _default_reserve(self, workspace: str) -> MicroUsd:
        record = self.records.get(("workspace", workspace, workspace))
        reserve = None if record is None else record.body.get("default_reserve")
        return MicroUsd(reserve if isinstance(reserve, int) else 0)
