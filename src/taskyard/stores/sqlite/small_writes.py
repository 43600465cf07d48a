"""The writes of the contract that are not change sets."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.changes import Touch
from taskyard.core.clock_jump import is_due
from taskyard.core.task import Lane, LaneId
from taskyard.core.units import Micros
from taskyard.stores.contract import Embedding
from taskyard.stores.shared import rows
from taskyard.stores.shared.vectors import pack_vector
from taskyard.stores.sqlite import queries
from taskyard.stores.sqlite.statements import SQL, json_list
from taskyard.stores.sqlite.transaction import SqliteTransaction


def touch(transaction: SqliteTransaction, touches: Sequence[Touch]) -> None:
    transaction.write("touch_held", touches)
    transaction.write("touch", touches)


def pulse(transaction: SqliteTransaction, names: Sequence[str]) -> None:
    transaction.write("write_pulses", [(name, transaction.now) for name in names])


def lanes(transaction: SqliteTransaction, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
    """The ids of these lanes. New lanes get their ids in the given order."""
    known = queries.lane_ids(transaction.connection, lanes)
    for lane in dict.fromkeys(lanes):
        if lane not in known:
            transaction.run("insert_lane", lane.workspace, rows.format_lane(lane))
            transaction.bump_epoch(lane.workspace)
    return queries.lane_ids(transaction.connection, lanes)


def take_duty(transaction: SqliteTransaction, name: str, now: Micros, until: Micros) -> Micros | None:
    stored = transaction.connection.execute(SQL["duty"], (name,)).get
    last = Micros(0) if stored is None else stored
    if not is_due(last, now, until):
        return None
    transaction.run("write_duty", name, until)
    return last


def settle(transaction: SqliteTransaction, outbox_ids: Sequence[int]) -> None:
    transaction.run("settle", json_list(outbox_ids))


def keep_embeddings(transaction: SqliteTransaction, embeddings: Sequence[Embedding]) -> None:
    for each in embeddings:
        transaction.run(
            "keep_embedding", each.workspace, each.embedder, each.task_id, each.type, pack_vector(each.vector)
        )
