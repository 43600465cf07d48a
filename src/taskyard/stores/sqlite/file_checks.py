"""Whether the tables of the file agree with each other: what is stored twice is the same in both places.

The log is read row by row, and tasks in pages: a yard may have more of both than fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import apsw

from taskyard.core.changes import Event
from taskyard.core.task import FINAL
from taskyard.stores.shared.log_rows import decode_row
from taskyard.stores.sqlite.log.log_reads import gone_owners, log_number, numbers_in
from taskyard.stores.sqlite.statements import SQL, json_list

_STATEMENTS = (
    *("without_definition", "definition_without_task", "attempt_without_task", "numbers_behind"),
    *("ready_without_task", "task_without_ready", "held_without_task", "name_without_task", "task_without_name"),
    *("task_event_without_log", "dag_event_without_log", "log_live_without_log", "stream_with_a_gap"),
)
_PAGE = 1_000  # tasks


def find_problems(connection: apsw.Connection) -> list[str]:
    found = [row[0] for row in connection.execute(SQL["integrity"]) if row[0] != "ok"]
    found += [row[0] for name in _STATEMENTS for row in connection.execute(SQL[name])]
    return [*found, *_problems_of_log(connection), *_empty_numbers(connection)]


def _problems_of_log(connection: apsw.Connection) -> Iterator[str]:
    """Rows that count something else than they have, and tasks that do not look where their events are."""
    for first, workspace, live, *counted, body in connection.execute(SQL["every_log_row"]):
        events = [stored.event for stored in decode_row(log_number(first), workspace, body)]
        gone = set[str]() if live is None else gone_owners(connection, first, workspace, body)
        if counted != _counts(events):
            yield f"log row {first} counts {counted}, and has {_counts(events)}"
        if live not in (None, counted[0] - len(gone)):
            yield f"log row {first} has another number of owners left than {live}"
        owners = json_list({event.task_id for event in events if event.task_id is not None} - gone)
        for task_id, text, is_elsewhere in connection.execute(SQL["log_of_tasks"], (log_number(first), owners)):
            if not is_elsewhere and log_number(first) not in numbers_in(text):
                yield f"{task_id} has events in log row {first}, and does not look there"


def _counts(events: Sequence[Event]) -> list[int]:
    """Owners, ends and loose events, as `stores.shared.log_rows.LogRow` has them."""
    owners = {event.task_id or event.dag_id for event in events} - {None}
    loose = [event for event in events if event.task_id is None and event.dag_id is None]
    return [len(owners), sum(event.status in FINAL for event in events), len(loose)]


def _empty_numbers(connection: apsw.Connection) -> Iterator[str]:
    """Tasks that look for events where the log has no row."""
    tasks = connection.execute(SQL["every_log_of_task"])
    while page := list(islice(tasks, _PAGE)):
        wanted = {number for _, text in page for number in numbers_in(text)}
        missing = {row[0] for row in connection.execute(SQL["numbers_without_log"], (json_list(wanted),))}
        for task_id, text in page if missing else ():
            if gone := sorted(missing & numbers_in(text)):
                yield f"{task_id} looks for events in {gone} of the log, and there are none"
