"""Every read of the contract. A read of several statements runs them on one snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
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
    FINAL,
    KEY_HELD,
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
from taskyard.stores.postgres.connection.reader import PostgresReader
from taskyard.stores.postgres.log import log_reads, streams
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.shared import prune_batches, rows, vectors
from taskyard.stores.shared.filters import is_verbatim_in_json, may_mention
from taskyard.stores.shared.identity import yard_identity
from taskyard.stores.shared.log_rows import PLACES, decode_row
from taskyard.stores.shared.paging import PageRange

Value = TypeVar("Value")
_WIDTH = len(Hot._fields)
_PAGE = 500  # tasks whose texts one statement reads
_ROWS = 16  # of the log that are read at once to find finished tasks


# Tasks by id, and the data of one task.


async def load(reader: PostgresReader, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
    found = {hot.id: hot for hot in await reader.tasks("load", list(task_ids))}
    return _in_order(found, task_ids)


async def definitions(reader: PostgresReader, task_ids: Sequence[TaskId]) -> dict[TaskId, Definition]:
    found = await reader.ask("definitions", list(task_ids))
    return _in_order({task_id: decode_definition(body) for task_id, body in found}, task_ids)


async def labels(reader: PostgresReader, task_ids: Sequence[TaskId]) -> dict[TaskId, Labels]:
    return {task_id: Labels._make(fields) for task_id, *fields in await reader.ask("labels", list(task_ids))}


async def outputs(reader: PostgresReader, task_ids: Sequence[TaskId]) -> dict[TaskId, Output]:
    found = map(rows.parse_output, await reader.ask("outputs", list(task_ids)))
    return _in_order({output.task_id: output for output in found}, task_ids)


def _in_order(found: dict[TaskId, Value], task_ids: Sequence[TaskId]) -> dict[TaskId, Value]:
    return {task_id: found[task_id] for task_id in task_ids if task_id in found}


async def attempts(reader: PostgresReader, task_id: TaskId) -> list[Attempt]:
    return (await histories(reader, [task_id])).get(task_id, [])


async def histories(reader: PostgresReader, task_ids: Sequence[TaskId]) -> dict[TaskId, list[Attempt]]:
    found = [rows.parse_attempt(row) for row in await reader.ask("histories", list(task_ids))]
    return _in_order(rows.group_by_task(found), task_ids)


async def checkpoints(reader: PostgresReader, task_id: TaskId) -> list[Checkpoint]:
    return [Checkpoint._make(row) for row in await reader.ask("checkpoints", task_id)]


async def signals(reader: PostgresReader, task_id: TaskId) -> list[Signal]:
    return [Signal._make(row) for row in await reader.ask("signals", task_id)]


async def blockers(reader: PostgresReader, task_ids: Sequence[TaskId]) -> list[Blocker]:
    return [Blocker._make(row) for row in await reader.ask("blockers", list(task_ids))]


async def awaited(reader: PostgresReader, workspace: str, limit: int) -> list[Blocker]:
    return [Blocker._make(row) for row in await reader.ask("awaited", workspace, limit)]


async def edges(reader: PostgresReader, parents: Sequence[TaskId]) -> list[Edge]:
    return [Edge._make(row) for row in await reader.ask("edges", list(parents))]


async def graph(reader: PostgresReader, dag_id: DagId) -> Graph:
    async with reader.snapshot():
        tasks = await reader.tasks("graph_tasks", dag_id)
        return Graph(tuple(tasks), tuple(Edge._make(row) for row in await reader.ask("graph_edges", dag_id)))


async def begun(reader: PostgresReader, dag_ids: Sequence[DagId]) -> set[DagId]:
    return {row[0] for row in await reader.ask("begun", list(dag_ids))}


async def stuck(reader: PostgresReader, dag_id: DagId) -> bool:
    return not await reader.value("can_proceed", dag_id)


async def by_key(reader: PostgresReader, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]:
    return {row[0]: row[1] for row in await reader.ask("by_key", workspace, list(keys))}


# Records, ceilings, counters.


async def record(reader: PostgresReader, kind: str, workspace: str, record_id: str) -> Record | None:
    found = await reader.ask("record", kind, workspace, record_id)
    return rows.parse_record(found[0]) if found else None


async def named(reader: PostgresReader, kind: str, workspace: str, ids: Sequence[str]) -> dict[str, Record]:
    found = map(rows.parse_record, await reader.ask("named", kind, workspace, list(ids)))
    return {record.id: record for record in found}


async def records(reader: PostgresReader, kind: str, workspace: str | None) -> list[Record]:
    if workspace is None:
        found = await reader.ask("records", kind)
    else:
        found = await reader.ask("records_of_workspace", [kind], workspace)
    return [rows.parse_record(row) for row in found]


async def page(reader: PostgresReader, kind: str, workspace: str, which: PageRange) -> list[Record]:
    if which.end is None:
        found = await reader.ask("last_page", kind, workspace, which.first, which.limit)
    else:
        found = await reader.ask("page", kind, workspace, *which)
    return [rows.parse_record(row) for row in found]


async def limits(reader: PostgresReader, workspace: str, names: Sequence[str] | None) -> dict[str, Limit]:
    if names is None:
        found = await reader.ask("limits_all", workspace)
    else:
        found = await reader.ask("limits_named", workspace, list(names))
    return {limit.name: limit for limit in map(Limit._make, found)}


async def counts(reader: PostgresReader, workspace: str, names: Sequence[str]) -> dict[str, int]:
    return {row[0]: row[1] for row in await reader.ask("counters_named", workspace, list(names))}


async def duty(reader: PostgresReader, name: str) -> Micros | None:
    return await reader.value("duty", name)


async def pruned(reader: PostgresReader, workspace: str | None) -> int:
    if workspace is None:
        return await reader.value("pruned")
    return await reader.value("pruned_of_workspace", workspace)


async def config(reader: PostgresReader, workspace: str, lanes_above: LaneId) -> Config:
    async with reader.snapshot():
        secret: bytes | None = await reader.value("secret")
        epoch: int = await reader.value("epoch", workspace)
        found = await reader.ask("records_of_workspace", sorted(PLANNED_ON), workspace)
        lanes = {
            LaneId(number): rows.parse_lane(text)
            for number, text in await reader.ask("lanes_above", workspace, lanes_above)
        }
    return Config(epoch, tuple(rows.parse_record(row) for row in found), lanes, yard_identity(secret))


async def lane_ids(reader: PostgresReader, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
    """The ids of the lanes that are stored already."""
    digests = {rows.digest_lane(lane): lane for lane in lanes}
    return {digests[digest]: LaneId(number) for digest, number in await reader.ask("lane_ids", list(digests))}


async def pulses(reader: PostgresReader, prefix: str) -> dict[str, Micros]:
    return {row[0]: row[1] for row in await reader.ask("pulses", prefix)}


# Reads for sweeps and lists.


async def held(reader: PostgresReader, agent: AgentId | None, runtime: RuntimeId | None) -> list[Hot]:
    if agent is not None:
        found = await reader.tasks("held_by_agent", agent, None)
    elif runtime is not None:
        found = await reader.tasks("held_by_runtime", runtime)
    else:
        found = await reader.tasks("held")
    return [hot for hot in found if runtime in (None, hot.runtime)]


async def held_under(reader: PostgresReader, agent: AgentId, stems: Sequence[str]) -> list[Hot]:
    return await reader.tasks("held_by_agent", agent, list(stems))


async def due(reader: PostgresReader, now: Micros, limit: int) -> list[Hot]:
    return await reader.tasks("due", now, limit)


async def drifting(reader: PostgresReader, now: Micros, limit: int) -> list[Hot]:
    return await reader.tasks("drifting", now, limit)


async def prunable(reader: PostgresReader, before: Micros, limit: int, dead_too: bool, after: Cursor) -> Prunable:
    async with reader.snapshot():
        ended, is_cut = await _ended(reader, before, limit, after)
        versions = [(each.id, version) for each, version in ended]
        asked = transpose(versions, 2)
        found = {hot.id: hot for hot in await reader.tasks("prunable", *asked, before, dead_too)} if ended else {}
        candidates = [each._replace(dag_id=found[each.id].dag_id) for each, _ in ended if each.id in found]
        dag_ids = prune_batches.dag_ids_of(candidates)
        over = await reader.ask("prunable_dags", dag_ids, before, dead_too) if dag_ids else ()
        alone, dags, cursor = prune_batches.choose_batch(candidates, {row[0]: row[1] for row in over}, limit)
        tasks = [found[task_id] for task_id in dict.fromkeys(alone)]  # several events of one step may say its end
        tasks += await reader.tasks("dag_tasks", dags) if dags else []
    if cursor is None and is_cut:
        cursor = Cursor(*ended[-1][0][:2])
    return Prunable(tuple(tasks), cursor)


async def _ended(
    reader: PostgresReader, before: Micros, limit: int, after: Cursor
) -> tuple[list[tuple[prune_batches.Candidate, int]], bool]:
    """The next events that say that a task is final, with its version, and whether more may follow."""
    at, number = after.major, after.minor // PLACES
    found: list[tuple[prune_batches.Candidate, int]] = []
    while page := await reader.ask("ends", before, at, number, _ROWS, limit):
        for row_at, log_number, workspace, body in page:
            for seq, event, _ in decode_row(log_number, workspace, body):
                place = Micros(row_at), seq
                if event.task_id is None or event.version is None or event.status not in FINAL or place <= after:
                    continue
                if len(found) == limit:
                    return found, True
                found.append((prune_batches.Candidate(*place, event.task_id, None), event.version))
        at, number = page[-1][0], page[-1][1] + 1
    return found, False


async def find(reader: PostgresReader, which: Filter, after: int, limit: int) -> list[Hot]:
    async with reader.snapshot():
        await reader.connection.execute(reader.sql["plan_for_values"])
        return await _find(reader, which, after, limit)


async def _find(reader: PostgresReader, which: Filter, after: int, limit: int) -> list[Hot]:
    if which.text is None:
        return [rows.parse_hot(row[:_WIDTH]) for row in await _found(reader, which, after, limit)]
    # PostgreSQL before 18 cannot fold case as Python does, and every store must find the same.
    wanted, found = which.text.casefold(), list[Hot]()
    while len(found) < limit and (page := await _found(reader, which, after, _PAGE)):
        found += [rows.parse_hot(row[:_WIDTH]) for row in page if _mentions(row[_WIDTH], wanted)]
        after = page[-1][1]
    return found[:limit]


async def _found(reader: PostgresReader, which: Filter, after: int, limit: int) -> list[rows.Row]:
    wanted: dict[str, Any] = {
        "beyond" if which.oldest_first else "after": after or None,
        "statuses": list(which.statuses) or None,
        "types": list(which.types) or None,
        **which.conditions(),
        "text": None,  # which the reader looks for
        "spelled": which.text.lower() if which.text is not None and _is_searchable(which.text) else None,
    }
    numbers = count(2)
    held = [reader.sql["find_held"]] if which.statuses and which.statuses <= KEY_HELD else []
    asked = {name: value for name, value in wanted.items() if value is not None}
    pieces = [reader.sql["find"], *held]
    pieces += [reader.sql[f"find_{name}"].replace("$1", f"${next(numbers)}") for name in asked]
    pieces.append(reader.sql["find_oldest" if which.oldest_first else "find_newest"].replace("$1", f"${next(numbers)}"))
    return await reader.connection.fetch("\n".join(pieces), which.workspace, *asked.values(), limit)


def _is_searchable(text: str) -> bool:
    """Whether PostgreSQL itself can search for the text in the stored JSON, whatever its case."""
    return bool(text) and text.isascii() and is_verbatim_in_json(text)


def _mentions(body: str, text: str) -> bool:
    if not may_mention(body, text):
        return False
    definition = decode_definition(body)
    return any(text in each.casefold() for each in (definition.title, definition.prompt, definition.payload))


async def tally(reader: PostgresReader, workspace: str) -> dict[tuple[Status, str], int]:
    return {(rows.STATUSES[row[0]], row[1]): row[2] for row in await reader.ask("tally", workspace)}


async def depth(reader: PostgresReader, workspace: str) -> dict[Status, int]:
    return {rows.STATUSES[row[0]]: row[1] for row in await reader.ask("depth", workspace) if row[1]}


async def longest_ready(reader: PostgresReader, workspace: str) -> Hot | None:
    return next(iter(await reader.tasks("longest_ready", workspace)), None)


async def first_ready(reader: PostgresReader, lanes: Sequence[LaneId], limit: int) -> list[Hot]:
    return await reader.tasks("first_ready", lanes, limit)


async def ahead(reader: PostgresReader, lane: LaneId, rank: int, seq: int, limit: int) -> int:
    return await reader.value("ahead", lane, rank, seq, limit)


async def events(
    reader: PostgresReader, after: int, limit: int, workspace: str | None, task_id: TaskId | None
) -> list[StoredEvent]:
    if task_id is not None:
        return await log_reads.events_of_task(reader, workspace, task_id, after, limit)
    found = await log_reads.events_after(reader, after, limit, workspace)
    # Read after the events, so that pruning during the read is reported.
    gone = 0 if after == 0 else await pruned(reader, workspace)
    if after < gone:
        raise EventsGone(gone + 1)
    return found


async def events_of(reader: PostgresReader, task_ids: Sequence[TaskId]) -> list[StoredEvent]:
    return await log_reads.events_of_tasks(reader, task_ids)


async def newest_events(
    reader: PostgresReader, limit: int, below: int | None, workspace: str | None, task_id: TaskId | None
) -> list[StoredEvent]:
    end = log_reads.AFTER_ALL if below is None else below
    if task_id is not None:
        return await log_reads.newest_of_task(reader, workspace, task_id, end, limit)
    return await log_reads.events_below(reader, end, limit, workspace)


async def outbox(reader: PostgresReader, topic: str, limit: int) -> list[tuple[int, Outbox]]:
    return [(number, Outbox._make(row)) for number, *row in await reader.ask("outbox", topic, limit)]


stream = streams.read


async def embedded(reader: PostgresReader, workspace: str, embedder: str, task_ids: list[TaskId]) -> set[TaskId]:
    return {TaskId(row[0]) for row in await reader.ask("embedded", workspace, embedder, task_ids)}


async def embedding_counts(reader: PostgresReader, workspace: str) -> dict[str, int]:
    return {row[0]: row[1] for row in await reader.ask("embedding_counts", workspace)}


async def health(reader: PostgresReader) -> dict[str, Json]:
    """Figures of the server. Dead rows are old versions that vacuum has not removed yet."""
    [figures] = await reader.ask("health")
    count_rows = {name: (dead, live) for name, dead, live in await reader.ask("dead_rows")}
    every = sum(dead + live for dead, live in count_rows.values())
    return {
        "engine": "postgresql",
        "vector_search": "pgvector" if await reader.value("has_pgvector") else vectors.search_kind(),
        **dict(zip(_HEALTH, figures, strict=True)),
        "dead_rows": {name: dead for name, (dead, _) in count_rows.items()},
        "dead_rows_share": round(sum(dead for dead, _ in count_rows.values()) / every, 3) if every else 0.0,
    }


_HEALTH = (
    *("version", "database_bytes", "connections", "connections_share", "oldest_transaction_sec", "synchronous_commit"),
    *("fsync", "standbys", "synchronous_standbys", "replication_lag_bytes"),
)
_CHECKS = (
    *("without_definition", "definition_without_task", "held_without_task", "not_in_ready", "wrongly_ready"),
    *("without_name", "wrongly_named", "without_log_row", "numbers_behind", "stream_with_a_gap"),
)


async def checks(reader: PostgresReader) -> list[str]:
    async with reader.snapshot():
        return [row[0] for name in _CHECKS for row in await reader.ask(name)] + await log_reads.count_problems(reader)
