"""Claim and extend: the core's functions choose and take the tasks, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from taskyard.core import claiming
from taskyard.core.changes import Beat, Limit
from taskyard.core.claiming import ClaimPlan
from taskyard.core.task import Hot, LaneId
from taskyard.definition.codec import decode_definition
from taskyard.stores.contract import Claimed, Extended, Stale
from taskyard.stores.shared import rows
from taskyard.stores.shared.heartbeat_batches import apply_heartbeats
from taskyard.stores.sqlite import blockers, queries
from taskyard.stores.sqlite.statements import SQL, json_list
from taskyard.stores.sqlite.transaction import SqliteTransaction
from taskyard.stores.sqlite.writes.moves import Step, write_steps

_NO_CEILING = 2**62


class TakenTasks(NamedTuple):
    """The tasks of a claim. Their definitions are decoded after the transaction, when others can write again."""

    tasks: tuple[Hot, ...]
    parked: int
    bodies: list[str]  # the encoded definitions
    took_all: bool


def claim(transaction: SqliteTransaction, plan: ClaimPlan) -> TakenTasks | Stale:
    epoch = transaction.epoch(plan.workspace)
    if plan.epoch != epoch or claiming.is_outdated(plan, transaction.now):
        return Stale(epoch)

    @cache
    def limit_of(name: str) -> Limit:
        return transaction.limit(plan.workspace, name)

    taken, parked, spends, took_all = claiming.choose(plan, _lanes(transaction, plan, limit_of), limit_of)
    transaction.append_changes([*taken, *(change for change, _ in parked)])
    transaction.write("insert_blockers", [blocker for _, blocker in parked])
    transaction.write_limits(
        limit._replace(held=limit.held + held, spent=limit.spent + spent)
        for _, name, held, spent in spends
        if (limit := limit_of(name))
    )
    eased = [limit_of(spend.name) for spend in spends if claiming.eases(spend)]
    for limit in eased:
        blockers.unpark(transaction, limit, plan.now)
    tasks = tuple(change.after for change in taken)
    bodies = queries.bodies(transaction.connection, [hot.seq for hot in tasks])
    return TakenTasks(tasks, len(parked), bodies, took_all)


def to_claimed(taken: TakenTasks) -> Claimed:
    return Claimed(taken.tasks, taken.parked, tuple(map(decode_definition, taken.bodies)), taken.took_all)


def _lanes(transaction: SqliteTransaction, plan: ClaimPlan, limit_of: claiming.LimitOf) -> dict[LaneId, Iterator[Hot]]:
    """The ready tasks of each lane, best first. A row is read only when the core asks for it."""
    affordable = claiming.Room(plan, limit_of).affordable()
    allowed = {
        "reserve": plan.default_reserve,
        "affordable": _NO_CEILING if affordable is None else affordable,
        "now": plan.now,
    }
    wanted = {"lanes": json_list(lane.id for lane in plan.lanes), **allowed}
    heads = {head.lane: head for head in map(rows.parse_hot, transaction.connection.execute(SQL["heads"], wanted))}

    def walk(lane: LaneId) -> Iterator[Hot]:
        if (head := heads.get(lane)) is not None:
            yield head
            place = {"lane": lane, "rank": head.rank, "seq": head.seq, **allowed}
            yield from map(rows.parse_hot, transaction.connection.execute(SQL["behind"], place))

    return {lane.id: walk(lane.id) for lane in plan.lanes}


def extend(transaction: SqliteTransaction, beats: Sequence[Beat]) -> list[Extended]:
    found = transaction.load("load", json_list({beat.task_id for beat in beats}))
    answers, steps = apply_heartbeats(beats, found, transaction.now)
    write_steps(transaction.connection, [Step(*step) for step in steps if step[0].lease is not None])
    return answers
