"""Removing blockers: all lifts of a batch at once, and the blockers of tasks that are parked on a ceiling.

There are three statements, in this order: lock the tasks, delete the blockers, and only then read which tasks have none
left. Such a task becomes ready as `transitions.ready` says, at the time of the set that removed the last blocker.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from taskyard.core import claiming
from taskyard.core.changes import Change, Limit
from taskyard.core.identifiers import blocker_for
from taskyard.core.task import Hot, TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.postgres.transaction import PostgresTransaction
from taskyard.stores.shared.commits.lifts import LiftBatch, PlacedLift, default_reserve_of, make_unparked
from taskyard.stores.shared.rows import parse_record

_BEST = 4  # parked tasks of a lane that are locked before it is known how many become ready


async def lift_blockers(transaction: PostgresTransaction, placed: Sequence[PlacedLift]) -> dict[int, list[Change]]:
    """Remove the blockers. Answers the changes to ready, by the place of the set that removed the last blocker."""
    lifts = LiftBatch(placed)
    await _remove(transaction, lifts)
    if not lifts.task_ids:
        return {}
    # A task may have been blocked only after the other tasks were locked.
    await transaction.lock_more(lifts.task_ids)
    changes = lifts.make_ready(await transaction.load("freed", lifts.task_ids))
    transaction.apply_changes(change for each in changes.values() for change in each)
    return changes


async def _remove(transaction: PostgresTransaction, lifts: LiftBatch) -> None:
    if lifts.of_tasks:
        for number, task_id, wait, name in await transaction.query("take_off_aimed", *transpose(lifts.of_tasks, 4)):
            lifts.removed_of_task(number, task_id, wait, name)
    if lifts.names:
        for name, task_id, wait in await transaction.query("take_off_named", lifts.names):
            lifts.removed_by_name(name, task_id, wait)
    transaction.has_written = transaction.has_written or bool(lifts.task_ids)


async def blocking_names(transaction: PostgresTransaction, names: Collection[str]) -> set[str]:
    """The names that block at least one task."""
    return {row[0] for row in await transaction.query("names_that_block", list(names))} if names else set()


async def lock_best_parked(transaction: PostgresTransaction, eased: Collection[tuple[str, str]]) -> None:
    """Lock the parked tasks that nearly always become ready next, given the names of blockers and the workspaces."""
    if eased:
        found = await transaction.query("lock_best_parked", *transpose(sorted(eased), 2), _BEST)
        transaction.locked.update(row[0] for row in found)


async def unpark(transaction: PostgresTransaction, limit: Limit, at: Micros) -> list[Change]:
    """Make parked tasks ready, as far as the ceiling has room. Its row is locked, so no claim parks a task."""
    name = blocker_for(limit.name)
    if name is None:
        return []
    parked, chosen = await _choose_parked(transaction, limit, name)
    if not chosen:
        return []
    await transaction.run("remove_blockers", *transpose([(each, parked[each].wait, name) for each in chosen], 3))
    changes = make_unparked(chosen, await transaction.load("freed", chosen), at)
    transaction.apply_changes(changes)
    await transaction.flush()
    return changes


async def _choose_parked(
    transaction: PostgresTransaction, limit: Limit, name: str
) -> tuple[dict[TaskId, Hot], list[TaskId]]:
    """The parked tasks, and which of them become ready. The chosen rows are locked."""
    reserve: MicroUsd | None = None
    while True:
        parked = {hot.id: hot for hot in await transaction.load("parked", name, limit.workspace)}
        if parked and reserve is None:
            reserve = await _default_reserve(transaction, limit.workspace)
        chosen = claiming.unpark(limit, parked.values(), reserve or MicroUsd(0))
        if transaction.locked.issuperset(chosen):
            return parked, chosen
        # The rows were read without locks. A task that was cancelled meanwhile must not keep its place in the choice.
        await transaction.lock_more(chosen)


async def _default_reserve(transaction: PostgresTransaction, workspace: str) -> MicroUsd:
    found = await transaction.query("record", "workspace", workspace, workspace)
    return default_reserve_of(parse_record(found[0]) if found else None)
