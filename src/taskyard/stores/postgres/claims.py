"""Claim and extend: the core's functions choose and take the tasks, in one transaction.

One statement reads the best tasks of the lanes, merges and locks them, and skips tasks that others have locked. The
core chooses among them by the ceilings as they were read. One statement then writes everything, locks the ceilings and
answers their values before. If these differ from those that the choice used, the choice is made again under the locks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from taskyard.core import claiming
from taskyard.core.changes import Beat, Limit
from taskyard.core.claiming import Choice, ClaimPlan, PlannedLane
from taskyard.core.identifiers import dag_ceiling, key_ceiling
from taskyard.core.priority import aged
from taskyard.core.task import Hot, LaneId, TaskId
from taskyard.definition.codec import decode_definition
from taskyard.stores.contract import Claimed, Extended, Stale
from taskyard.stores.postgres import blockers
from taskyard.stores.postgres.commits import remove_idle_limits
from taskyard.stores.postgres.fast.claim_cursors import Place
from taskyard.stores.postgres.statements import parse_ready
from taskyard.stores.postgres.transaction import CeilingsChanged, PostgresTransaction, parse_limit
from taskyard.stores.shared.heartbeat_batches import apply_heartbeats

_NO_CEILING = 2**62
_FIRST = (-(2**62), 0)  # the place before every rank
_MORE, _MOST = 4, 5_000  # how many times as many are looked at in the next round, and at most


@dataclass(slots=True)
class SearchState:
    """What a claim has read of the lanes and the ceilings so far."""

    tasks: dict[LaneId, list[Hot]] = field(default_factory=dict[LaneId, list[Hot]])
    bodies: dict[TaskId, str] = field(default_factory=dict[TaskId, str])
    places: dict[LaneId, tuple[int, int]] = field(default_factory=dict[LaneId, tuple[int, int]])
    limits: dict[str, Limit] = field(default_factory=dict[str, Limit])
    asked: set[str] = field(default_factory=set[str])  # the ceilings that the choice used
    exhausted: set[LaneId] = field(
        default_factory=set[LaneId]
    )  # lanes of which the choice wanted more tasks than were read
    unread: set[LaneId] = field(default_factory=set[LaneId])  # lanes that may have tasks which were not read
    rounds: int = 0

    def walk(self, lane: LaneId) -> Iterator[Hot]:
        yield from self.tasks.get(lane, ())
        self.exhausted.add(lane)

    def parse_limit(self, name: str) -> Limit:
        self.asked.add(name)
        return self.limits[name]


async def claim(
    transaction: PostgresTransaction, plan: ClaimPlan, lock_first: Collection[str], cursors: dict[LaneId, Place]
) -> Claimed | Stale:
    seen = await search(transaction, plan, lock_first, cursors)
    if isinstance(seen, Stale):
        return seen
    choice, found = seen
    if choice.taken or choice.parked:
        await _write(transaction, plan, choice, found)
    return to_claimed(choice, found)


async def search(
    transaction: PostgresTransaction, plan: ClaimPlan, lock_first: Collection[str], cursors: dict[LaneId, Place]
) -> tuple[Choice, SearchState] | Stale:
    """The core's choice, and what it was made from. The tasks are locked, unless the transaction is a fast path's.

    Lanes with a cursor are read behind it only. If that is not enough, the search starts again without cursors.
    """
    epoch, found = await look(transaction, plan, cursors)
    if epoch != plan.epoch or claiming.is_outdated(plan, transaction.now):
        return Stale(epoch)
    if lock_first:
        await _lock_limits(transaction, plan, found, lock_first)
    choice = choose(plan, found)
    while (wanted := found.exhausted & found.unread) and not _is_enough(plan, choice, found):
        # Only lanes that the choice still uses: the backlog of other lanes is not read.
        await _read_more(transaction, plan, [lane for lane in plan.lanes if lane.id in wanted], found)
        choice = choose(plan, found)
    if cursors and not _is_enough(plan, choice, found):
        cursors.clear()
        return await search(transaction, plan, lock_first, cursors)
    return choice, found


async def look(
    transaction: PostgresTransaction, plan: ClaimPlan, cursors: Mapping[LaneId, Place]
) -> tuple[int, SearchState]:
    """The epoch, and the best tasks of the lanes behind their cursors."""
    found = SearchState(places=dict(cursors))
    return await _read_more(transaction, plan, plan.lanes, found), found


def to_claimed(choice: Choice, found: SearchState) -> Claimed:
    definitions = tuple(decode_definition(found.bodies[change.before.id]) for change in choice.taken)
    tasks = tuple(change.after for change in choice.taken)
    return Claimed(tasks, len(choice.parked), definitions, choice.took_all)


def choose(plan: ClaimPlan, found: SearchState) -> Choice:
    """The core's choice of the tasks that were read."""
    found.exhausted.clear()
    found.asked.clear()
    return claiming.choose(plan, {lane.id: found.walk(lane.id) for lane in plan.lanes}, found.parse_limit)


def _is_enough(plan: ClaimPlan, choice: Choice, found: SearchState) -> bool:
    planned = claiming.ceilings_of(plan)
    free = min((planned[name] or 0) - found.limits[name].held for name in claiming.slots_of(plan))
    return len(choice.taken) >= min(len(plan.leases), free) or len(choice.parked) == claiming.PARKED_PER_CLAIM


async def _read_more(
    transaction: PostgresTransaction, plan: ClaimPlan, lanes: Sequence[PlannedLane], found: SearchState
) -> int:
    """Read and lock more of the best tasks, and read their ceilings. Answers the epoch."""
    wanted = min(len(plan.leases), max(plan.slots, 1))
    # More are looked at each time: a lane may begin with many tasks that the agent cannot afford.
    looked_at = max(wanted, min(wanted * _MORE**found.rounds, _MOST))
    of_each = -(-looked_at // max(len(lanes), 1))  # if all lanes have so many, they have as many as are looked at
    found.rounds += 1
    places = [found.places.get(lane.id, _FIRST) for lane in lanes]
    own, planned = _own_ceilings(plan), claiming.ceilings_of(plan)
    money = [ceiling for name in claiming.own_money(plan) if (ceiling := planned[name]) is not None]
    answer = await transaction.query(
        transaction.claim_query,
        [lane.id for lane in lanes],
        [aged(lane.boost, plan.now) for lane in lanes],
        [rank for rank, _ in places],
        [seq for _, seq in places],
        looked_at,
        plan.default_reserve,
        min(money, default=_NO_CEILING),
        plan.now,
        plan.workspace,
        own,
        of_each,
        wanted,
    )
    epoch, unread, limits, last = answer[0][:4]
    found.unread.difference_update(lane.id for lane in lanes)
    found.unread.update(json.loads(unread or "[]"))
    if not found.limits:
        found.limits = {name: Limit(plan.workspace, name, None, 0, 0) for name in own}
        found.limits |= {row[0]: Limit(plan.workspace, *row) for row in json.loads(limits or "[]")}
    found.places |= {lane: (rank, seq) for lane, rank, seq in json.loads(last or "[]")}
    new = [parse_ready(row[5:]) for row in answer if row[4] is not None]
    found.bodies |= {hot.id: row[4] for hot, row in zip(new, answer, strict=False)}
    for hot in new:
        found.tasks.setdefault(hot.lane, []).append(hot)
    await _read_limits(transaction, plan, found, new)
    return epoch


def _own_ceilings(plan: ClaimPlan) -> list[str]:
    """The ceilings that do not depend on the task."""
    probes = {lane.probe for lane in plan.lanes if lane.probe is not None}
    return [*(name for name, ceiling in claiming.ceilings_of(plan).items() if ceiling is not None), *probes]


async def _read_limits(
    transaction: PostgresTransaction, plan: ClaimPlan, found: SearchState, tasks: Sequence[Hot]
) -> None:
    names = {key_ceiling(hot.key) for hot in tasks if hot.key is not None}
    names |= {dag_ceiling(hot.dag_id) for hot in tasks if hot.dag_id is not None}
    names -= found.limits.keys()
    if names:
        found.limits |= await transaction.limits(plan.workspace, names)


async def _lock_limits(
    transaction: PostgresTransaction, plan: ClaimPlan, found: SearchState, names: Collection[str]
) -> None:
    """Lock these ceilings before the choice is made."""
    transaction.move_limits([(plan.workspace, name, 0, 0) for name in names])
    read = await transaction.flush(["move_limits"])
    found.limits |= {row[1]: parse_limit(row)[1] for row in read}


async def _write(transaction: PostgresTransaction, plan: ClaimPlan, choice: Choice, found: SearchState) -> None:
    taken, parked, spends, _ = choice
    changes = [*taken, *(change for change, _ in parked)]
    moved = {spend.name: spend.held for spend in spends}
    # Ceilings that were only read are locked too, if they limit something: they must not get room meanwhile.
    looked_at = limiting_ceilings(plan, found)
    names = sorted(looked_at | moved.keys())
    eased = [spend.name for spend in spends if claiming.eases(spend)]
    transaction.plan_numbers([change.event for change in changes])
    transaction.apply_changes(changes)
    transaction.write("insert_blockers", [blocker for _, blocker in parked])
    transaction.add_events(change.event for change in changes)
    if not eased:
        await transaction.write_log()
    transaction.move_limits([(plan.workspace, name, moved.get(name, 0), 0) for name in names])
    after = dict(parse_limit(row) for row in await transaction.flush(["move_limits"], is_last=not eased))
    stored = {name: limit for (_, name), limit in after.items()}
    before = {name: limit._replace(held=limit.held - moved.get(name, 0)) for name, limit in stored.items()}
    if any(before[name][2:] != found.limits[name][2:] for name in looked_at):
        # The ceilings changed in between, but are locked now. The choice may still be the same.
        found.limits |= before
        if choose(plan, found) != choice:
            raise CeilingsChanged(names)
    await remove_idle_limits(transaction, stored.values())
    for name in eased:
        unparked = await blockers.unpark(transaction, stored[name], plan.now)
        transaction.add_events(change.event for change in unparked)
    if eased:
        await transaction.write_log()
        await transaction.flush()


def limiting_ceilings(plan: ClaimPlan, found: SearchState) -> set[str]:
    """The names that the choice used and that have a ceiling."""
    return {name for name in found.asked if _limits(plan, found.limits[name])}


def _limits(plan: ClaimPlan, limit: Limit) -> bool:
    """Whether the name has a ceiling: stored, planned or implied."""
    planned = claiming.ceilings_of(plan)
    return planned.get(limit.name, claiming.ceiling_of(limit)) is not None


async def extend(transaction: PostgresTransaction, beats: Sequence[Beat]) -> list[Extended]:
    task_ids = {beat.task_id for beat in beats}
    found = await transaction.load("lock_held", list(task_ids))
    if others := task_ids - {hot.id for hot in found}:
        found += await transaction.load("load", list(others))
    answers, steps = apply_heartbeats(beats, found, transaction.now)
    transaction.write_heartbeats(steps)
    await transaction.flush()
    return answers
