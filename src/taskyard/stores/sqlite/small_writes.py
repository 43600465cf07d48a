"""The writes that are no change sets: each takes what it is given and looks at next to nothing."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.changes import Touch
from taskyard.core.clock_jump import is_due
from taskyard.core.task import Lane, LaneId
from taskyard.core.units import Micros
from taskyard.stores.shared import rows
from taskyard.stores.sqlite import queries
from taskyard.stores.sqlite.statements import SQL, names_text
from taskyard.stores.sqlite.transaction import Transaction


def touch(transaction: Transaction, touches: Sequence[Touch]) -> None:
    transaction.write("touch", touches)


def pulse(transaction: Transaction, names: Sequence[str]) -> None:
    transaction.write("write_pulses", [(name, transaction.now) for name in names])


def lanes(transaction: Transaction, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
    """Their ids, in the order they are given where they are new."""
    known = queries.lane_ids(transaction.connection, lanes)
    for lane in dict.fromkeys(lanes):
        if lane not in known:
            transaction.run("insert_lane", lane.workspace, rows.format_lane(lane))
            transaction.bump_epoch(lane.workspace)
    return queries.lane_ids(transaction.connection, lanes)


def take_duty(transaction: Transaction, name: str, now: Micros, until: Micros) -> Micros | None:
    stored = transaction.connection.execute(SQL["duty"], (name,)).get
    last = Micros(0) if stored is None else stored
    if not is_due(last, now, until):
        return None
    transaction.run("write_duty", name, until)
    return last


def settle(transaction: Transaction, outbox_ids: Sequence[int]) -> None:
    transaction.run("settle", names_text(outbox_ids))


def prune_events(transaction: Transaction, before: Micros, after: int, limit: int) -> int | None:
    found = list(transaction.connection.execute(SQL["prunable_events"], (after, before, limit)))
    transaction.write("write_pruned", list({workspace: (workspace, seq) for seq, workspace in found}.values()))
    transaction.run("remove_events_by_number", names_text([seq for seq, _ in found]))
    return found[-1][0] if len(found) == limit else None
