"""Copies of the rows of a yard, page by page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import apsw

from taskyard.core.changes import (
    Checkpoint,
    Limit,
    Outbox,
    Signal,
)
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
    with_history,
)
from taskyard.stores.shared import rows
from taskyard.stores.sqlite import queries
from taskyard.stores.sqlite.log.log_reads import events_after
from taskyard.stores.sqlite.statements import SQL, json_list

# The statement of each part, the place before all of its rows, and what makes a copy of a row.
_PAGES: Mapping[YardPart, tuple[str, CopyPlace, Callable[[rows.Row], Copy]]] = {
    YardPart.RECORDS: ("dump_records", ("", "", ""), rows.parse_record),
    YardPart.LIMITS: ("dump_limits", ("", ""), Limit._make),
    YardPart.COUNTERS: ("dump_counters", ("", ""), CounterCopy._make),
    YardPart.DUTIES: ("dump_duties", ("",), DutyCopy._make),
    YardPart.PULSES: ("dump_pulses", ("",), PulseCopy._make),
    YardPart.PRUNED: ("dump_pruned", ("",), PrunedEvents._make),
    YardPart.OUTBOX: ("dump_outbox", (0,), lambda row: OutboxCopy(row[0], Outbox._make(row[1:]))),
}


def dump(connection: apsw.Connection, part: YardPart, after: CopyPlace, limit: int) -> list[Copy]:
    match part:
        case YardPart.SECRET:
            return [YardSecret(connection.execute(SQL["dump_secret"]).get)]
        case YardPart.TASKS:
            with queries.snapshot(connection):
                return _dump_tasks(connection, after, limit)
        case YardPart.EVENTS:
            with queries.snapshot(connection):
                return list(islice(events_after(connection, int(after[0]) if after else 0, None), limit))
        case _:
            statement, start, copy = _PAGES[part]
            return [copy(row) for row in connection.execute(SQL[statement], (*(after or start), limit))]


def _dump_tasks(connection: apsw.Connection, after: CopyPlace, limit: int) -> list[Copy]:
    hots = [rows.parse_hot(row) for row in connection.execute(SQL["dump_tasks"], (*(after or (0,)), limit))]
    ids = [hot.id for hot in hots]
    lanes = dict(_ask(connection, "dump_lanes", sorted({hot.lane for hot in hots})))
    definitions = queries.definitions(connection, ids)
    history = TaskHistory(
        attempts=[each for some in queries.histories(connection, ids).values() for each in some],
        outputs=list(queries.outputs(connection, ids).values()),
        checkpoints=[Checkpoint._make(row) for row in _ask(connection, "dump_checkpoints", ids)],
        signals=[Signal._make(row) for row in _ask(connection, "dump_signals", ids)],
        blockers=queries.blockers(connection, ids),
        edges=queries.edges(connection, ids),
    )
    tasks = [TaskCopy(hot, rows.parse_lane(lanes[hot.lane]), definitions[hot.id]) for hot in hots]
    return with_history(tasks, history)


def _ask(connection: apsw.Connection, name: str, values: Sequence[str | int]) -> list[Any]:
    return list(connection.execute(SQL[name], (json_list(values),)))
