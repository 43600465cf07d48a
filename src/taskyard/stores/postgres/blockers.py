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
from taskyard.stores.shared.commits.lifts import Lifted, Lifting, default_reserve, unparked
from taskyard.stores.shared.rows import record


async def lift(transaction: Transaction, lifts: Sequence[Lifted]) -> dict[int, list[Change]]:
    """Take them all off; what became ready, by the place of the set that took its last blocker."""
    lifting = Lifting(lifts)
    await _take_off(transaction, lifting)
    if not lifting.hit:
        return {}
    # A task that was blocked only after the others were locked.
    await transaction.lock_more(lifting.hit)
    changes = lifting.freed(await transaction.load("freed", lifting.hit))
    transaction.move(change for each in changes.values() for change in each)
    return changes


async def _take_off(transaction: Transaction, lifting: Lifting) -> None:
    if lifting.aimed:
        for number, task_id, wait, name in await transaction.ask("take_off_aimed", *columns(lifting.aimed, 4)):
            lifting.took_aimed(number, task_id, wait, name)
    if lifting.named:
        for name, task_id, wait in await transaction.ask("take_off_named", lifting.named):
            lifting.took_named(name, task_id, wait)
    transaction.wrote = transaction.wrote or bool(lifting.hit)


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
    changes = unparked(chosen, await transaction.load("freed", chosen), at)
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
    return default_reserve(record(found[0]) if found else None)
