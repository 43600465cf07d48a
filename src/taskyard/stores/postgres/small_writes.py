"""The writes that are no change sets: each takes what it is given and looks at next to nothing."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.changes import Touch
from taskyard.core.clock_jump import TOLERANCE
from taskyard.core.task import Lane, LaneId
from taskyard.core.units import Micros
from taskyard.stores.postgres.statements import columns
from taskyard.stores.postgres.transaction import Transaction
from taskyard.stores.shared import rows


async def touch(transaction: Transaction, touches: Sequence[Touch]) -> None:
    if touches:
        await transaction.run("touch", *columns(touches, 4))


async def pulse(transaction: Transaction, names: Sequence[str]) -> None:
    if names:
        await transaction.run("write_pulses", list(set(names)), transaction.now)


async def lane_ids(transaction: Transaction, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
    """Those that are known."""
    digests = {rows.digest_lane(lane): lane for lane in lanes}
    return {digests[digest]: LaneId(number) for digest, number in await transaction.ask("lane_ids", list(digests))}


async def lanes(transaction: Transaction, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
    """Their ids, in the order they are given where they are new.

    Under the lock that claims share, so that the ids of a workspace can be seen in order: who asks for those above the
    last one it knows misses none.
    """
    await transaction.keep_claims_out({lane.workspace for lane in lanes})
    known = await lane_ids(transaction, lanes)
    for lane in dict.fromkeys(lanes):
        if lane not in known:
            await transaction.run("insert_lane", lane.workspace, rows.format_lane(lane), rows.digest_lane(lane))
            await transaction.bump_epoch(lane.workspace)
    return await lane_ids(transaction, lanes)


async def take_duty(transaction: Transaction, name: str, now: Micros, until: Micros) -> Micros | None:
    asked = (name, now, until, until + TOLERANCE)
    taken = await transaction.ask("take_duty", *asked)
    if not taken:
        await transaction.run("first_duty", name)
        taken = await transaction.ask("take_duty", *asked)
    transaction.wrote = bool(taken)
    return taken[0][0] if taken else None


async def settle(transaction: Transaction, outbox_ids: Sequence[int]) -> None:
    await transaction.run("settle", list(outbox_ids))


async def prune_events(transaction: Transaction, before: Micros, after: int, limit: int) -> int | None:
    ((number, last),) = await transaction.ask("prune_events", before, after, limit)
    return last if number == limit else None
