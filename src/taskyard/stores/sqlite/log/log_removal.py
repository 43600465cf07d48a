"""Taking events out of the log: those of removed tasks and DAGs, and old ones of no owner.

A row goes with the last of its owners. Before that, it is written again without the events of those that are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from taskyard.core.changes import Event, is_prunable
from taskyard.core.units import Micros
from taskyard.stores.shared.log_rows import decode_row, keep_events
from taskyard.stores.sqlite.log.log_reads import log_number
from taskyard.stores.sqlite.statements import SQL, json_list
from taskyard.stores.sqlite.transaction import SqliteTransaction

Owners = Mapping[int, set[str]]  # by number of the log: the ids of tasks, and of DAGs with events of no task


def remove_owned_events(transaction: SqliteTransaction, workspace: str, owners: Owners) -> None:
    """Remove the events of these owners. The numbers are all those of the log that have some."""
    transaction.note_removal()
    wanted = {"numbers": json_list(sorted(owners)), "workspace": workspace}
    found = list(transaction.connection.execute(SQL["doomed_log"], wanted))
    gone: list[int] = []
    last = 0
    for first, number, loose, body in found:
        doomed = owners[log_number(first)]
        if first == found[-1][0]:
            last = _last_number(first, workspace, body, doomed)
        if len(doomed) == number and not loose:
            gone.append(first)
        else:
            _rewrite(transaction, first, workspace, body, _is_kept_from(doomed))
    transaction.run("remove_log", json_list(gone))
    transaction.write("write_pruned", [(workspace, last)] if last else [])


def _owner_of(event: Event) -> str | None:
    return event.dag_id if event.task_id is None else event.task_id


def _is_kept_from(doomed: set[str]) -> Callable[[Event], bool]:
    return lambda event: _owner_of(event) not in doomed


def _last_number(first: int, workspace: str, body: str, doomed: set[str]) -> int:
    events = decode_row(log_number(first), workspace, body)
    return max((stored.seq for stored in events if _owner_of(stored.event) in doomed), default=0)


def _rewrite(
    transaction: SqliteTransaction, first: int, workspace: str, body: str, is_kept: Callable[[Event], bool]
) -> None:
    left = keep_events(log_number(first), workspace, body, is_kept)
    if not left:
        transaction.run("remove_log", json_list([first]))
    for row in left:
        transaction.run("rewrite_log", *row[2:], first)


def prune_events(transaction: SqliteTransaction, before: Micros, after: int, limit: int) -> int | None:
    """Remove old events of no owner. Answers the number to go on after; None: none follows."""
    transaction.note_removal()
    found = list(transaction.connection.execute(SQL["loose_log"], (after, before, limit)))
    removed = 0
    for first, workspace, body in found:
        events = decode_row(log_number(first), workspace, body)
        old = [stored.seq for stored in events if is_prunable(stored.event, before)]
        _rewrite(transaction, first, workspace, body, lambda event: not is_prunable(event, before))
        transaction.write("write_pruned", [(workspace, old[-1])])
        removed += len(old)
        if removed >= limit:
            return first
    return None
