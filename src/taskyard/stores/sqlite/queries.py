"""Every read of the contract. Each read sees one snapshot, and none writes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import apsw

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
from taskyard.core.units import DAY, SECOND, Micros
from taskyard.definition.codec import decode_definition
from taskyard.stores.contract import Config, Cursor, Filter, Graph, Near, Prunable, VectorQuery
from taskyard.stores.shared import prune_batches, rows, vectors
from taskyard.stores.shared.identity import yard_identity
from taskyard.stores.shared.paging import PageRange
from taskyard.stores.sqlite import file_checks
from taskyard.stores.sqlite.fast import vector_extension
from taskyard.stores.sqlite.log import ends, log_reads, streams
from taskyard.stores.sqlite.log.log_append import last_numbers
from taskyard.stores.sqlite.statements import SQL, json_list

Value = TypeVar("Value")
_DEFAULT_QUEUE = "default"  # most tasks are in it, so the index leaves it out
_SELDOM = frozenset({Status.PENDING, Status.RETRYING, Status.DEAD_LETTERED})  # the states of the index task_waiting


stream = streams.read


def _query(connection: apsw.Connection, name: str, *values: Any) -> apsw.Cursor:
    return connection.execute(SQL[name], values)


def _tasks(connection: apsw.Connection, name: str, *values: Any) -> list[Hot]:
    return [rows.parse_hot(row) for row in connection.execute(SQL[name], values)]


@contextmanager
def snapshot(connection: apsw.Connection) -> Generator[None]:
    """Run several statements on one snapshot."""
    connection.execute(SQL["begin_read"])
    try:
        yield
    finally:
        connection.execute(SQL["commit"])


# Tasks by id, and the data of one task.


def load(connection: apsw.Connection, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
    found = {hot.id: hot for hot in _tasks(connection, "load", json_list(task_ids))}
    return _in_order(found, task_ids)


def definitions(connection: apsw.Connection, task_ids: Sequence[TaskId]) -> dict[TaskId, Definition]:
    found = _query(connection, "definitions", json_list(task_ids))
    return _in_order({task_id: decode_definition(body) for task_id, body in found}, task_ids)


def labels(connection: apsw.Connection, task_ids: Sequence[TaskId]) -> dict[TaskId, Labels]:
    found: dict[TaskId, Labels] = {}
    for *fields, ids in _query(connection, "labels", json_list(task_ids)):
        found |= dict.fromkeys(json.loads(ids), Labels._make(fields))
    return found


def bodies(connection: apsw.Connection, seqs: Sequence[int]) -> list[str]:
    """The encoded definitions of the tasks with these numbers, which all exist."""
    found: dict[int, str] = dict(_query(connection, "bodies", json_list(seqs)))
    return [found[seq] for seq in seqs]


def outputs(connection: apsw.Connection, task_ids: Sequence[TaskId]) -> dict[TaskId, Output]:
    found = map(rows.parse_output, _query(connection, "outputs", json_list(task_ids)))
    return _in_order({output.task_id: output for output in found}, task_ids)


def _in_order(found: dict[TaskId, Value], task_ids: Sequence[TaskId]) -> dict[TaskId, Value]:
    return {task_id: found[task_id] for task_id in task_ids if task_id in found}


def attempts(connection: apsw.Connection, task_id: TaskId) -> list[Attempt]:
    return [rows.parse_attempt(row) for row in _query(connection, "attempts", task_id)]


def histories(connection: apsw.Connection, task_ids: Sequence[TaskId]) -> dict[TaskId, list[Attempt]]:
    found = [rows.parse_attempt(row) for row in _query(connection, "histories", json_list(task_ids))]
    return _in_order(rows.group_by_task(found), task_ids)


def checkpoints(connection: apsw.Connection, task_id: TaskId) -> list[Checkpoint]:
    return [Checkpoint._make(row) for row in _query(connection, "checkpoints", task_id)]


def signals(connection: apsw.Connection, task_id: TaskId) -> list[Signal]:
    return [Signal._make(row) for row in _query(connection, "signals", task_id)]


def blockers(connection: apsw.Connection, task_ids: Sequence[TaskId]) -> list[Blocker]:
    return [Blocker._make(row) for row in _query(connection, "blockers", json_list(task_ids))]


def awaited(connection: apsw.Connection, workspace: str, limit: int) -> list[Blocker]:
    return [Blocker._make(row) for row in _query(connection, "awaited", workspace, limit)]


def edges(connection: apsw.Connection, parents: Sequence[TaskId]) -> list[Edge]:
    return [Edge._make(row) for row in _query(connection, "edges", json_list(parents))]


def graph(connection: apsw.Connection, dag_id: DagId) -> Graph:
    with snapshot(connection):
        tasks = _tasks(connection, "graph_tasks", dag_id)
        return Graph(tuple(tasks), tuple(Edge._make(row) for row in _query(connection, "graph_edges", dag_id)))


def begun(connection: apsw.Connection, dag_ids: Sequence[DagId]) -> set[DagId]:
    return {dag_id for (dag_id,) in _query(connection, "begun", json_list(dag_ids))}


def stuck(connection: apsw.Connection, dag_id: DagId) -> bool:
    return not _query(connection, "can_proceed", dag_id).get


def by_key(connection: apsw.Connection, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]:
    return dict(_query(connection, "by_key", workspace, json_list(keys)))


# Records, ceilings, counters.


def record(connection: apsw.Connection, kind: str, workspace: str, record_id: str) -> Record | None:
    row = _query(connection, "record", kind, workspace, record_id).get
    return None if row is None else rows.parse_record(row)


def named(connection: apsw.Connection, kind: str, workspace: str, ids: Sequence[str]) -> dict[str, Record]:
    found = map(rows.parse_record, _query(connection, "named", kind, workspace, json_list(ids)))
    return {record.id: record for record in found}


def records(connection: apsw.Connection, kind: str, workspace: str | None) -> list[Record]:
    if workspace is None:
        found = _query(connection, "records", kind)
    else:
        found = _query(connection, "records_of_workspace", kind, workspace)
    return [rows.parse_record(row) for row in found]


def page(connection: apsw.Connection, kind: str, workspace: str, which: PageRange) -> list[Record]:
    if which.end is None:
        found = _query(connection, "last_page", kind, workspace, which.first, which.limit)
    else:
        found = _query(connection, "page", kind, workspace, *which)
    return [rows.parse_record(row) for row in found]


def limits(connection: apsw.Connection, workspace: str, names: Sequence[str] | None) -> dict[str, Limit]:
    if names is None:
        found = _query(connection, "limits_all", workspace)
    else:
        found = _query(connection, "limits_named", workspace, json_list(names))
    return {limit.name: limit for limit in map(Limit._make, found)}


def counts(connection: apsw.Connection, workspace: str, names: Sequence[str]) -> dict[str, int]:
    return dict(_query(connection, "counters_named", workspace, json_list(names)))


def duty(connection: apsw.Connection, name: str) -> Micros | None:
    return _query(connection, "duty", name).get


def pruned(connection: apsw.Connection, workspace: str | None) -> int:
    if workspace is None:
        return _query(connection, "pruned").get
    return _query(connection, "pruned_of_workspace", workspace).get


def config(connection: apsw.Connection, workspace: str, lanes_above: LaneId) -> Config:
    with snapshot(connection):
        secret: bytes | None = _query(connection, "secret").get
        epoch: int = _query(connection, "epoch", workspace).get
        found = [each for kind in sorted(PLANNED_ON) for each in records(connection, kind, workspace)]
        lanes = {
            LaneId(number): rows.parse_lane(text)
            for number, text in _query(connection, "lanes_above", workspace, lanes_above)
        }
    return Config(epoch, tuple(found), lanes, yard_identity(secret))


def lane_ids(connection: apsw.Connection, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
    """The ids of the lanes that are stored already."""
    texts = {rows.format_lane(lane): lane for lane in lanes}
    return {texts[text]: number for text, number in _query(connection, "lane_ids", json_list(texts))}


def pulses(connection: apsw.Connection, prefix: str) -> dict[str, Micros]:
    return dict(connection.execute(SQL["pulses"], {"prefix": prefix}))


# Reads for sweeps and lists.


def held(connection: apsw.Connection, agent: AgentId | None, runtime: RuntimeId | None) -> list[Hot]:
    if agent is not None:
        found = _tasks(connection, "held_by_agent", agent, None)
    elif runtime is not None:
        found = _tasks(connection, "held_by_runtime", runtime)
    else:
        found = _tasks(connection, "held")
    return [hot for hot in found if runtime in (None, hot.runtime)]


def held_under(connection: apsw.Connection, agent: AgentId, stems: Sequence[str]) -> list[Hot]:
    return _tasks(connection, "held_by_agent", agent, json_list(stems))


def due(connection: apsw.Connection, now: Micros, limit: int) -> list[Hot]:
    found = connection.execute(SQL["due"], {"now": now, "limit": limit})
    return [rows.parse_hot(row) for row in found]


def drifting(connection: apsw.Connection, now: Micros, limit: int) -> list[Hot]:
    return _tasks(connection, "drifting", now, limit)


def prunable(connection: apsw.Connection, before: Micros, limit: int, dead_too: bool, after: Cursor) -> Prunable:
    old = {"before": before, "dead_too": dead_too}
    with snapshot(connection):
        final, is_last = ends.walk(connection, before, limit, after)
        asked = {**old, "ids": json_list(final)}
        ended = {hot.id: hot for hot in map(rows.parse_hot, connection.execute(SQL["ended"], asked))}
        candidates = [
            prune_batches.Candidate(Micros(at), seq, task_id, ended[task_id].dag_id)
            for task_id, (at, seq) in final.items()
            if task_id in ended
        ]
        dag_ids = {**old, "dag_ids": json_list(prune_batches.dag_ids_of(candidates))}
        sizes: dict[DagId, int] = dict(connection.execute(SQL["prunable_dags"], dag_ids))
        alone, dags, cursor = prune_batches.choose_batch(candidates, sizes, limit)
        if cursor is None or cursor == candidates[-1][:2]:
            cursor = None if is_last else next(reversed(final.values()))
        found = [ended[task_id] for task_id in alone]
        if dags:
            found += _tasks(connection, "dag_tasks", json_list(dags))
    return Prunable(tuple(found), cursor)


def find(connection: apsw.Connection, which: Filter, after: int, limit: int) -> list[Hot]:
    wanted: dict[str, Any] = {
        "beyond" if which.oldest_first else "after": after or None,
        **_wanted_statuses(which.statuses),
        "type": next(iter(which.types)) if len(which.types) == 1 else None,
        "types": json_list(which.types) if len(which.types) > 1 else None,
        **which.conditions(),
    }
    if which.queue == _DEFAULT_QUEUE:
        wanted["default_queue"] = wanted.pop("queue")
    asked = {name: value for name, value in wanted.items() if value is not None}
    order = SQL["find_oldest" if which.oldest_first else "find_newest"]
    sql = "\n".join([SQL["find"], *(SQL[f"find_{name}"] for name in asked), order])
    values = {**asked, "workspace": which.workspace, "limit": limit}
    return [rows.parse_hot(row) for row in connection.execute(sql, values)]


def _wanted_statuses(statuses: frozenset[Status]) -> dict[str, str]:
    """By which condition tasks in these states are found."""
    if not statuses:
        return {}
    for name, of_few_tasks in (("held", KEY_HELD), ("waiting", _SELDOM)):
        if statuses <= of_few_tasks:
            return {name: json_list(statuses)}
    return {"statuses": json_list(statuses)}


def tally(connection: apsw.Connection, workspace: str) -> dict[tuple[Status, str], int]:
    return {(rows.STATUSES[status], type_): number for status, type_, number in _query(connection, "tally", workspace)}


def depth(connection: apsw.Connection, workspace: str) -> dict[Status, int]:
    found = connection.execute(SQL["depth"], {"workspace": workspace})
    return {rows.STATUSES[status]: number for status, number in found if number}


def longest_ready(connection: apsw.Connection, workspace: str) -> Hot | None:
    return next(iter(_tasks(connection, "longest_ready", workspace)), None)


def first_ready(connection: apsw.Connection, lanes: Sequence[LaneId], limit: int) -> list[Hot]:
    with snapshot(connection):
        return [hot for lane in lanes for hot in _tasks(connection, "first_ready", lane, limit)]


def ahead(connection: apsw.Connection, lane: LaneId, rank: int, seq: int, limit: int) -> int:
    place = {"lane": lane, "rank": rank, "seq": seq, "limit": limit}
    return connection.execute(SQL["ahead"], place).get


def events(
    connection: apsw.Connection, after: int, limit: int, workspace: str | None, task_id: TaskId | None
) -> list[StoredEvent]:
    with snapshot(connection):
        gone = 0 if task_id is not None else pruned(connection, workspace)
        if 0 < after < gone:
            raise EventsGone(gone + 1)
        if task_id is None:
            return list(islice(log_reads.events_after(connection, after, workspace), limit))
        return _first(log_reads.events_of_task(connection, task_id, after=after), limit, workspace)


def events_of(connection: apsw.Connection, task_ids: Sequence[TaskId]) -> list[StoredEvent]:
    with snapshot(connection):
        return log_reads.events_of_tasks(connection, task_ids)


def newest_events(
    connection: apsw.Connection, limit: int, below: int | None, workspace: str | None, task_id: TaskId | None
) -> list[StoredEvent]:
    end = log_reads.AFTER_ALL if below is None else below
    with snapshot(connection):
        if task_id is None:
            return list(islice(log_reads.events_below(connection, end, workspace), limit))
        found = log_reads.events_of_task(connection, task_id, below=end, newest_first=True)
        return _first(found, limit, workspace)


def _first(found: Iterator[StoredEvent], limit: int, workspace: str | None) -> list[StoredEvent]:
    return list(islice((each for each in found if workspace in (None, each.event.workspace)), limit))


def outbox(connection: apsw.Connection, topic: str, limit: int) -> list[tuple[int, Outbox]]:
    return [(number, Outbox._make(row)) for number, *row in _query(connection, "outbox", topic, limit)]


def nearest(connection: apsw.Connection, query: VectorQuery) -> list[Near]:
    which = (query.workspace, query.embedder, None if query.types is None else json_list(query.types))
    if vector_extension.load(connection):
        found = _query(connection, "nearest_embeddings", *which, vectors.pack_vector(query.vector), query.limit)
        return [Near(*row) for row in found]
    return vectors.rank(_query(connection, "embeddings", *which), query)


def embedded(connection: apsw.Connection, workspace: str, embedder: str, task_ids: list[TaskId]) -> set[TaskId]:
    return {TaskId(row[0]) for row in _query(connection, "embedded", workspace, embedder, json_list(task_ids))}


def embedding_counts(connection: apsw.Connection, workspace: str) -> dict[str, int]:
    return dict(_query(connection, "embedding_counts", workspace))


def health(connection: apsw.Connection) -> dict[str, Json]:
    """Figures of the file. SQLite uses free pages before the file grows; the log is copied into it in pauses."""
    path = Path(connection.filename)
    size, free = _query(connection, "sizes").get
    log = Path(connection.filename_wal)
    return {
        "engine": "sqlite",
        "version": apsw.sqlite_lib_version(),
        "file_bytes": size,
        "free_bytes": free,
        "wal_bytes": log.stat().st_size if log.exists() else 0,
        "disk_free_bytes": shutil.disk_usage(path.parent).free,
        "clock_jump_sec": _last_jump(connection) / SECOND,
        "vector_search": "sqlite-vec" if vector_extension.load(connection) else vectors.search_kind(),
    }


def _last_jump(connection: apsw.Connection) -> int:
    """By how much the clock went back, for a day after it did."""
    jumped_at, jumped_by = _query(connection, "last_jump").get
    return jumped_by if last_numbers(connection).clock < jumped_at + DAY else 0


def checks(connection: apsw.Connection) -> list[str]:
    with snapshot(connection):
        return file_checks.find_problems(connection)
