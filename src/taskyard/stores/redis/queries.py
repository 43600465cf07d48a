"""Every read of the contract. What looks at more than one key is a script, which sees one moment."""

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
from taskyard.core.task import (
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
from taskyard.definition.codec import decode_definition
from taskyard.stores.contract import Config, Cursor, Filter, Graph, Prunable
from taskyard.stores.redis import encoding
from taskyard.stores.redis.connection.durability import durability, info
from taskyard.stores.redis.connection.server import Server
from taskyard.stores.redis.encoding import NONE, Reply, Word, optional
from taskyard.stores.redis.scripts import CHECK, READ
from taskyard.stores.shared.filters import matches
from taskyard.stores.shared.identity import yard_identity
from taskyard.stores.shared.paging import PageRange
from taskyard.stores.shared.rows import STATUSES, format_lane, group_by_task, parse_lane

Value = TypeVar("Value")
_PAGE = 500  # tasks whose definitions are looked at in one go


class Reader:
    def __init__(self, server: Server, prefix: str) -> None:
        self.server = server
        self.prefix = prefix

    async def ask(self, command: str, key: str, *words: Word) -> Reply:
        return await self.server.ask(command, self.prefix + key, *words)

    async def fields(self, key: str, names: Sequence[str]) -> list[str | None]:
        """Of a hash. A command must name at least one."""
        return await self.ask("HMGET", key, *names) if names else []

    async def run(self, name: str, *words: Word) -> Reply:
        """A function of read.lua."""
        return await self.server.run(READ, name, *words, twice=True)

    async def check(self, name: str, *words: Word, about: str | None = None) -> Reply:
        """A function of check.lua."""
        first = () if about is None else (about,)
        return await self.server.run(CHECK, name, *first, len(words), *words, twice=True)

    async def scan(self, cursor: str) -> tuple[str, list[str]]:
        """Some of the yard's keys, without what all of them begin with, and where to go on."""
        cursor, found = await self.server.ask("SCAN", cursor, "MATCH", f"{self.prefix}*", "COUNT", _PAGE)
        return cursor, [key.removeprefix(self.prefix) for key in found]


def _many(words: Sequence[Word]) -> tuple[Word, ...]:
    return len(words), *words


# Tasks by id, and what belongs to one.


async def load(reader: Reader, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
    found = {hot.id: hot for hot in encoding.hots(await reader.run("load", *_many(task_ids)))}
    return _in_order(found, task_ids)


async def definitions(reader: Reader, task_ids: Sequence[TaskId]) -> dict[TaskId, Definition]:
    found = await reader.run("paper", "definition", *_many(task_ids))
    return {task_id: decode_definition(text) for task_id, text in zip(task_ids, found, strict=True) if text is not None}


async def labels(reader: Reader, task_ids: Sequence[TaskId]) -> dict[TaskId, Labels]:
    found = await reader.run("labels", *_many(task_ids))
    return {task_id: Labels._make(told) for task_id, *told in found}


async def outputs(reader: Reader, task_ids: Sequence[TaskId]) -> dict[TaskId, Output]:
    found = await reader.run("paper", "output", *_many(task_ids))
    return {task_id: encoding.output(task_id, text) for task_id, text in zip(task_ids, found, strict=True) if text}


def _in_order(found: dict[TaskId, Value], task_ids: Sequence[TaskId]) -> dict[TaskId, Value]:
    return {task_id: found[task_id] for task_id in task_ids if task_id in found}


async def attempts(reader: Reader, task_id: TaskId) -> list[Attempt]:
    flat = await reader.run("papers", task_id, "attempt:")
    return sorted((encoding.attempt(task_id, text) for text in flat[1::2]), key=lambda attempt: attempt.number)


async def histories(reader: Reader, task_ids: Sequence[TaskId]) -> dict[TaskId, list[Attempt]]:
    found = await reader.run("histories", *_many(task_ids))
    read = [
        encoding.attempt(task_id, text) for task_id, flat in zip(task_ids, found, strict=True) for text in flat[1::2]
    ]
    return group_by_task(sorted(read, key=lambda attempt: attempt.number))


async def checkpoints(reader: Reader, task_id: TaskId) -> list[Checkpoint]:
    return encoding.checkpoints(task_id, await reader.run("papers", task_id, "checkpoint:"))


async def signals(reader: Reader, task_id: TaskId) -> list[Signal]:
    return encoding.signals(task_id, await reader.run("papers", task_id, "signal:"))


async def blockers(reader: Reader, task_ids: Sequence[TaskId]) -> list[Blocker]:
    wanted = list(dict.fromkeys(task_ids))
    found = await reader.run("blockers", *_many(wanted))
    return sorted(
        Blocker(task_id, int(wait), name)
        for task_id, members in zip(wanted, found, strict=True)
        for wait, _, name in (member.partition(NONE) for member in members)
    )


async def awaited(reader: Reader, workspace: str, limit: int) -> list[Blocker]:
    found = [
        (int(updated_at), Blocker(task_id, int(wait), name))
        for updated_at, task_id, wait, name in await reader.run("awaited", workspace)
    ]
    return [blocker for _, blocker in sorted(found)[:limit]]


async def edges(reader: Reader, parents: Sequence[TaskId]) -> list[Edge]:
    return _edges(await reader.run("edges", *_many(list(dict.fromkeys(parents)))))


def _edges(found: Sequence[tuple[TaskId, str]]) -> list[Edge]:
    parted = ((parent, to.rpartition(NONE)) for parent, to in found)
    return sorted(Edge(parent, TaskId(child), kind) for parent, (child, _, kind) in parted)


async def graph(reader: Reader, dag_id: DagId) -> Graph:
    tasks, found = await reader.run("graph", dag_id)
    return Graph(tuple(encoding.hots(tasks)), tuple(_edges(found)))


async def stuck(reader: Reader, dag_id: DagId) -> bool:
    return bool(await reader.run("stuck", dag_id))


async def by_key(reader: Reader, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]:
    found = await reader.fields(f"keys:{workspace}", keys)
    return {key: TaskId(task_id) for key, task_id in zip(keys, found, strict=True) if task_id is not None}


# Records, ceilings, counters.


async def record(reader: Reader, kind: str, workspace: str, record_id: str) -> Record | None:
    found = await reader.ask("HGET", f"records:{kind}{NONE}{workspace}", record_id)
    return None if found is None else encoding.record(kind, workspace, record_id, found)


async def named(reader: Reader, kind: str, workspace: str, ids: Sequence[str]) -> dict[str, Record]:
    found = await reader.fields(f"records:{kind}{NONE}{workspace}", ids)
    named = zip(ids, found, strict=True)
    return {each: encoding.record(kind, workspace, each, text) for each, text in named if text is not None}


async def records(reader: Reader, kind: str, workspace: str | None) -> list[Record]:
    if workspace is None:
        found = await reader.run("records", kind)
    else:
        found = [(workspace, await reader.ask("HGETALL", f"records:{kind}{NONE}{workspace}"))]
    return sorted(
        (each for owner, flat in found for each in _records(kind, owner, flat)),
        key=lambda record: (record.workspace, record.id),
    )


async def page(reader: Reader, kind: str, workspace: str, which: PageRange) -> list[Record]:
    flat = await reader.run("page", f"{kind}{NONE}{workspace}", which.first, optional(which.end), which.limit)
    return _records(kind, workspace, flat)


def _records(kind: str, workspace: str, flat: Sequence[str]) -> list[Record]:
    return [encoding.record(kind, workspace, *each) for each in zip(flat[::2], flat[1::2], strict=True)]


async def limits(reader: Reader, workspace: str, names: Sequence[str] | None) -> dict[str, Limit]:
    if names is None:
        flat = await reader.ask("HGETALL", f"limits:{workspace}")
        found = list(zip(flat[::2], flat[1::2], strict=True))
    else:
        found = list(zip(names, await reader.fields(f"limits:{workspace}", names), strict=True))
    return {name: encoding.limit(workspace, name, text) for name, text in found if text is not None}


async def counts(reader: Reader, workspace: str, names: Sequence[str]) -> dict[str, int]:
    found = await reader.fields(f"counts:{workspace}", names)
    return {name: int(count) for name, count in zip(names, found, strict=True) if count is not None}


async def duty(reader: Reader, name: str) -> Micros | None:
    found = await reader.ask("HGET", "duties", name)
    return None if found is None else Micros(int(found))


async def pruned(reader: Reader, workspace: str | None) -> int:
    if workspace is None:
        return max(map(int, await reader.ask("HVALS", "pruned")), default=0)
    return int(await reader.ask("HGET", "pruned", workspace) or 0)


async def config(reader: Reader, workspace: str, lanes_above: LaneId) -> Config:
    kinds = sorted(PLANNED_ON)
    epoch, found, lanes, secret = await reader.run("config", workspace, lanes_above, *_many(kinds))
    planned_on = chain(*(_records(kind, workspace, flat) for kind, flat in zip(kinds, found, strict=True)))
    return Config(
        int(epoch),
        tuple(sorted(planned_on, key=lambda record: (record.kind, record.id))),
        {encoding.lane_id(score): parse_lane(text) for text, score in zip(lanes[::2], lanes[1::2], strict=True)},
        yard_identity(bytes.fromhex(secret) if secret else None),
    )


async def lane_ids(reader: Reader, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
    """Those that are known."""
    found = await reader.fields("lane-ids", [format_lane(each) for each in lanes])
    return {each: LaneId(int(number)) for each, number in zip(lanes, found, strict=True) if number is not None}


async def pulses(reader: Reader, prefix: str) -> dict[str, Micros]:
    flat = await reader.ask("ZRANGE", "pulses", 0, -1, "WITHSCORES")
    heard = zip(flat[::2], flat[1::2], strict=True)
    return {name: Micros(encoding.score(at)) for name, at in heard if name.startswith(prefix)}


# What sweeps and people look for.


async def held(reader: Reader, agent: AgentId | None, runtime: RuntimeId | None) -> list[Hot]:
    if agent is None and runtime is not None:
        found = await reader.run("held", "held-runtimes", runtime)
    else:
        found = await reader.run("held", "held-agents", optional(agent))
    held = [hot for hot in encoding.hots(found) if agent in (None, hot.agent) and runtime in (None, hot.runtime)]
    return sorted(held, key=lambda hot: hot.seq)


async def due(reader: Reader, now: Micros, limit: int) -> list[Hot]:
    found = [(hot.due_at, hot.seq, hot) for hot in encoding.hots(await reader.run("up_to", "due", now, limit))]
    return [hot for due_at, _, hot in sorted(found) if due_at is not None and due_at <= now]


async def drifting(reader: Reader, now: Micros, limit: int) -> list[Hot]:
    found = encoding.hots(await reader.run("up_to", "drifting", now, limit))
    return [hot for _, _, hot in sorted((hot.rescore_at, hot.seq, hot) for hot in found if hot.status in WAITING)]


async def prunable(reader: Reader, before: Micros, limit: int, dead_too: bool, after: Cursor) -> Prunable:
    tasks, cursor = await reader.run("prunable", before, limit, int(dead_too), *after)
    return Prunable(tuple(encoding.hots(tasks)), Cursor(Micros(int(cursor[0])), int(cursor[1])) if cursor else None)


async def find(reader: Reader, which: Filter, after: int, limit: int) -> list[Hot]:
    """By the sorted sets of each status and type, newest first; what no set knows, the definition does."""
    names = await _indexes(reader, which)
    below = f"({after}" if after else "+inf"
    if _is_plain(which):
        return [encoding.hot(flat) for flat, _ in await reader.run("newest", below, limit, 0, *_many(names))]
    found: list[Hot] = []
    while len(found) < limit:
        page = [(encoding.hot(flat), text) for flat, text in await reader.run("newest", below, _PAGE, 1, *_many(names))]
        found += [hot for hot, text in page if matches(which, hot, decode_definition(text))]
        if len(page) < _PAGE:
            break
        below = f"({page[-1][0].seq}"
    return found[:limit]


def _is_plain(which: Filter) -> bool:
    """Whether the sorted sets say all that is asked for."""
    asked = (which.queue, which.agent, which.subject, which.dag_id, which.parent_id, which.tag, which.text)
    return all(each is None for each in asked)


async def _indexes(reader: Reader, which: Filter) -> list[str]:
    if which.dag_id is not None:
        return [f"dag:{which.dag_id}"]
    types = which.types or await reader.ask("SMEMBERS", f"types:{which.workspace}")
    statuses = which.statuses or Status
    return [f"index:{which.workspace}{NONE}{status}{NONE}{type_}" for status in statuses for type_ in types]


async def tally(reader: Reader, workspace: str) -> dict[tuple[Status, str], int]:
    found = await reader.run("tally", workspace, *_many(list(Status)))
    return {(STATUSES[status], type_): count for status, type_, count in found}


async def depth(reader: Reader, workspace: str) -> dict[Status, int]:
    counts = Counter[Status]()
    for status, _, count in await reader.run(
        "tally", workspace, *_many([each for each in Status if not each.is_final])
    ):
        counts[STATUSES[status]] += count
    return dict(counts)


async def longest_ready(reader: Reader, workspace: str) -> Hot | None:
    return next(iter(encoding.hots(await reader.run("longest_ready", workspace))), None)


async def ahead(reader: Reader, lane: LaneId, rank: int, seq: int, limit: int) -> int:
    return await reader.run("ahead", lane, rank, seq, limit)


async def events(
    reader: Reader, after: int, limit: int, workspace: str | None, task_id: TaskId | None
) -> list[StoredEvent]:
    if task_id is not None:
        owner, entries = await reader.run("events_of_task", task_id, after, limit)
        return [encoding.stored_event(entry) for entry in entries] if workspace in (None, owner) else []
    gone, found = await reader.run("events", after, limit, optional(workspace))
    if 0 < after < int(gone):
        raise EventsGone(int(gone) + 1)
    read = map(encoding.stored_event, found)
    return sorted(read, key=lambda stored: stored.seq)[:limit]


async def outbox(reader: Reader, topic: str, limit: int) -> list[tuple[int, Outbox]]:
    flat: list[Any] = await reader.run("outbox", topic, limit)
    return [(int(number), encoding.outbox(text)) for number, text in zip(flat[::2], flat[1::2], strict=True)]


async def health(reader: Reader) -> dict[str, Json]:
    """The server's figures. Replicas take over where it fails; what they have not been told is lost then."""
    facts = await info(reader.server)
    used, most = int(facts["used_memory"]), int(facts["maxmemory"])
    return {
        "engine": facts.get("server_name", "redis"),
        "version": facts.get("valkey_version", facts["redis_version"]),
        "memory_bytes": used,
        **({"memory_share": round(used / most, 3)} if most else {}),
        "connections": int(facts["connected_clients"]),
        "replicas": int(facts.get("connected_slaves", 0)),
        **(await durability(reader.server, facts))._asdict(),
    }
