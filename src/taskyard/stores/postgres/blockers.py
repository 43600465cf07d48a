"""Taking blockers off: everything a wave lifts in one go, and what is parked under a ceiling.

Three statements, in this order: lock the tasks, delete the blockers, and only then look which tasks have none left.
What has none becomes ready as `transitions.ready` says, at the time its set was decided.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from taskyard.core import claiming
from taskyard.core.changes import Change, Limit
from taskyard.core.identifiers import blocker_for
from taskyard.core.task import Hot, TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.stores.postgres.statements import columns
from taskyard.stores.postgres.transaction import Transaction
from taskyard.stores.shared.commits.lifts import LiftBatch, PlacedLift, default_reserve_of, make_unparked
from taskyard.stores.shared.rows import parse_record


async def lift(transaction: Transaction, placed: Sequence[PlacedLift]) -> dict[int, list[Change]]:
    """Take them all off; what became ready, by the place of the set that took its last blocker."""
    lifts = LiftBatch(placed)
    await _remove(transaction, lifts)
    if not lifts.task_ids:
        return {}
    # A task that was blocked only after the others were locked.
    await transaction.lock_more(lifts.task_ids)
    changes = lifts.make_ready(await transaction.load("freed", lifts.task_ids))
    transaction.move(change for each in changes.values() for change in each)
    return changes


async def _remove(transaction: Transaction, lifts: LiftBatch) -> None:
    if lifts.of_tasks:
        for number, task_id, wait, name in await transaction.ask("take_off_aimed", *columns(lifts.of_tasks, 4)):
            lifts.removed_of_task(number, task_id, wait, name)
    if lifts.names:
        for name, task_id, wait in await transaction.ask("take_off_named", lifts.names):
            lifts.removed_by_name(name, task_id, wait)
    transaction.wrote = transaction.wrote or bool(lifts.task_ids)


async def blocking(transaction: Transaction, names: Collection[str]) -> set[str]:
    """Those of the names that block anything."""
    return {row[0] for row in await transaction.ask("names_that_block", list(names))} if names else set()


async def unpark(transaction: Transaction, limit: Limit, at: Micros) -> list[Change]:
    """Let go what is parked on this ceiling, as far as it has room. Its row is locked: nobody parks meanwhile."""
    name = blocker_for(limit.name)
    if name is None:
        return []
    parked, chosen = await _up_for_it(transaction, limit, name)
    if not chosen:
        return []
    await transaction.run("remove_blockers", *columns([(each, parked[each].wait, name) for each in chosen], 3))
    changes = make_unparked(chosen, await transaction.load("freed", chosen), at)
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
    return default_reserve_of(parse_record(found[0]) if found else None)
