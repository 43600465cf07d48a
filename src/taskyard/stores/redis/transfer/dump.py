"""Copies of the rows of a yard, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from taskyard.core.changes import Record
from taskyard.core.task import LaneId, TaskId
from taskyard.core.units import Micros
from taskyard.stores.copies import (
    Copy,
    CopyPlace,
    CounterCopy,
    DutyCopy,
    OutboxCopy,
    PrunedEvents,
    PulseCopy,
    TaskCopy,
    TaskHistory,
    YardPart,
    YardSecret,
    place_of,
    with_history,
)
from taskyard.stores.redis import encoding, queries
from taskyard.stores.redis.encoding import NONE
from taskyard.stores.redis.queries import RedisReader
from taskyard.stores.redis.scripts import DUMP
from taskyard.stores.shared.rows import parse_lane


async def dump(reader: RedisReader, part: YardPart, after: CopyPlace, limit: int) -> list[Copy]:
    match part:
        case YardPart.SECRET:
            return [YardSecret(bytes.fromhex(await reader.execute("HGET", "state", "secret")))]
        case YardPart.RECORDS:
            return [*await _records(reader, after, limit)]
        case YardPart.TASKS:
            return await _tasks(reader, after, limit)
        case YardPart.EVENTS:
            return [*await queries.log_events(reader, int(after[0]) if after else 0, limit)]
        case _:
            # These are few, or are read whole: their hashes have no order.
            found = [copy for copy in await _hashed(reader, part) if place_of(copy) > after]
            return sorted(found, key=place_of)[:limit]


async def _hashed(reader: RedisReader, part: YardPart) -> list[Copy]:
    match part:
        case YardPart.LIMITS:
            return [*await _by_workspace(reader, "limits:", encoding.parse_limit)]
        case YardPart.COUNTERS:
            return [*await _by_workspace(reader, "counts:", _counter)]
        case YardPart.DUTIES:
            return [DutyCopy(name, Micros(int(until))) for name, until in await _pairs(reader, "duties")]
        case YardPart.PULSES:
            return [PulseCopy(*each) for each in (await queries.pulses(reader, "")).items()]
        case YardPart.PRUNED:
            return [PrunedEvents(name, int(through)) for name, through in await _pairs(reader, "pruned")]
        case _:
            rows = await _pairs(reader, "outbox")
            return [OutboxCopy(int(number), encoding.parse_outbox(text)) for number, text in rows]


def _counter(workspace: str, name: str, value: str) -> CounterCopy:
    return CounterCopy(workspace, name, int(value))


async def _pairs(reader: RedisReader, key: str) -> Iterable[tuple[str, str]]:
    flat: Sequence[str] = await reader.execute("HGETALL", key)
    return zip(flat[::2], flat[1::2], strict=True)


async def _by_workspace(reader: RedisReader, prefix: str, copy: Callable[[str, str, str], Copy]) -> list[Copy]:
    stored = {name.split(NONE)[1] for name in await reader.execute("SMEMBERS", "records")}
    workspaces = sorted(stored | set(await reader.execute("SMEMBERS", "workspaces")))
    return [copy(each, *row) for each in workspaces for row in await _pairs(reader, prefix + each)]


async def _records(reader: RedisReader, after: CopyPlace, limit: int) -> list[Record]:
    found: list[Record] = []
    for key in sorted(await reader.execute("SMEMBERS", "records")):
        kind, workspace = key.split(NONE)
        if (kind, workspace) < after[:2] or len(found) == limit:
            continue
        first = f"({after[2]}" if (kind, workspace) == after[:2] else "-"
        room = limit - len(found)
        ids = await reader.execute("ZRANGEBYLEX", f"record-ids:{key}", first, "+", "LIMIT", 0, room)
        texts = await reader.fields(f"records:{key}", ids)
        rows = zip(ids, texts, strict=True)
        found += [encoding.parse_record(kind, workspace, id_, text or "") for id_, text in rows]
    return found


async def _tasks(reader: RedisReader, after: CopyPlace, limit: int) -> list[Copy]:
    found: list[Any] = await reader.server.run(DUMP, *(after or (0,)), limit, idempotent=True)
    lanes = {LaneId(int(number)): parse_lane(text) for text, number in await _pairs(reader, "lane-ids")}
    hots = [encoding.parse_hot(row) for row, *_ in found]
    ids: list[TaskId] = [hot.id for hot in hots]
    notes = [(hot.id, each[2], each[3]) for hot, each in zip(hots, found, strict=True)]
    history = TaskHistory(
        attempts=[each for some in (await queries.histories(reader, ids)).values() for each in some],
        outputs=list((await queries.outputs(reader, ids)).values()),
        checkpoints=[each for id_, flat, _ in notes for each in encoding.parse_checkpoints(id_, flat)],
        signals=[each for id_, _, flat in notes for each in encoding.parse_signals(id_, flat)],
        blockers=sorted(await queries.blockers(reader, ids)),
        edges=sorted(await queries.edges(reader, ids)),
    )
    tasks = [
        TaskCopy(hot, lanes[hot.lane], encoding.parse_definition(each[0], each[1]))
        for hot, each in zip(hots, found, strict=True)
    ]
    return with_history(tasks, history)
