"""Removing blockers: all lifts of a batch at once, and the blockers of tasks that are parked on a ceiling.

A task without a blocker becomes ready as `transitions.ready` says, at the time of the set that removed the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from taskyard.core import claiming
from taskyard.core.changes import Change, Limit
from taskyard.core.identifiers import blocker_for
from taskyard.core.task import TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.stores.shared.commits.lifts import LiftBatch, PlacedLift, default_reserve_of, make_unparked
from taskyard.stores.shared.rows import parse_record
from taskyard.stores.sqlite.log.log_append import Part, SetPlace
from taskyard.stores.sqlite.statements import SQL, json_list, multi_row
from taskyard.stores.sqlite.transaction import SqliteTransaction


def blocked_by(transaction: SqliteTransaction, names: Iterable[str]) -> dict[str, list[TaskId]]:
    """The tasks that each name blocks. A name that blocks nothing is left out."""
    blocked: dict[str, list[TaskId]] = {}
    for name, task_id, _ in transaction.connection.execute(SQL["blocked_by"], (json_list(names),)):
        blocked.setdefault(name, []).append(task_id)
    return blocked


def blocking_names(transaction: SqliteTransaction, names: Iterable[str]) -> set[str]:
    """The names that block at least one task."""
    return {row[0] for row in transaction.connection.execute(SQL["names_that_block"], (json_list(names),))}


def lift_blockers(
    transaction: SqliteTransaction, placed: Sequence[PlacedLift], set_places: Mapping[int, SetPlace]
) -> dict[int, list[Change]]:
    """Remove the blockers. Answers the changes to ready, by the place of the set that removed the last blocker."""
    lifts = LiftBatch(placed)
    _remove(transaction, lifts)
    if not lifts.task_ids:
        return {}
    changes = lifts.make_ready(transaction.load("freed", json_list(lifts.task_ids)))
    places = [set_places[place] for place, each in changes.items() for _ in each]
    transaction.apply_changes(Part.UNBLOCKED, places, [change for each in changes.values() for change in each])
    return changes


def _remove(transaction: SqliteTransaction, lifts: LiftBatch) -> None:
    removed = list(multi_row("blocked_now").ask(transaction.connection, lifts.of_tasks))
    for number, task_id, wait, name in removed:
        lifts.removed_of_task(number, task_id, wait, name)
    transaction.write("remove_blockers", [row[1:] for row in removed])
    if lifts.names:
        names = json_list(lifts.names)
        for name, task_id, wait in transaction.connection.execute(SQL["blocked_by"], (names,)):
            lifts.removed_by_name(name, task_id, wait)
        transaction.run("remove_blockers_named", names)


def unpark(transaction: SqliteTransaction, limit: Limit, at: Micros) -> list[Change]:
    """Make parked tasks ready, as far as the ceiling has room."""
    name = blocker_for(limit.name)
    if name is None:
        return []
    parked = {hot.id: hot for hot in transaction.load("parked", name, limit.workspace)}
    if not parked:
        return []
    chosen = claiming.unpark(limit, parked.values(), _default_reserve(transaction, limit.workspace))
    transaction.write("remove_blockers", [(task_id, parked[task_id].wait, name) for task_id in chosen])
    changes = make_unparked(chosen, transaction.load("freed", json_list(chosen)), at)
    transaction.append_changes(changes)
    return changes


def _default_reserve(transaction: SqliteTransaction, workspace: str) -> MicroUsd:
    row = transaction.connection.execute(SQL["record"], ("workspace", workspace, workspace)).get
    return default_reserve_of(None if row is None else parse_record(row))
