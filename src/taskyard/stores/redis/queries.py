"""Every read of the contract. A read of several keys is a script, and therefore atomic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeVar

from taskyard.core.changes import (
    PLANNED_ON,
    Blocker,
    Checkpoint,
    Edge,
    Labels,
    Limit,
    Outbox,
    Output,
    Record,
    Signal,
    StoredEvent,
)
from taskyard.core.errors import EventsGone
from taskyard.core.json_value import Json
from taskyard.core.lease import sealed_stem
from taskyard.core.task import (
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
from taskyard.stores.contract import Config, Cursor, Filter, Graph, Near, Prunable, VectorQuery
from taskyard.stores.redis import encoding
from taskyard.stores.redis.connection.durability import read_durability, read_info
from taskyard.stores.redis.connection.server import RedisServer
from taskyard.stores.redis.encoding import NONE, Reply, Word, or_nul
from taskyard.stores.redis.scripts import CHECK, READ
from taskyard.stores.shared import vectors
from taskyard.stores.shared.filters import has_failed_for, matches
from taskyard.stores.shared.identity import yard_identity
from taskyard.stores.shared.log_rows import split_number
from taskyard.stores.shared.paging import PageRange
from taskyard.stores.shared.rows import STATUSES, format_lane, group_by_task, parse_lane

Value = TypeVar("Value")
_ALL = 2**31  # events of a task
_LAST_ENTRY = 2**53  # no entry of the log has a higher number
_LISTED_TOGETHER = HELD | {Status.READY}  # a claim leaves a task in the index of ready ones
_PAGE = 500  # tasks whose definitions one script reads


class RedisReader:
    def __init__(self, server: RedisServer, prefix: str) -> None:
        self.server = server
        self.prefix = prefix

    async def execute(self, command: str, key: str, *words: Word) -> Reply:
        return await self.server.execute(command, self.prefix + key, *words)

    async def fields(self, key: str, names: Sequence[str]) -> list[str | None]:
        """Read fields of a hash. HMGET needs at least one field."""
        return await self.execute("HMGET", key, *names) if names else []

    async def run(self, name: str, *words: Word) -> Reply:
        """Run a function of read.lua."""
        return await self.server.run(READ, name, *words, idempotent=True)

    async def check(self, name: str, *words: Word, about: str | None = None) -> Reply:
        """Run a function of check.lua."""
        first = () if about is None else (about,)
        return await self.server.run(CHECK, name, *first, len(words), *words, idempotent=True)

    async def scan(self, cursor: str) -> tuple[str, list[str]]:
        """Scan some of the yard's keys. Answers the next cursor, and the keys without the yard's prefix."""
        cursor, found = await self.server.execute("SCAN", cursor, "MATCH", f"{self.prefix}*", "COUNT", _PAGE)
        return cursor, [key.removeprefix(self.prefix) for key in found]


def _with_length(words: Sequence[Word]) -> tuple[Word, ...]:
    return len(words), *words


# Tasks by id, and the data of one task.


async def load(reader: RedisReader, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
    found = {hot.id: hot for hot in encoding.parse_hots(await reader.run("load", *_with_length(task_ids)))}
    return _in_order(found, task_ids)


async def definitions(reader: RedisReader, task_ids: Sequence[TaskId]) -> dict[TaskId, Definition]:
    found = [encoding.parse_headed(*each) for each in await reader.run("definitions", *_with_length(task_ids))]
    return {definition.id: definition for definition in found}


async def labels(reader: RedisReader, task_ids: Sequence[TaskId]) -> dict[TaskId, Labels]:
    found = await reader.run("labels", *_with_length(task_ids))
    return {task_id: Labels._make(fields) for task_id, *fields in found}


async def outputs(reader: RedisReader, task_ids: Sequence[TaskId]) -> dict[TaskId, Output]:
    found = await reader.run("outputs", *_with_length(task_ids))
    return {
        task_id: encoding.parse_output(task_id, text) for task_id, text in zip(task_ids, found, strict=True) if text
    }


def _in_order(found: dict[TaskId, Value], task_ids: Sequence[TaskId]) -> dict[TaskId, Value]:
    return {task_id: found[task_id] for task_id in task_ids if task_id in found}


async def attempts(reader: RedisReader, task_id: TaskId) -> list[Attempt]:
    flat = await reader.run("attempts", task_id)
    return sorted((encoding.parse_attempt(task_id, text) for text in flat[1::2]), key=lambda attempt: attempt.number)


async def histories(reader: RedisReader, task_ids: Sequence[TaskId]) -> dict[TaskId, list[Attempt]]:
    found = await reader.run("histories", *_with_length(task_ids))
    read = [
        encoding.parse_attempt(task_id, text)
        for task_id, flat in zip(task_ids, found, strict=True)
        for text in flat[1::2]
    ]
    return group_by_task(sorted(read, key=lambda attempt: attempt.number))


async def checkpoints(reader: RedisReader, task_id: TaskId) -> list[Checkpoint]:
    return encoding.parse_checkpoints(task_id, await reader.run("papers", task_id, "checkpoint:"))


async def signals(reader: RedisReader, task_id: TaskId) -> list[Signal]:
    return encoding.parse_signals(task_id, await reader.run("papers", task_id, "signal:"))


async def blockers(reader: RedisReader, task_ids: Sequence[TaskId]) -> list[Blocker]:
    wanted = list(dict.fromkeys(task_ids))
    found = await reader.run("blockers", *_with_length(wanted))
    return sorted(
        Blocker(task_id, int(wait), name)
        for task_id, members in zip(wanted, found, strict=True)
        for wait, _, name in (member.partition(NONE) for member in members)
    )


async def awaited(reader: RedisReader, workspace: str, limit: int) -> list[Blocker]:
    found = [
        (int(updated_at), Blocker(task_id, int(wait), name))
        for updated_at, task_id, wait, name in await reader.run("awaited", workspace)
    ]
    return [blocker for _, blocker in sorted(found)[:limit]]


async def edges(reader: RedisReader, parents: Sequence[TaskId]) -> list[Edge]:
    return _edges(await reader.run("edges", *_with_length(list(dict.fromkeys(parents)))))


def _edges(found: Sequence[tuple[TaskId, str]]) -> list[Edge]:
    parted = ((parent, to.rpartition(NONE)) for parent, to in found)
    return sorted(Edge(parent, TaskId(child), kind) for parent, (child, _, kind) in parted)


async def graph(reader: RedisReader, dag_id: DagId) -> Graph:
    tasks, found = await reader.run("graph", dag_id)
    return Graph(tuple(encoding.parse_hots(tasks)), tuple(_edges(found)))


async def begun(reader: RedisReader, dag_ids: Sequence[DagId]) -> set[DagId]:
    # A call for each: a DAG may have 10,000 tasks, and the server does nothing else meanwhile.
    return {dag_id for dag_id in dag_ids if any(hot.attempt for hot in (await graph(reader, dag_id)).tasks)}


async def stuck(reader: RedisReader, dag_id: DagId) -> bool:
    return bool(await reader.run("stuck", dag_id))


async def by_key(reader: RedisReader, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]:
    found = await reader.fields(f"names:{workspace}", [f"key{NONE}{key}" for key in keys])
    return {key: TaskId(task_id) for key, task_id in zip(keys, found, strict=True) if task_id is not None}


# Records, ceilings, counters.


async def record(reader: RedisReader, kind: str, workspace: str, record_id: str) -> Record | None:
    found = await reader.execute("HGET", f"records:{kind}{NONE}{workspace}", record_id)
    return None if found is None else encoding.parse_record(kind, workspace, record_id, found)


async def named(reader: RedisReader, kind: str, workspace: str, ids: Sequence[str]) -> dict[str, Record]:
    found = await reader.fields(f"records:{kind}{NONE}{workspace}", ids)
    named = zip(ids, found, strict=True)
    return {each: encoding.parse_record(kind, workspace, each, text) for each, text in named if text is not None}


async def records(reader: RedisReader, kind: str, workspace: str | None) -> list[Record]:
    if workspace is None:
        found = await reader.run("records", kind)
    else:
        found = [(workspace, await reader.execute("HGETALL", f"records:{kind}{NONE}{workspace}"))]
    return sorted(
        (each for owner, flat in found for each in _records(kind, owner, flat)),
        key=lambda record: (record.workspace, record.id),
    )


async def page(reader: RedisReader, kind: str, workspace: str, which: PageRange) -> list[Record]:
    flat = await reader.run("page", f"{kind}{NONE}{workspace}", which.first, or_nul(which.end), which.limit)
    return _records(kind, workspace, flat)


def _records(kind: str, workspace: str, flat: Sequence[str]) -> list[Record]:
    return [encoding.parse_record(kind, workspace, *each) for each in zip(flat[::2], flat[1::2], strict=True)]


async def limits(reader: RedisReader, workspace: str, names: Sequence[str] | None) -> dict[str, Limit]:
    if names is None:
        flat = await reader.execute("HGETALL", f"limits:{workspace}")
        found = list(zip(flat[::2], flat[1::2], strict=True))
    else:
        found = list(zip(names, await reader.fields(f"limits:{workspace}", names), strict=True))
    return {name: encoding.parse_limit(workspace, name, text) for name, text in found if text is not None}


async def counts(reader: RedisReader, workspace: str, names: Sequence[str]) -> dict[str, int]:
    found = await reader.fields(f"counts:{workspace}", names)
    return {name: int(count) for name, count in zip(names, found, strict=True) if count is not None}


async def duty(reader: RedisReader, name: str) -> Micros | None:
    found = await reader.execute("HGET", "duties", name)
    return None if found is None else Micros(int(found))


async def pruned(reader: RedisReader, workspace: str | None) -> int:
    if workspace is None:
        return max(map(int, await reader.execute("HVALS", "pruned")), default=0)
    return int(await reader.execute("HGET", "pruned", workspace) or 0)


async def config(reader: RedisReader, workspace: str, lanes_above: LaneId) -> Config:
    kinds = sorted(PLANNED_ON)
    epoch, found, lanes, secret = await reader.run("config", workspace, lanes_above, *_with_length(kinds))
    planned_on = chain(*(_records(kind, workspace, flat) for kind, flat in zip(kinds, found, strict=True)))
    return Config(
        int(epoch),
        tuple(sorted(planned_on, key=lambda record: (record.kind, record.id))),
        {encoding.parse_lane_id(score): parse_lane(text) for text, score in zip(lanes[::2], lanes[1::2], strict=True)},
        yard_identity(bytes.fromhex(secret) if secret else None),
    )


async def lane_ids(reader: RedisReader, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
    """The ids of the lanes that are stored already."""
    found = await reader.fields("lane-ids", [format_lane(each) for each in lanes])
    return {each: LaneId(int(number)) for each, number in zip(lanes, found, strict=True) if number is not None}


async def pulses(reader: RedisReader, prefix: str) -> dict[str, Micros]:
    flat = await reader.execute("ZRANGE", "pulses", 0, -1, "WITHSCORES")
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return {name: Micros(encoding.parse_score(at)) for name, at in pairs if name.startswith(prefix)}


# Reads for sweeps and lists.


async def held(reader: RedisReader, agent: AgentId | None, runtime: RuntimeId | None) -> list[Hot]:
    if agent is None and runtime is not None:
        found = await reader.run("held", "held-runtimes", runtime)
    else:
        found = await reader.run("held", "held-agents", or_nul(agent))
    held = [hot for hot in encoding.parse_hots(found) if agent in (None, hot.agent) and runtime in (None, hot.runtime)]
    return sorted(held, key=lambda hot: hot.seq)


async def held_under(reader: RedisReader, agent: AgentId, stems: Sequence[str]) -> list[Hot]:
    wanted = frozenset(stems)
    return [hot for hot in await held(reader, agent, None) if sealed_stem(hot.lease or "") in wanted]


async def due(reader: RedisReader, now: Micros, limit: int) -> list[Hot]:
    found = [(hot.due_at, hot.seq, hot) for hot in encoding.parse_hots(await reader.run("up_to", "due", now, limit))]
    return [hot for due_at, _, hot in sorted(found) if due_at is not None and due_at <= now]


async def drifting(reader: RedisReader, now: Micros, limit: int) -> list[Hot]:
    found = encoding.parse_hots(await reader.run("up_to", "drifting", now, limit))
    return [hot for _, _, hot in sorted((hot.rescore_at, hot.seq, hot) for hot in found if hot.status in WAITING)]


async def prunable(reader: RedisReader, before: Micros, limit: int, dead_too: bool, after: Cursor) -> Prunable:
    tasks, cursor = await reader.run("prunable", before, limit, int(dead_too), *after)
    return Prunable(
        tuple(encoding.parse_hots(tasks)), Cursor(Micros(int(cursor[0])), int(cursor[1])) if cursor else None
    )


async def find(reader: RedisReader, which: Filter, after: int, limit: int) -> list[Hot]:
    """Find by the index of each status and type, in order; the definition decides on what the indexes lack."""
    names, oldest = await _indexes(reader, which), int(which.oldest_first)
    bound = f"({after}" if after else ("-inf" if oldest else "+inf")
    if _is_indexed(which) and not which.statuses & _LISTED_TOGETHER:
        rows = await reader.run("listed", bound, limit, 0, oldest, *_with_length(names))
        return [encoding.parse_hot(flat) for flat, _ in rows]
    found: list[Hot] = []
    size = min(2 * limit, _PAGE) if _is_indexed(which) else _PAGE  # few of those that are listed as ready are held
    while len(found) < limit:
        page = [
            (encoding.parse_hot(row), encoding.parse_definition(row, text))
            for row, text in await reader.run("listed", bound, size, 1, oldest, *_with_length(names))
        ]
        matching = [hot for hot, definition in page if matches(which, hot, definition)]
        found += matching if which.reason is None else await _failed_for(reader, which.reason, matching)
        if len(page) < size:
            break
        bound = f"({page[-1][0].seq}"
    return found[:limit]


async def _failed_for(reader: RedisReader, reason: str, hots: Sequence[Hot]) -> list[Hot]:
    tried = await histories(reader, [hot.id for hot in hots if hot.attempt])
    return [hot for hot in hots if has_failed_for(reason, tried.get(hot.id, ()))]


def _is_indexed(which: Filter) -> bool:
    """Whether the indexes alone can answer the filter."""
    return not which.conditions()


async def _indexes(reader: RedisReader, which: Filter) -> list[str]:
    if which.dag_id is not None:
        return [f"dag:{which.dag_id}"]
    types = which.types or await reader.execute("SMEMBERS", f"types:{which.workspace}")
    statuses = which.statuses or frozenset(Status)
    names = [f"index:{which.workspace}{NONE}{status}{NONE}{type_}" for status in statuses - HELD for type_ in types]
    if statuses & HELD and Status.READY not in statuses:
        names.append("held-agents")
    return names


async def tally(reader: RedisReader, workspace: str) -> dict[tuple[Status, str], int]:
    found = await reader.run("tally", workspace, *_with_length(list(Status)))
    return {(STATUSES[status], type_): count for status, type_, count in found}


async def depth(reader: RedisReader, workspace: str) -> dict[Status, int]:
    counts = Counter[Status]()
    for status, _, count in await reader.run(
        "tally", workspace, *_with_length([each for each in Status if not each.is_final])
    ):
        counts[STATUSES[status]] += count
    return dict(counts)


async def longest_ready(reader: RedisReader, workspace: str) -> Hot | None:
    return next(iter(encoding.parse_hots(await reader.run("longest_ready", workspace))), None)


async def first_ready(reader: RedisReader, lanes: Sequence[LaneId], limit: int) -> list[Hot]:
    return encoding.parse_hots(await reader.run("first_ready", limit, *_with_length(list(map(str, lanes)))))


async def ahead(reader: RedisReader, lane: LaneId, rank: int, seq: int, limit: int) -> int:
    return await reader.run("ahead", lane, rank, seq, limit)


async def events(
    reader: RedisReader, after: int, limit: int, workspace: str | None, task_id: TaskId | None
) -> list[StoredEvent]:
    log_number, _ = split_number(after)
    if task_id is not None:
        owner, entries = await reader.run("events_of_task", task_id, log_number, limit + 1)
        found = _events_in(entries) if workspace in (None, owner) else []
        return [stored for stored in found if stored.seq > after and stored.event.task_id == task_id][:limit]
    gone, entries = await reader.run("events", log_number, limit, or_nul(workspace))
    if 0 < after < int(gone):
        raise EventsGone(int(gone) + 1)
    return [stored for stored in _events_in(entries) if stored.seq > after][:limit]


async def events_of(reader: RedisReader, task_ids: Sequence[TaskId]) -> list[StoredEvent]:
    wanted = set(task_ids)
    entries = await reader.run("events_of_tasks", *_with_length(task_ids))
    return [stored for stored in _events_in(entries) if stored.event.task_id in wanted]


def _events_in(entries: Sequence[tuple[str, str, str]]) -> list[StoredEvent]:
    """The events of these entries in order."""
    return sorted(chain.from_iterable(map(encoding.parse_entry, entries)), key=lambda stored: stored.seq)


async def log_events(reader: RedisReader, after: int, limit: int) -> list[StoredEvent]:
    """The kept events with a higher number, whatever was pruned."""
    _, entries = await reader.run("events", split_number(after)[0], limit, NONE)
    return [stored for stored in _events_in(entries) if stored.seq > after][:limit]


async def newest_events(
    reader: RedisReader, limit: int, below: int | None, workspace: str | None, task_id: TaskId | None
) -> list[StoredEvent]:
    if task_id is not None:
        found = await events(reader, 0, _ALL, workspace, task_id)
    else:
        last = _LAST_ENTRY if below is None else split_number(below)[0]
        found = _events_in(await reader.run("newest_events", last, limit, or_nul(workspace)))
    return [stored for stored in reversed(found) if below is None or stored.seq < below][:limit]


async def outbox(reader: RedisReader, topic: str, limit: int) -> list[tuple[int, Outbox]]:
    flat: list[Any] = await reader.run("outbox", topic, limit)
    return [(int(number), encoding.parse_outbox(text)) for number, text in zip(flat[::2], flat[1::2], strict=True)]


async def nearest(reader: RedisReader, query: VectorQuery) -> list[Near]:
    flat = await reader.execute("HGETALL", f"embeddings:{query.workspace}{NONE}{query.embedder}")
    parsed = [encoding.parse_embedding(text) for text in flat[1::2]]
    stored = [
        (TaskId(task_id), packed)
        for task_id, (type_, packed) in zip(flat[::2], parsed, strict=True)
        if query.types is None or type_ in query.types
    ]
    return vectors.rank(stored, query)


async def embedded(reader: RedisReader, workspace: str, embedder: str, task_ids: list[TaskId]) -> set[TaskId]:
    if not task_ids:
        return set()
    found = await reader.execute("HMGET", f"embeddings:{workspace}{NONE}{embedder}", *task_ids)
    return {task_id for task_id, vector in zip(task_ids, found, strict=True) if vector is not None}


async def embedding_counts(reader: RedisReader, workspace: str) -> dict[str, int]:
    embedders = await reader.execute("SMEMBERS", f"embedders:{workspace}")
    counts = {each: await reader.execute("HLEN", f"embeddings:{workspace}{NONE}{each}") for each in sorted(embedders)}
    return {embedder: count for embedder, count in counts.items() if count}


async def health(reader: RedisReader) -> dict[str, Json]:
    """Figures of the server. If a replica takes over, writes that it has not received are lost."""
    facts = await read_info(reader.server)
    used, most = int(facts["used_memory"]), int(facts["maxmemory"])
    return {
        "engine": facts.get("server_name", "redis"),
        "version": facts.get("valkey_version", facts["redis_version"]),
        "memory_bytes": used,
        "vector_search": vectors.search_kind(),
        **({"memory_share": round(used / most, 3)} if most else {}),
        "connections": int(facts["connected_clients"]),
        "replicas": int(facts.get("connected_slaves", 0)),
        **(await read_durability(reader.server, facts))._asdict(),
    }
