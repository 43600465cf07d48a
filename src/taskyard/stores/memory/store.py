"""A yard in the memory of one process.

The other stores are compared with this one, so it is simple before it is fast. No operation awaits between its first
read and its last write, which makes it atomic on one event loop.
"""

from __future__ import annotations

import secrets
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

from taskyard.core import claiming
from taskyard.core.changes import (
    PLANNED_ON,
    Beat,
    Blocker,
    ChangeSet,
    Checkpoint,
    Committed,
    Conflict,
    Edge,
    Labels,
    Limit,
    Outbox,
    Output,
    Record,
    RecordChange,
    Signal,
    StoredEvent,
    Taken,
    Touch,
    is_prunable,
)
from taskyard.core.clock_jump import is_due, time_of
from taskyard.core.errors import EventsGone, InvalidInput, YardClosed
from taskyard.core.identifiers import blocker_name, is_signal
from taskyard.core.json_value import Json
from taskyard.core.lease import sealed_stem
from taskyard.core.task import (
    FINAL,
    HELD,
    WAITING,
    AgentId,
    Attempt,
    DagId,
    Definition,
    Hot,
    Lane,
    LaneId,
    RuntimeId,
    Status,
    TaskId,
)
from taskyard.core.units import Micros
from taskyard.stores.contract import (
    FROM_THE_OLDEST,
    Claimed,
    Clock,
    Config,
    Cursor,
    Embedding,
    Extended,
    ExternalTransaction,
    Filter,
    Graph,
    Near,
    Prunable,
    Stale,
    VectorQuery,
)
from taskyard.stores.copies import Copy, CopyPlace, YardPart, YardSecret, copies_of
from taskyard.stores.memory import transfer
from taskyard.stores.memory.commits import commit_set, counts_moved
from taskyard.stores.memory.streams import MemoryStreams
from taskyard.stores.memory.tables import Tables, copied
from taskyard.stores.shared import prune_batches, vectors
from taskyard.stores.shared.commits.change_sets import check_consistency
from taskyard.stores.shared.heartbeat_batches import apply_heartbeats
from taskyard.stores.shared.identity import yard_identity
from taskyard.stores.shared.migrations import Schemaless
from taskyard.stores.shared.paging import page_range

Value = TypeVar("Value")


class MemoryStore(MemoryStreams, Schemaless):
    pace = claiming.Pace()

    def __init__(self, *, clock: Clock, secret: bytes | None = None) -> None:
        self.secret = secrets.token_bytes(32) if secret is None else secret
        self._clock = clock
        self._latest = Micros(0)
        self._rows = Tables()
        self._closed = False
        super().__init__()

    @property
    def _tables(self) -> Tables:
        if self._closed:
            raise YardClosed
        return self._rows

    def twin(self) -> None:
        """None: the tables belong to one event loop."""
        return

    def join(self, connection: object) -> ExternalTransaction:
        del connection
        raise InvalidInput("connection", "must be to a SQLite or PostgreSQL yard: one in memory has no transactions")

    async def open(self) -> None:
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        self.wake_all()  # no write can follow

    def now(self) -> Micros:
        self._latest = time_of(self._latest, self._clock.now())
        return self._latest

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        tables, now = self._tables, self.now()
        for each in sets:
            check_consistency(each)
        answers = [commit_set(tables, each, now) for each in sets]
        if any(isinstance(answer, Committed) for answer in answers):
            self._wrote()
        return [
            answer._replace(counts=counts_moved(tables, each)) if isinstance(answer, Committed) else answer
            for each, answer in zip(sets, answers, strict=True)
        ]

    async def claim(self, plan: claiming.ClaimPlan) -> Claimed | Stale:
        tables = self._tables
        if plan.epoch != tables.epochs[plan.workspace] or claiming.is_outdated(plan, self.now()):
            return Stale(tables.epochs[plan.workspace])
        rows = {lane.id: (tables.hot[task_id] for _, _, task_id in tables.ready[lane.id]) for lane in plan.lanes}
        limit_of = partial(tables.limit, plan.workspace)
        taken, parked, spends, took_all = claiming.choose(plan, rows, limit_of)
        tasks = tuple(tables.apply(change) for change in taken)
        claimed = Claimed(tasks, len(parked), tuple(tables.definitions[hot.id] for hot in tasks), took_all)
        for change, blocker in parked:
            tables.apply(change)
            tables.block(blocker)
        for spend in spends:
            tables.spend(spend)
        eased = [tables.limit(plan.workspace, spend.name) for spend in spends if claiming.eases(spend)]
        unparked = [change for limit in eased for change in tables.unpark(limit, plan.now)]
        tables.add_events(change.event for change in (*taken, *(change for change, _ in parked), *unparked))
        if taken or parked:
            self._wrote()
        return claimed

    async def extend(self, beats: Sequence[Beat]) -> list[Extended]:
        tables = self._tables
        found = _select(tables.hot, [beat.task_id for beat in beats]).values()
        answers, steps = apply_heartbeats(beats, found, self.now())
        if any(answer.accepted for answer in answers):
            for _, after in steps:
                tables.put_task(after)
            self._wrote()
        return answers

    async def touch(self, touches: Sequence[Touch]) -> None:
        tables = self._tables
        for touch in touches:
            hot = tables.hot.get(touch.task_id)
            if hot is not None and hot.due_at == touch.seen:
                expires = hot.lease_expires_at if touch.lease_expires_at is None else touch.lease_expires_at
                tables.put_task(hot._replace(due_at=touch.due_at, lease_expires_at=expires))
        self._wrote()

    async def pulse(self, names: Sequence[str]) -> None:
        self._tables.pulses.update(dict.fromkeys(names, self.now()))
        self._wrote()

    async def pulses(self, prefix: str) -> dict[str, Micros]:
        return {name: at for name, at in self._tables.pulses.items() if name.startswith(prefix)}

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        tables = self._tables
        known = len(tables.lanes)
        ids = [tables.lane_id(lane) for lane in lanes]
        if len(tables.lanes) > known:
            self._wrote()
        return ids

    async def config(self, workspace: str, lanes_above: LaneId) -> Config:
        tables = self._tables
        records = self._records(lambda record: record.workspace == workspace and record.kind in PLANNED_ON)
        lanes = {
            number: lane
            for lane, number in tables.lanes.items()
            if lane.workspace == workspace and number > lanes_above
        }
        return Config(tables.epochs[workspace], tuple(records), lanes, yard_identity(self.secret))

    async def duty(self, name: str) -> Micros | None:
        return self._tables.duties.get(name)

    async def take_duty(self, name: str, now: Micros, until: Micros) -> Micros | None:
        duties = self._tables.duties
        last = duties.get(name, Micros(0))
        if not is_due(last, now, until):
            return None
        duties[name] = until
        self._wrote()
        return last

    # Reads.

    async def load(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
        return _select(self._tables.hot, task_ids)

    async def definitions(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Definition]:
        return _select(self._tables.definitions, task_ids)

    async def labels(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Labels]:
        found = _select(self._tables.definitions, task_ids)
        return {task_id: Labels(each.type, each.subject, each.agent) for task_id, each in found.items()}

    async def outputs(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Output]:
        return _select(self._tables.outputs, task_ids)

    async def attempts(self, task_id: TaskId) -> list[Attempt]:
        return sorted(self._tables.attempts.get(task_id, {}).values(), key=lambda attempt: attempt.number)

    async def histories(self, task_ids: Sequence[TaskId]) -> dict[TaskId, list[Attempt]]:
        return {task_id: await self.attempts(task_id) for task_id in task_ids if task_id in self._tables.attempts}

    async def checkpoints(self, task_id: TaskId) -> list[Checkpoint]:
        return list(self._tables.checkpoints.get(task_id, {}).values())

    async def signals(self, task_id: TaskId) -> list[Signal]:
        return list(self._tables.signals.get(task_id, ()))

    async def blockers(self, task_ids: Sequence[TaskId]) -> list[Blocker]:
        blocked = self._tables.blocked
        return sorted(blocker for task_id in set(task_ids) for blocker in blocked.get(task_id, ()))

    async def awaited(self, workspace: str, limit: int) -> list[Blocker]:
        tables = self._tables
        names = [name for name in tables.blocking if is_signal(name)]
        found = [
            (hot.updated_at, blocker)
            for name in names
            for blocker in tables.blocking[name]
            if (hot := tables.hot.get(blocker.task_id)) is not None
            and (hot.workspace, hot.status, hot.wait) == (workspace, Status.PENDING, blocker.wait)
        ]
        return [blocker for _, blocker in sorted(found)[:limit]]

    async def edges(self, parents: Sequence[TaskId]) -> list[Edge]:
        return sorted(edge for parent in set(parents) for edge in self._tables.edges.get(parent, ()))

    async def graph(self, dag_id: DagId) -> Graph:
        tasks = self._tasks_where(lambda hot: hot.dag_id == dag_id)
        return Graph(tuple(tasks), tuple(await self.edges([hot.id for hot in tasks])))

    async def begun(self, dag_ids: Sequence[DagId]) -> set[DagId]:
        return {hot.dag_id for hot in self._tables.hot.values() if hot.attempt and hot.dag_id} & set(dag_ids)

    async def stuck(self, dag_id: DagId) -> bool:
        tables = self._tables
        tasks = self._tasks_where(lambda hot: hot.dag_id == dag_id and not hot.status.is_final)
        return all(hot.status is Status.PENDING and _waits_for_tasks(tables, hot) for hot in tasks)

    async def by_key(self, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]:
        return {key: owner for key in keys if (owner := self._tables.keys.get((workspace, key))) is not None}

    async def record(self, kind: str, workspace: str, record_id: str) -> Record | None:
        found = self._tables.records.get((kind, workspace, record_id))
        return None if found is None else copied(found)

    async def named(self, kind: str, workspace: str, ids: Sequence[str]) -> dict[str, Record]:
        records = self._tables.records
        return {each: copied(found) for each in ids if (found := records.get((kind, workspace, each))) is not None}

    async def records(self, kind: str, workspace: str | None = None) -> list[Record]:
        return self._records(lambda record: record.kind == kind and workspace in (None, record.workspace))

    async def page(
        self, kind: str, workspace: str, *, prefix: str = "", below: str | None = None, limit: int
    ) -> list[Record]:
        tables, which = self._tables, page_range(prefix, below, limit)
        ids = tables.record_ids.get((kind, workspace), [])
        last = len(ids) if which.end is None else bisect_left(ids, which.end)
        first = max(bisect_left(ids, which.first), last - limit)
        return [copied(tables.records[kind, workspace, each]) for each in reversed(ids[first:last])]

    async def limits(self, workspace: str, names: Sequence[str] | None) -> dict[str, Limit]:
        limits = self._tables.limits
        if names is None:
            return {name: limit for (owner, name), limit in limits.items() if owner == workspace}
        return {name: limits[workspace, name] for name in names if (workspace, name) in limits}

    async def counts(self, workspace: str, names: Sequence[str]) -> dict[str, int]:
        counters = self._tables.counters
        return {name: counters[workspace, name] for name in names if (workspace, name) in counters}

    async def held(self, *, agent: AgentId | None = None, runtime: RuntimeId | None = None) -> list[Hot]:
        return self._tasks_where(
            lambda hot: hot.status in HELD and agent in (None, hot.agent) and runtime in (None, hot.runtime)
        )

    async def held_under(self, agent: AgentId, stems: Sequence[str]) -> list[Hot]:
        wanted = frozenset(stems)
        return [hot for hot in await self.held(agent=agent) if sealed_stem(hot.lease or "") in wanted]

    async def due(self, now: Micros, limit: int) -> list[Hot]:
        found = [(hot.due_at, hot.seq, hot) for hot in self._tables.hot.values() if _is_past(hot.due_at, now)]
        return [hot for _, _, hot in sorted(found)[:limit]]

    async def drifting(self, now: Micros, limit: int) -> list[Hot]:
        waiting = self._tasks_where(lambda hot: hot.status in WAITING and _is_past(hot.rescore_at, now))
        return [hot for _, _, hot in sorted((hot.rescore_at, hot.seq, hot) for hot in waiting)[:limit]]

    async def prunable(
        self, before: Micros, limit: int, *, dead_too: bool, after: Cursor = FROM_THE_OLDEST
    ) -> Prunable:
        ends = FINAL if dead_too else FINAL - {Status.DEAD_LETTERED}
        old = self._tasks_where(lambda hot: hot.status in ends and hot.updated_at < before)
        behind = sorted((hot.updated_at, hot.seq, hot) for hot in old if (hot.updated_at, hot.seq) > after)
        dags: dict[DagId, list[Hot]] = {}
        for hot in self._tables.hot.values():
            if hot.dag_id is not None:
                dags.setdefault(hot.dag_id, []).append(hot)
        candidates = [
            prune_batches.Candidate(hot.updated_at, hot.seq, hot.id, hot.dag_id) for _, _, hot in behind[:limit]
        ]
        sizes = {
            dag_id: len(group)
            for dag_id, group in dags.items()
            if all(hot.status in ends and hot.updated_at < before for hot in group)
        }
        alone, over, cursor = prune_batches.choose_batch(candidates, sizes, limit)
        found = [self._tables.hot[task_id] for task_id in alone] + [hot for dag_id in over for hot in dags[dag_id]]
        return Prunable(tuple(found), cursor)

    async def find(self, which: Filter, *, after: int, limit: int) -> list[Hot]:
        found = self._tasks_where(lambda hot: self._tables.lists(which, hot, after))
        return found[:limit] if which.oldest_first else found[::-1][:limit]

    async def tally(self, workspace: str) -> dict[tuple[Status, str], int]:
        definitions = self._tables.definitions
        tasks = self._tasks_where(lambda hot: hot.workspace == workspace)
        return dict(Counter((hot.status, definitions[hot.id].type) for hot in tasks))

    async def depth(self, workspace: str) -> dict[Status, int]:
        live = self._tasks_where(lambda hot: hot.workspace == workspace and not hot.status.is_final)
        return dict(Counter(hot.status for hot in live))

    async def longest_ready(self, workspace: str) -> Hot | None:
        ready = self._tasks_where(lambda hot: hot.workspace == workspace and hot.status is Status.READY)
        return min(ready, key=lambda hot: hot.seq, default=None)

    async def first_ready(self, lanes: Sequence[LaneId], limit: int) -> list[Hot]:
        tables = self._tables
        return [tables.hot[task_id] for lane in lanes for _, _, task_id in tables.ready.get(lane, [])[:limit]]

    async def ahead(self, lane: LaneId, rank: int, seq: int, limit: int) -> int:
        return min(limit, bisect_left(self._tables.ready.get(lane, []), (rank, seq)))

    async def events(
        self, *, after: int, limit: int, workspace: str | None = None, task_id: TaskId | None = None
    ) -> list[StoredEvent]:
        tables = self._tables
        pruned = 0 if task_id is not None else await self.pruned(workspace)
        if 0 < after < pruned:
            raise EventsGone(pruned + 1)
        first = bisect_right(tables.events, after, key=lambda stored: stored.seq)
        found = (
            stored
            for stored in islice(tables.events, first, None)
            if workspace in (None, stored.event.workspace) and task_id in (None, stored.event.task_id)
        )
        return list(islice(found, limit))

    async def events_of(self, task_ids: Sequence[TaskId]) -> list[StoredEvent]:
        wanted = set(task_ids)
        return [stored for stored in self._tables.events if stored.event.task_id in wanted]

    async def newest_events(
        self, *, limit: int, below: int | None = None, workspace: str | None = None, task_id: TaskId | None = None
    ) -> list[StoredEvent]:
        found = (
            stored
            for stored in reversed(self._tables.events)
            if (below is None or stored.seq < below)
            and workspace in (None, stored.event.workspace)
            and task_id in (None, stored.event.task_id)
        )
        return list(islice(found, limit))

    async def pruned(self, workspace: str | None = None) -> int:
        pruned = self._tables.pruned
        return max(pruned.values(), default=0) if workspace is None else pruned.get(workspace, 0)

    async def outbox(self, topic: str, limit: int) -> list[tuple[int, Outbox]]:
        return [(number, row) for number, row in self._tables.outbox.items() if row.topic == topic][:limit]

    async def prune_events(self, before: Micros, after: int, limit: int) -> int | None:
        old = [stored for stored in self._tables.events if stored.seq > after and is_prunable(stored.event, before)]
        self._tables.remove_events(old[:limit])
        return old[limit - 1].seq if len(old) > limit else None

    async def settle(self, outbox_ids: Sequence[int]) -> None:
        outbox = self._tables.outbox
        for number in outbox_ids:
            outbox.pop(number, None)
        self._wrote()

    async def keep_embeddings(self, embeddings: Sequence[Embedding]) -> None:
        tables = self._tables
        for each in embeddings:
            if each.task_id in tables.hot:
                tables.embeddings.setdefault(each.task_id, {})[each.embedder] = each

    async def nearest(self, query: VectorQuery) -> list[Near]:
        stored = [
            (each.task_id, vectors.pack_vector(each.vector))
            for each in self._embeddings(query.workspace)
            if each.embedder == query.embedder and (query.types is None or each.type in query.types)
        ]
        return vectors.rank(stored, query)

    async def embedded(self, workspace: str, embedder: str, task_ids: Sequence[TaskId]) -> set[TaskId]:
        mine = (each for each in self._embeddings(workspace) if each.embedder == embedder)
        return {each.task_id for each in mine}.intersection(task_ids)

    async def embedding_counts(self, workspace: str) -> dict[str, int]:
        return dict(Counter(each.embedder for each in self._embeddings(workspace)))

    async def health(self) -> dict[str, Json]:
        tables = self._tables
        return {
            "engine": "memory",
            "tasks": len(tables.hot),
            "events": len(tables.events),
            "vector_search": vectors.search_kind(),
        }

    async def checks(self) -> list[str]:
        tables = self._tables
        return [f"{task_id} has no definition" for task_id in tables.hot if task_id not in tables.definitions]

    def _embeddings(self, workspace: str) -> Iterator[Embedding]:
        for by_embedder in self._tables.embeddings.values():
            yield from (each for each in by_embedder.values() if each.workspace == workspace)

    async def dump(self, part: YardPart, after: CopyPlace, limit: int) -> list[Copy]:
        return [YardSecret(self.secret)] if part is YardPart.SECRET else transfer.dump(self._tables, part, after, limit)

    async def restore(self, copies: Sequence[Copy], progress: RecordChange) -> bool:
        if not transfer.restore(self._tables, copies, progress):
            return False
        for each in copies_of(YardSecret, copies):
            self.secret = each.secret
        self._wrote()
        return True

    def _tasks_where(self, wanted: Callable[[Hot], bool]) -> list[Hot]:
        """The matching tasks in the order of seq."""
        return [hot for hot in self._tables.hot.values() if wanted(hot)]

    def _records(self, wanted: Callable[[Record], bool]) -> list[Record]:
        """Copies, as from a database: a reader may change them."""
        found = [record for record in self._tables.records.values() if wanted(record)]
        return [copied(each) for each in sorted(found, key=lambda record: (record.kind, record.workspace, record.id))]


def _waits_for_tasks(tables: Tables, hot: Hot) -> bool:
    return any(blocker_name(blocker.name).task_id is not None for blocker in tables.waits_for(hot.id))


def _select(table: Mapping[TaskId, Value], task_ids: Sequence[TaskId]) -> dict[TaskId, Value]:
    return {task_id: table[task_id] for task_id in task_ids if task_id in table}


def _is_past(at: Micros | None, now: Micros) -> bool:
    return at is not None and at <= now
