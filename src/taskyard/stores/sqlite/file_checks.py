"""Whether the tables of the file agree with each other: what is stored twice is the same in both places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import apsw

from taskyard.stores.shared.log_rows import decode_row, keep_events
from taskyard.stores.sqlite.log.log_reads import log_number, numbers_in
from taskyard.stores.sqlite.statements import SQL

_STATEMENTS = (
    *("without_definition", "definition_without_task", "numbers_behind", "attempt_without_task"),
    *("ready_without_task", "task_without_ready", "held_without_task", "name_without_task", "task_without_name"),
)
_Numbers = defaultdict[str, set[int]]  # of the log, by the id of a task or a DAG


def find_problems(connection: apsw.Connection) -> list[str]:
    found = [row[0] for row in connection.execute(SQL["integrity"]) if row[0] != "ok"]
    found += [row[0] for name in _STATEMENTS for row in connection.execute(SQL[name])]
    return [*found, *_wrong_log_rows(connection), *_wrong_numbers(connection)]


def _wrong_log_rows(connection: apsw.Connection) -> Iterator[str]:
    """Rows of the log that count something else than they have."""
    for first, workspace, owners, ends, loose, body in connection.execute(SQL["every_log_row"]):
        whole = [row[2:5] for row in keep_events(log_number(first), workspace, body, lambda _: True)]
        if whole != [(owners, ends, loose)]:
            yield f"log row {first} counts {(owners, ends, loose)}, and has {whole}"


def _wrong_numbers(connection: apsw.Connection) -> Iterator[str]:
    """Tasks that do not look where their events are, or look where nothing is; and DAGs likewise."""
    of_tasks, of_dags = _numbers_by_owner(connection)
    stored = {log_number(first) for first, *_ in connection.execute(SQL["every_log_row"])}
    for task_id, numbers in _numbers_of_tasks(connection).items():
        if missed := of_tasks.pop(task_id, set()) - numbers:
            yield f"{task_id} has events in {sorted(missed)} of the log, and does not look there"
        if empty := numbers - stored:
            yield f"{task_id} looks for events in {sorted(empty)} of the log, and there are none"
    for dag_id, number in connection.execute(SQL["every_dag_event"]):
        if number not in of_dags[dag_id]:
            yield f"{dag_id} looks for events in {number} of the log, and there are none"


def _numbers_by_owner(connection: apsw.Connection) -> tuple[_Numbers, _Numbers]:
    """Where the events of each task are, and those of each DAG that are of no task."""
    of_tasks: _Numbers = defaultdict(set)
    of_dags: _Numbers = defaultdict(set)
    for first, workspace, *_, body in connection.execute(SQL["every_log_row"]):
        for _, event, _ in decode_row(log_number(first), workspace, body):
            if event.task_id is not None:
                of_tasks[event.task_id].add(log_number(first))
            elif event.dag_id is not None:
                of_dags[event.dag_id].add(log_number(first))
    return of_tasks, of_dags


def _numbers_of_tasks(connection: apsw.Connection) -> dict[str, set[int]]:
    """Where each task looks for its events."""
    found = {task_id: numbers_in(text) for task_id, text in connection.execute(SQL["every_log_of_task"])}
    for task_id, number in connection.execute(SQL["every_task_event"]):
        found.setdefault(task_id, set()).add(number)
    return found
