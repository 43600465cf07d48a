"""Reading events from the rows of the log.

A row of which some owners are gone still has their events: readers ask which owners are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from taskyard.core.changes import Event, StoredEvent
from taskyard.core.task import TaskId
from taskyard.stores.postgres.connection.reader import PostgresReader
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.shared.log_rows import PLACES, decode_row, keep_events
from taskyard.stores.shared.rows import Row
from taskyard.stores.turns import LONG_TURN, pause

AFTER_ALL = 2**62  # above the number of any event
_PAGE = 500  # rows that one statement reads to check what they count
_TEXT = 64_000  # characters of rows of the log that are read at once, at least
_ROWS_AT_ONCE = 16  # of the rows of some tasks: each may have 64 kB
_EVENT = 200  # characters of an event, about

Owner = tuple[int, str, str]  # number of the log, workspace, id of a task or a DAG


def owner_of(event: Event) -> str | None:
    """The task that the event is of, or the DAG if it is of no task."""
    return event.dag_id if event.task_id is None else event.task_id


async def events_after(reader: PostgresReader, after: int, limit: int, workspace: str | None) -> list[StoredEvent]:
    return await _events(reader, limit, workspace, after=after)


async def events_below(reader: PostgresReader, end: int, limit: int, workspace: str | None) -> list[StoredEvent]:
    """The events with a lower number, newest first."""
    return await _events(reader, limit, workspace, below=end)


async def _events(
    reader: PostgresReader, limit: int, workspace: str | None, *, after: int = -1, below: int | None = None
) -> list[StoredEvent]:
    """Read rows of the log until there are enough events."""
    # The horizon is read before the events, and not on one snapshot with them: all events up to it must be visible.
    horizon = await reader.value("log_horizon")
    which = () if workspace is None else (workspace,)
    name, number, step = ("log_rows", after // PLACES, 1) if below is None else ("last_log_rows", below // PLACES, -1)
    statement = name if workspace is None else f"{name}_of_workspace"
    end = AFTER_ALL if below is None else below
    found: list[StoredEvent] = []
    while len(found) < limit:
        page = await reader.ask(statement, number, horizon, limit, max(_TEXT, _EVENT * limit), *which)
        if not page:
            break
        read = [stored for stored in await decode_living(reader, page) if after < stored.seq < end]
        found += sorted(read, reverse=step < 0)
        number = page[-1][0] + step
    return found[:limit]


async def events_of_task(
    reader: PostgresReader, workspace: str | None, task_id: TaskId, after: int, limit: int
) -> list[StoredEvent]:
    of_task = await _of_task(reader, workspace, task_id, range(after // PLACES, AFTER_ALL), limit)
    return [stored for stored in of_task if stored.seq > after][:limit]


async def newest_of_task(
    reader: PostgresReader, workspace: str | None, task_id: TaskId, end: int, limit: int
) -> list[StoredEvent]:
    of_task = await _of_task(reader, workspace, task_id, range(end // PLACES, -1, -1), limit)
    return [stored for stored in reversed(of_task) if stored.seq < end][:limit]


async def _of_task(
    reader: PostgresReader, workspace: str | None, task_id: TaskId, numbers: range, limit: int
) -> list[StoredEvent]:
    """The events of a task in the first rows of the log within these numbers that have any, in order."""
    named = await reader.ask("numbers_of_tasks", [task_id])
    if not named or workspace not in (None, named[0][0]):
        return []
    within = [number for _, number in named[:: numbers.step] if number in numbers]
    # One more than the limit: of the first row, all events may be beyond the place that was asked for.
    page = await reader.ask("named_log_rows", within[: limit + 1], named[0][0]) if within else []
    return [stored for stored in await decode_living(reader, page) if stored.event.task_id == task_id]


async def events_of_tasks(reader: PostgresReader, task_ids: Sequence[TaskId]) -> list[StoredEvent]:
    """The events of these tasks in order."""
    wanted, found = set(task_ids), list[StoredEvent]()
    for workspace, named in groupby(await reader.ask("numbers_of_tasks", list(task_ids)), key=itemgetter(0)):
        numbers = [number for _, number in named]
        for start in range(0, len(numbers), _ROWS_AT_ONCE):
            page = await reader.ask("named_log_rows", numbers[start : start + _ROWS_AT_ONCE], workspace)
            found += [stored for stored in await decode_living(reader, page) if stored.event.task_id in wanted]
    return sorted(found)


async def decode_living(reader: PostgresReader, page: Sequence[Row]) -> list[StoredEvent]:
    """The events of these rows, without those of owners that are gone."""
    gone = await gone_owners(reader, [(row[0], row[1], row[3]) for row in page if row[2]])
    found: list[StoredEvent] = []
    decoded = 0  # events at the last pause: a row has one of them or up to 512
    for number, workspace, _, body in page:
        if len(found) - decoded > LONG_TURN:
            decoded = len(found)
            await pause()
        events = decode_row(number, workspace, body)
        if gone:
            events = (stored for stored in events if (number, workspace, owner_of(stored.event)) not in gone)
        found += events
    return found


async def gone_owners(reader: PostgresReader, rows: Sequence[Row]) -> set[Owner]:
    """The owners of events in these rows that are not there any more."""
    owners: set[Owner] = {
        (number, workspace, owner)
        for number, workspace, body in rows
        for stored in decode_row(number, workspace, body)
        if (owner := owner_of(stored.event)) is not None
    }
    if not owners:
        return set()
    return owners.difference(tuple(row) for row in await reader.ask("live_owners", *transpose(list(owners), 3)))


async def count_problems(reader: PostgresReader) -> list[str]:
    """Rows of the log that do not count what they hold: they would be removed too early, or never."""
    problems: list[str] = []
    last = 0, ""
    while page := await reader.ask("log_counts", *last, _PAGE):
        last = page[-1][:2]
        gone = await gone_owners(reader, [row[:3] for row in page if row[3] is not None])
        for number, workspace, body, live, *counts in page:
            kept = keep_events(number, workspace, body, lambda _: True)
            left = counts[0] - sum(each[:2] == (number, workspace) for each in gone)
            if [list(row[2:5]) for row in kept] != [counts] or live not in (None, left):
                problems.append(f"row {number} of the log does not count what it holds")
    return problems
