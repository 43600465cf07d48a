"""The writes of the contract that are not change sets."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.changes import Touch
from taskyard.core.clock_jump import TOLERANCE
from taskyard.core.task import Lane, LaneId
from taskyard.core.units import Micros
from taskyard.stores.contract import Embedding
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.postgres.transaction import PostgresTransaction
from taskyard.stores.shared import rows


async def touch(transaction: PostgresTransaction, touches: Sequence[Touch]) -> None:
    if touches:
        await transaction.run("touch", *transpose(touches, 4))


async def pulse(transaction: PostgresTransaction, names: Sequence[str]) -> None:
    if names:
        await transaction.run("write_pulses", list(set(names)), transaction.now)


async def lane_ids(transaction: PostgresTransaction, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
    """The ids of the lanes that are stored already."""
    digests = {rows.digest_lane(lane): lane for lane in lanes}
    return {digests[digest]: LaneId(number) for digest, number in await transaction.query("lane_ids", list(digests))}


async def lanes(transaction: PostgresTransaction, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
    """The ids of these lanes. New lanes get their ids in the given order.

    The lock that claims share makes the ids of a workspace visible in order: a process that reads the lanes above the
    last id it knows misses none.
    """
    await transaction.block_claims({lane.workspace for lane in lanes})
    known = await lane_ids(transaction, lanes)
    for lane in dict.fromkeys(lanes):
        if lane not in known:
            await transaction.run("insert_lane", lane.workspace, rows.format_lane(lane), rows.digest_lane(lane))
            await transaction.bump_epoch(lane.workspace)
    return await lane_ids(transaction, lanes)


async def take_duty(transaction: PostgresTransaction, name: str, now: Micros, until: Micros) -> Micros | None:
    asked = (name, now, until, until + TOLERANCE)
    taken = await transaction.query("take_duty", *asked)
    if not taken:
        await transaction.run("first_duty", name)
        taken = await transaction.query("take_duty", *asked)
    transaction.has_written = bool(taken)
    return taken[0][0] if taken else None


async def settle(transaction: PostgresTransaction, outbox_ids: Sequence[int]) -> None:
    await transaction.run("settle", list(outbox_ids))


async def keep_embeddings(transaction: PostgresTransaction, embeddings: Sequence[Embedding]) -> None:
    kept = [
        (each.workspace, each.embedder, each.task_id, each.type, f"{{{','.join(map(repr, each.vector))}}}")
        for each in embeddings
    ]
    await transaction.run("keep_embeddings", *transpose(kept, 5))
