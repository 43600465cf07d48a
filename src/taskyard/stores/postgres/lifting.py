"""Taking blockers off: everything a wave lifts in one go, and what is parked under a ceiling.

Three statements, in this order: lock the tasks, delete the blockers, and only then look which tasks have none left.
What has none becomes ready as `transitions.ready` says, at the time its set was decided.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from taskyard.core import claiming, transitions
from taskyard.core.changes import Change, Lift, Limit
from taskyard.core.task import Hot, TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.stores.postgres.rows import record
from taskyard.stores.postgres.statements import columns
from taskyard.stores.postgres.transaction import Transaction


class Lifted(NamedTuple):
    """A lift, and the set it came with."""

    place: int  # of its set in the wave
    at: Micros
    lift: Lift


class _Hit(NamedTuple):
    number: int  # of the lift that took the row
    wait: int


async def lift(transaction: Transaction, lifts: Sequence[Lifted]) -> dict[int, list[Change]]:
    """Take them all off; what became ready, by the place of the set that took its last blocker."""
    hits = await _take_off(transaction, lifts)
    if not hits:
        return {}
    # A task that was blocked only after the others were locked.
    await transaction.lock_more(hits)
    freed = [(_last(hits[hot.id], hot), hot) for hot in await transaction.load("freed", list(hits))]
    changes: dict[int, list[Change]] = {}
    for number, hot in sorted(freed, key=lambda each: (each[0], each[1].id)):
        by = lifts[number]
        changes.setdefault(by.place, []).append(transitions.ready(hot, now=by.at))
    transaction.move(change for each in changes.values() for change in each)
    return changes


async def _take_off(transaction: Transaction, lifts: Sequence[Lifted]) -> dict[TaskId, list[_Hit]]:
    """Remove the rows; which lifts took one from each task."""
    hits: dict[TaskId, list[_Hit]] = {}
    named: dict[str, int] = {}
    aimed: list[tuple[int, TaskId, str, bool]] = []
    for number, (_, _, (name, task_id, ends_wait)) in enumerate(lifts):
        if task_id is None:
            named.setdefault(name, number)  # the first takes all there is
        else:
            aimed.append((number, task_id, name, ends_wait))
    if aimed:
        for number, task_id, wait, name in await transaction.ask("take_off_aimed", *columns(aimed, 4)):
            hits.setdefault(task_id, []).append(_Hit(min(number, named.get(name, number)), wait))
    if named:
        for name, task_id, wait in await transaction.ask("take_off_named", list(named)):
            hits.setdefault(task_id, []).append(_Hit(named[name], wait))
    transaction.wrote = transaction.wrote or bool(hits)
    return hits


def _last(hits: Sequence[_Hit], hot: Hot) -> int:
    """The lift that took the last blocker of the present wait."""
    return max((hit.number for hit in hits if hit.wait == hot.wait), default=min(hit.number for hit in hits))


async def blocking(transaction: Transaction, names: Collection[str]) -> set[str]:
    """Those of the names that block anything."""
    return {row[0] for row in await transaction.ask("names_that_block", list(names))} if names else set()


async def unpark(transaction: Transaction, limit: Limit, at: Micros) -> list[Change]:
    """Let go what is parked on this ceiling, as far as it has room. Its row is locked: nobody parks meanwhile."""
    name = claiming.parked_on(limit.name)
    if name is None:
        return []
    parked, chosen = await _up_for_it(transaction, limit, name)
    if not chosen:
        return []
    await transaction.run("remove_blockers", *columns([(each, parked[each].wait, name) for each in chosen], 3))
    freed = {hot.id: hot for hot in await transaction.load("freed", list(chosen))}
    changes = [transitions.ready(freed[task_id], now=at) for task_id in chosen if task_id in freed]
    transaction.move(changes)
    await transaction.flush()
    return changes


async def _up_for_it(transaction: Transaction, limit: Limit, name: str) -> tuple[dict[TaskId, Hot], list[TaskId]]:
    """What is parked there, and which of it is to go: chosen among rows that do not move any more."""
    reserve: MicroUsd | None = None
    while True:
        parked = {hot.id: hot for hot in await transaction.load("parked", name, limit.workspace)}
        if parked and reserve is None:
            reserve = await _default_reserve(transaction, limit.workspace)
        chosen = claiming.unpark(limit, parked.values(), reserve or MicroUsd(0))
        if transaction.locked.issuperset(chosen):
            return parked, chosen
        # They were read unlocked: one that was cancelled meanwhile must not keep its place in the choice.
        await transaction.lock_more(chosen)


async def _default_reserve(transaction: Transaction, workspace: str) -> MicroUsd:
    found = await transaction.ask("record", "workspace", workspace, workspace)
    reserve = record(found[0]).body.get("default_reserve") if found else None
    return MicroUsd(reserve if isinstance(reserve, int) else 0)
