"""Reading events from the rows of the log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby

import apsw

from taskyard.core.changes import Event, StoredEvent
from taskyard.core.task import TaskId
from taskyard.stores.shared.log_rows import PLACES, decode_row, split_number
from taskyard.stores.sqlite.statements import SQL, json_list

AFTER_ALL = 2**62  # above the number of any event
_ROWS_AT_ONCE = 16  # of a task's rows: each may have 64 kB

LogText = tuple[int, str, bool, str]  # number of the first event, workspace, whether some owners are gone, body


def log_number(first: int) -> int:
    return split_number(first)[0]


def numbers_in(text: str) -> set[int]:
    """The numbers of the log that the row of a task has as one text."""
    return {int(number) for number in text.split(",") if number}


def events_after(connection: apsw.Connection, after: int, workspace: str | None) -> Iterator[StoredEvent]:
    """The events with a higher number, read row by row. A row is of one workspace."""
    whole = {"place": after // PLACES * PLACES, "workspace": workspace}
    found = _in_order(connection, connection.execute(SQL["events"], whole))
    return chain.from_iterable(
        # Only in the first row may there be others.
        events if events[0].seq > after else [stored for stored in events if stored.seq > after]
        for events in found
        if events
    )


def events_below(connection: apsw.Connection, below: int, workspace: str | None) -> Iterator[StoredEvent]:
    """The events with a lower number, newest first."""
    whole = {"place": below, "workspace": workspace}
    found = _in_order(connection, connection.execute(SQL["newest_events"], whole), newest_first=True)
    return (stored for events in found for stored in events if stored.seq < below)


def _in_order(
    connection: apsw.Connection, found: Iterable[LogText], *, newest_first: bool = False
) -> Iterator[Sequence[StoredEvent]]:
    """The events of each number of the log: rows of several workspaces that share it take turns."""
    for _, texts in groupby(found, key=lambda row: log_number(row[0])):
        rows = [_living(connection, text) for text in texts]
        yield rows[0] if len(rows) == 1 and not newest_first else sorted(chain(*rows), reverse=newest_first)


def events_of_task(
    connection: apsw.Connection, task_id: TaskId, *, after: int = 0, below: int = AFTER_ALL, newest_first: bool = False
) -> Iterator[StoredEvent]:
    """The events of a task between two numbers."""
    workspace, numbers = _numbers_of(connection, task_id)
    wanted = [number for number in numbers if log_number(after) <= number <= log_number(below)]
    if newest_first:
        wanted.reverse()
    for start in range(0, len(wanted), _ROWS_AT_ONCE):
        some = {"numbers": json_list(wanted[start : start + _ROWS_AT_ONCE]), "workspace": workspace}
        events = sorted(_decoded(connection, connection.execute(SQL["log_rows"], some)), reverse=newest_first)
        yield from (each for each in events if each.event.task_id == task_id and after < each.seq < below)


def events_of_tasks(connection: apsw.Connection, task_ids: Iterable[TaskId]) -> list[StoredEvent]:
    """The events of these tasks in order."""
    wanted, numbers_in_workspace = set(task_ids), defaultdict[str, set[int]](set)
    for task_id in wanted:
        workspace, numbers = _numbers_of(connection, task_id)
        numbers_in_workspace[workspace].update(numbers)
    found: list[StoredEvent] = []
    for workspace, numbers in numbers_in_workspace.items():
        named = {"numbers": json_list(numbers), "workspace": workspace}
        events = _decoded(connection, connection.execute(SQL["log_rows"], named))
        found += (stored for stored in events if stored.event.task_id in wanted)
    return sorted(found)


def _numbers_of(connection: apsw.Connection, task_id: TaskId) -> tuple[str, list[int]]:
    row = connection.execute(SQL["log_of_task"], (task_id,)).get
    if row is None:
        return "", []
    workspace, text = row
    late = (number for (number,) in connection.execute(SQL["numbers_of_task"], (task_id,)))
    return workspace, sorted({*numbers_in(text), *late})


def _decoded(connection: apsw.Connection, found: Iterable[LogText]) -> Iterator[StoredEvent]:
    return chain.from_iterable(_living(connection, text) for text in found)


def _living(connection: apsw.Connection, text: LogText) -> Sequence[StoredEvent]:
    """The events of a row in order, without those of owners that are gone."""
    first, workspace, is_partly_gone, body = text
    events = decode_row(log_number(first), workspace, body)
    if not is_partly_gone:
        return events
    gone = gone_owners(connection, first, workspace, body)
    return [stored for stored in events if owner_of(stored.event) not in gone]


def owner_of(event: Event) -> str | None:
    """The task that the event is of, or the DAG if it is of no task."""
    return event.dag_id if event.task_id is None else event.task_id


def gone_owners(connection: apsw.Connection, first: int, workspace: str, body: str) -> set[str]:
    """The owners of a row's events that are not there any more."""
    number = log_number(first)
    owners = {owner for _, event, _ in decode_row(number, workspace, body) if (owner := owner_of(event)) is not None}
    asked = {"ids": json_list(owners), "number": number, "workspace": workspace}
    return owners.difference(row[0] for row in connection.execute(SQL["live_owners"], asked))
