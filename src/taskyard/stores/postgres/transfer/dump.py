"""Copies of the rows of a yard, page by page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from taskyard.core.changes import Checkpoint, Limit, Outbox, Signal
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
from taskyard.stores.postgres import queries
from taskyard.stores.postgres.log import log_reads
from taskyard.stores.postgres.queries import PostgresReader
from taskyard.stores.shared import rows

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


async def dump(reader: PostgresReader, part: YardPart, after: CopyPlace, limit: int) -> list[Copy]:
    match part:
        case YardPart.SECRET:
            return [YardSecret(await reader.value("dump_secret"))]
        case YardPart.TASKS:
            async with reader.snapshot():
                return await _dump_tasks(reader, after, limit)
        case YardPart.EVENTS:
            return [*await log_reads.events_after(reader, int(after[0]) if after else 0, limit, None)]
        case _:
            statement, start, copy = _PAGES[part]
            return [copy(row) for row in await reader.ask(statement, *(after or start), limit)]


async def _dump_tasks(reader: PostgresReader, after: CopyPlace, limit: int) -> list[Copy]:
    hots = await reader.tasks("dump_tasks", *(after or (0,)), limit)
    ids = [hot.id for hot in hots]
    lanes = {row[0]: row[1] for row in await reader.ask("dump_lanes", list({hot.lane for hot in hots}))}
    definitions = await queries.definitions(reader, ids)
    history = TaskHistory(
        attempts=[each for some in (await queries.histories(reader, ids)).values() for each in some],
        outputs=list((await queries.outputs(reader, ids)).values()),
        checkpoints=[Checkpoint._make(row) for row in await reader.ask("dump_checkpoints", ids)],
        signals=[Signal._make(row) for row in await reader.ask("dump_signals", ids)],
        blockers=sorted(await queries.blockers(reader, ids)),
        edges=sorted(await queries.edges(reader, ids)),
    )
    tasks = [TaskCopy(hot, rows.parse_lane(lanes[hot.lane]), definitions[hot.id]) for hot in hots]
    return with_history(tasks, history)
