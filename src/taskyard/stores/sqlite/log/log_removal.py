"""Taking events out of the log: those of removed tasks and DAGs, and old ones of no owner.

A row goes with the last of its owners. Before that, readers leave out the events of those that are gone. The row is
written again without them once three quarters of its owners are gone: few events are written again, and few twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from taskyard.core.changes import Event, is_prunable
from taskyard.core.units import Micros
from taskyard.stores.shared.log_rows import decode_row, keep_events, last_number_of
from taskyard.stores.sqlite.log.log_reads import gone_owners, log_number, owner_of
from taskyard.stores.sqlite.statements import SQL, json_list
from taskyard.stores.sqlite.transaction import SqliteTransaction

Owners = Mapping[int, set[str]]  # by number of the log: the ids of tasks, and of DAGs with events of no task


def remove_owned_events(transaction: SqliteTransaction, workspace: str, owners: Owners) -> None:
    """Remove the events of these owners. The numbers are all those of the log that have some."""
    transaction.note_removal()
    wanted = {"numbers": json_list(sorted(owners)), "workspace": workspace}
    found = list(transaction.connection.execute(SQL["doomed_log"], wanted))
    if found:
        first = found[-1][0]
        body = transaction.connection.execute(SQL["log_body"], (first,)).get
        last = last_number_of(log_number(first), body, owners[log_number(first)])
        transaction.write("write_pruned", [(workspace, last)])
    gone: list[int] = []
    fewer: list[tuple[int, int]] = []
    for first, number, live, loose in found:
        left = live - len(owners[log_number(first)])
        if not left and not loose:
            gone.append(first)
        elif 4 * left > number:
            fewer.append((first, left))
        else:
            _keep_living(transaction, first, workspace, owners[log_number(first)])
    _remove_rows(transaction, gone)
    transaction.write("write_log_live", fewer)


def _keep_living(transaction: SqliteTransaction, first: int, workspace: str, doomed: set[str]) -> None:
    """Write the row again, without the events of those that are gone and of these."""
    body = transaction.connection.execute(SQL["log_body"], (first,)).get
    gone = doomed | gone_owners(transaction.connection, first, workspace, body)
    _rewrite(transaction, first, workspace, body, lambda event: owner_of(event) not in gone)
    transaction.run("remove_log_live", json_list([first]))


def _rewrite(
    transaction: SqliteTransaction, first: int, workspace: str, body: str, is_kept: Callable[[Event], bool]
) -> None:
    left = keep_events(log_number(first), workspace, body, is_kept)
    if not left:
        _remove_rows(transaction, [first])
    for row in left:
        transaction.run("rewrite_log", *row[2:], first)


def _remove_rows(transaction: SqliteTransaction, firsts: Sequence[int]) -> None:
    for name in ("remove_log", "remove_log_live") if firsts else ():
        transaction.run(name, json_list(firsts))


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
