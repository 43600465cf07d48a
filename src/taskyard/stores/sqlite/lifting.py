"""Taking blockers off: everything a batch lifts in one go, and what is parked under a ceiling.

What has no blocker left becomes ready as `transitions.ready` says, at the time its set was decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from taskyard.core import claiming, transitions
from taskyard.core.changes import Change, Lift, Limit
from taskyard.core.task import Hot, TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.stores.sqlite.rows import names_text, record
from taskyard.stores.sqlite.statements import SQL, wide
from taskyard.stores.sqlite.transaction import Transaction


class Lifted(NamedTuple):
    """A lift, and the set it came with."""

    place: int  # of its set in the batch
    at: Micros
    lift: Lift


class _Hit(NamedTuple):
    number: int  # of the lift that took the row
    wait: int


def blocked_by(transaction: Transaction, names: Iterable[str]) -> dict[str, list[TaskId]]:
    """What each name blocks, of those that block something."""
    blocked: dict[str, list[TaskId]] = {}
    for name, task_id, _ in transaction.connection.execute(SQL["blocked_by"], (names_text(names),)):
        blocked.setdefault(name, []).append(task_id)
    return blocked


def blocking(transaction: Transaction, names: Iterable[str]) -> set[str]:
    """Those of the names that block anything."""
    return {row[0] for row in transaction.connection.execute(SQL["names_that_block"], (names_text(names),))}


def lift(transaction: Transaction, lifts: Sequence[Lifted]) -> dict[int, list[Change]]:
    """Take them all off; what became ready, by the place of the set that took its last blocker."""
    hits = _take_off(transaction, lifts)
    if not hits:
        return {}
    freed = [(_last(hits[hot.id], hot), hot) for hot in transaction.load("freed", names_text(hits))]
    changes: dict[int, list[Change]] = {}
    for number, hot in sorted(freed, key=lambda each: (each[0], each[1].id)):
        by = lifts[number]
        changes.setdefault(by.place, []).append(transitions.ready(hot, now=by.at))
    transaction.move(change for each in changes.values() for change in each)
    return changes


def _take_off(transaction: Transaction, lifts: Sequence[Lifted]) -> dict[TaskId, list[_Hit]]:
    """Remove the rows; which lifts took one from each task."""
    hits: dict[TaskId, list[_Hit]] = {}
    named: dict[str, int] = {}
    aimed: list[tuple[int, TaskId, str, bool]] = []
    for number, (_, _, (name, task_id, ends_wait)) in enumerate(lifts):
        if task_id is None:
            named.setdefault(name, number)  # the first takes all there is
        else:
            aimed.append((number, task_id, name, ends_wait))
    removed = list(wide("blocked_now").ask(transaction.connection, aimed))
    for number, task_id, wait, name in removed:
        hits.setdefault(task_id, []).append(_Hit(min(number, named.get(name, number)), wait))
    transaction.write("remove_blockers", [row[1:] for row in removed])
    if named:
        names = names_text(named)
        for name, task_id, wait in transaction.connection.execute(SQL["blocked_by"], (names,)):
            hits.setdefault(task_id, []).append(_Hit(named[name], wait))
        transaction.run("remove_blockers_named", names)
    return hits


def _last(hits: Sequence[_Hit], hot: Hot) -> int:
    """The lift that took the last blocker of the present wait."""
    return max((hit.number for hit in hits if hit.wait == hot.wait), default=min(hit.number for hit in hits))


def unpark(transaction: Transaction, limit: Limit, at: Micros) -> list[Change]:
    """Let go what is parked on this ceiling, as far as it has room."""
    name = claiming.parked_on(limit.name)
    if name is None:
        return []
    parked = {hot.id: hot for hot in transaction.load("parked", name, limit.workspace)}
    if not parked:
        return []
    chosen = claiming.unpark(limit, parked.values(), _default_reserve(transaction, limit.workspace))
    transaction.write("remove_blockers", [(task_id, parked[task_id].wait, name) for task_id in chosen])
    freed = {hot.id: hot for hot in transaction.load("freed", names_text(chosen))}
    changes = [transitions.ready(freed[task_id], now=at) for task_id in chosen if task_id in freed]
    transaction.move(changes)
    return changes


def _default_reserve(transaction: Transaction, workspace: str) -> MicroUsd:
    row = transaction.connection.execute(SQL["record"], ("workspace", workspace, workspace)).get
    reserve = None if row is None else record(row).body.get("default_reserve")
    return MicroUsd(reserve if isinstance(reserve, int) else 0)
