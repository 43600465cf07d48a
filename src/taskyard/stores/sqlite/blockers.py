"""Taking blockers off: everything a batch lifts in one go, and what is parked under a ceiling.

What has no blocker left becomes ready as `transitions.ready` says, at the time its set was decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from taskyard.core import claiming
from taskyard.core.changes import Change, Limit
from taskyard.core.identifiers import blocker_for
from taskyard.core.task import TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.stores.shared.commits.lifts import LiftBatch, PlacedLift, default_reserve_of, make_unparked
from taskyard.stores.shared.rows import parse_record
from taskyard.stores.sqlite.statements import SQL, names_text, wide
from taskyard.stores.sqlite.transaction import Transaction


def blocked_by(transaction: Transaction, names: Iterable[str]) -> dict[str, list[TaskId]]:
    """What each name blocks, of those that block something."""
    blocked: dict[str, list[TaskId]] = {}
    for name, task_id, _ in transaction.connection.execute(SQL["blocked_by"], (names_text(names),)):
        blocked.setdefault(name, []).append(task_id)
    return blocked


def blocking(transaction: Transaction, names: Iterable[str]) -> set[str]:
    """Those of the names that block anything."""
    return {row[0] for row in transaction.connection.execute(SQL["names_that_block"], (names_text(names),))}


def lift(transaction: Transaction, placed: Sequence[PlacedLift]) -> dict[int, list[Change]]:
    """Take them all off; what became ready, by the place of the set that took its last blocker."""
    lifts = LiftBatch(placed)
    _remove(transaction, lifts)
    if not lifts.task_ids:
        return {}
    changes = lifts.make_ready(transaction.load("freed", names_text(lifts.task_ids)))
    transaction.move(change for each in changes.values() for change in each)
    return changes


def _remove(transaction: Transaction, lifts: LiftBatch) -> None:
    removed = list(wide("blocked_now").ask(transaction.connection, lifts.of_tasks))
    for number, task_id, wait, name in removed:
        lifts.removed_of_task(number, task_id, wait, name)
    transaction.write("remove_blockers", [row[1:] for row in removed])
    if lifts.names:
        names = names_text(lifts.names)
        for name, task_id, wait in transaction.connection.execute(SQL["blocked_by"], (names,)):
            lifts.removed_by_name(name, task_id, wait)
        transaction.run("remove_blockers_named", names)


def unpark(transaction: Transaction, limit: Limit, at: Micros) -> list[Change]:
    """Let go what is parked on this ceiling, as far as it has room."""
    name = blocker_for(limit.name)
    if name is None:
        return []
    parked = {hot.id: hot for hot in transaction.load("parked", name, limit.workspace)}
    if not parked:
        return []
    chosen = claiming.unpark(limit, parked.values(), _default_reserve(transaction, limit.workspace))
    transaction.write("remove_blockers", [(task_id, parked[task_id].wait, name) for task_id in chosen])
    changes = make_unparked(chosen, transaction.load("freed", names_text(chosen)), at)
    transaction.move(changes)
    return changes


def _default_reserve(transaction: Transaction, workspace: str) -> MicroUsd:
    row = transaction.connection.execute(SQL["record"], ("workspace", workspace, workspace)).get
    return default_reserve_of(None if row is None else parse_record(row))
