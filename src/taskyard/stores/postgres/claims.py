"""Claim and extend: choosing and taking in one step, by the core's own functions.

The best tasks of the lanes are read unlocked, merged and locked in one statement, passing over what others have. The
core chooses among them by the ceilings as they were read; then all is written in one statement, which locks the
ceilings and says what they were. Where they were not what the choice was made on, it is made again under their locks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
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
from taskyard.stores.postgres.commits import remove_idle
from taskyard.stores.postgres.fast.claim_cursors import Place
from taskyard.stores.postgres.transaction import CeilingsMoved, Transaction, limit_of
from taskyard.stores.shared import rows
from taskyard.stores.shared.heartbeat_batches import apply_heartbeats

_NO_CEILING = 2**62
_FIRST = (-(2**62), 0)  # a place before every rank
_EACH = 8  # tasks of one lane that are read at once at least, where more than one is wanted


@dataclass(slots=True)
class Found:
    """What is known so far of the lanes and the ceilings."""

    tasks: dict[LaneId, list[Hot]] = field(default_factory=dict[LaneId, list[Hot]])
    bodies: dict[TaskId, str] = field(default_factory=dict[TaskId, str])
    places: dict[LaneId, tuple[int, int]] = field(default_factory=dict[LaneId, tuple[int, int]])
    limits: dict[str, Limit] = field(default_factory=dict[str, Limit])
    asked: set[str] = field(default_factory=set[str])  # the ceilings that the choice looked at
    beyond: set[LaneId] = field(default_factory=set[LaneId])  # where the choice asked for more than is known
    more: bool = True  # whether there may be tasks that were not looked at

    def walk(self, lane: LaneId) -> Iterator[Hot]:
        yield from self.tasks.get(lane, ())
        self.beyond.add(lane)

    def limit_of(self, name: str) -> Limit:
        self.asked.add(name)
        return self.limits[name]


async def claim(
    transaction: Transaction, plan: ClaimPlan, lock_first: Collection[str], behind: dict[LaneId, Place]
) -> Claimed | Stale:
    seen = await search(transaction, plan, lock_first, behind)
    if isinstance(seen, Stale):
        return seen
    choice, found = seen
    if choice.taken or choice.parked:
        await _write(transaction, plan, choice, found)
    return claimed(choice, found)


async def search(
    transaction: Transaction, plan: ClaimPlan, lock_first: Collection[str], behind: dict[LaneId, Place]
) -> tuple[Choice, Found] | Stale:
    """What the core chooses, and what from. It is locked, unless the transaction is to be one statement to come.

    In some lanes only what is behind a place is looked at, as long as there is enough; else that is forgotten.
    """
    found = Found(places=dict(behind))
    epoch = await _look(transaction, plan, plan.lanes, found)
    if epoch != plan.epoch or claiming.is_outdated(plan, transaction.now):
        return Stale(epoch)
    if lock_first:
        await _lock_limits(transaction, plan, found, lock_first)
    choice = _choose(plan, found)
    while _is_short(plan, choice, found):
        # Not into lanes that the choice has closed: their backlog costs nothing.
        await _look(transaction, plan, [lane for lane in plan.lanes if lane.id in found.beyond], found)
        choice = _choose(plan, found)
    if behind and not _is_enough(plan, choice, found):
        behind.clear()
        return await search(transaction, plan, lock_first, behind)
    return choice, found


def claimed(choice: Choice, found: Found) -> Claimed:
    taken, parked, _ = choice
    definitions = tuple(decode_definition(found.bodies[change.before.id]) for change in taken)
    return Claimed(tuple(change.after for change in taken), len(parked), definitions)


def _choose(plan: ClaimPlan, found: Found) -> Choice:
    found.beyond.clear()
    found.asked.clear()
    return claiming.choose(plan, {lane.id: found.walk(lane.id) for lane in plan.lanes}, found.limit_of)


def _is_short(plan: ClaimPlan, choice: Choice, found: Found) -> bool:
    """Whether the choice came to an end only because it was not given more."""
    return found.more and bool(found.beyond) and not _is_enough(plan, choice, found)


def _is_enough(plan: ClaimPlan, choice: Choice, found: Found) -> bool:
    planned = claiming.ceilings_of(plan)
    free = min((planned[name] or 0) - found.limits[name].held for name in claiming.slots_of(plan))
    return len(choice.taken) >= min(len(plan.leases), free) or len(choice.parked) == claiming.PARKED_PER_CLAIM


async def _look(transaction: Transaction, plan: ClaimPlan, lanes: Sequence[PlannedLane], found: Found) -> int:
    """Lock some more of the best tasks, and read the ceilings they stand under. The epoch is answered."""
    wanted = min(len(plan.leases), max(plan.slots, 1))
    each = min(wanted, max(_EACH, 4 * wanted // max(len(lanes), 1)))
    places = [found.places.get(lane.id, _FIRST) for lane in lanes]
    own, planned = _own_ceilings(plan), claiming.ceilings_of(plan)
    money = [ceiling for name in claiming.own_money(plan) if (ceiling := planned[name]) is not None]
    answer = await transaction.ask(
        "look" if transaction.whole else "pick",
        [lane.id for lane in lanes],
        [aged(lane.boost, plan.now) for lane in lanes],
        [rank for rank, _ in places],
        [seq for _, seq in places],
        wanted,
        plan.default_reserve,
        min(money, default=_NO_CEILING),
        plan.now,
        plan.workspace,
        own,
        each,
    )
    epoch, found.more, limits, last = answer[0][:4]
    if not found.limits:
        found.limits = {name: Limit(plan.workspace, name, None, 0, 0) for name in own}
        found.limits |= {row[0]: Limit(plan.workspace, *row) for row in json.loads(limits or "[]")}
    found.places |= {lane: (rank, seq) for lane, rank, seq in json.loads(last or "[]")}
    new = [rows.parse_hot(row[5:]) for row in answer if row[4] is not None]
    found.bodies |= {hot.id: row[4] for hot, row in zip(new, answer, strict=False)}
    for hot in new:
        found.tasks.setdefault(hot.lane, []).append(hot)
    await _read_limits(transaction, plan, found, new)
    return epoch


def _own_ceilings(plan: ClaimPlan) -> list[str]:
    """Those that do not depend on the task."""
    probes = {lane.probe for lane in plan.lanes if lane.probe is not None}
    return [*(name for name, ceiling in claiming.ceilings_of(plan).items() if ceiling is not None), *probes]


async def _read_limits(transaction: Transaction, plan: ClaimPlan, found: Found, tasks: Sequence[Hot]) -> None:
    names = {key_ceiling(hot.key) for hot in tasks if hot.key is not None}
    names |= {dag_ceiling(hot.dag_id) for hot in tasks if hot.dag_id is not None}
    names -= found.limits.keys()
    if names:
        found.limits |= await transaction.limits(plan.workspace, names)


async def _lock_limits(transaction: Transaction, plan: ClaimPlan, found: Found, names: Collection[str]) -> None:
    """Wait for these, before any choice is made."""
    transaction.move_limits([(plan.workspace, name, 0, 0) for name in names])
    read = await transaction.flush(["move_limits"])
    found.limits |= {row[1]: limit_of(row)[1] for row in read}


async def _write(transaction: Transaction, plan: ClaimPlan, choice: Choice, found: Found) -> None:
    taken, parked, spends = choice
    changes = [*taken, *(change for change, _ in parked)]
    moved = {spend.name: spend.held for spend in spends}
    # Also those that were only looked at, where they limit something: that they have no room must stay true.
    looked_at = limiting(plan, found)
    names = sorted(looked_at | moved.keys())
    eased = [spend.name for spend in spends if claiming.eases(spend)]
    transaction.move(changes)
    transaction.write("insert_blockers", [blocker for _, blocker in parked])
    transaction.move_limits([(plan.workspace, name, moved.get(name, 0), 0) for name in names])
    transaction.tell(change.event for change in changes)
    if not eased:
        transaction.tell_now()
    after = dict(limit_of(row) for row in await transaction.flush(["move_limits"]))
    stored = {name: limit for (_, name), limit in after.items()}
    before = {name: limit._replace(held=limit.held - moved.get(name, 0)) for name, limit in stored.items()}
    if any(before[name][2:] != found.limits[name][2:] for name in looked_at):
        # They moved in between, but are locked now: perhaps the choice would have been the same.
        found.limits |= before
        if _choose(plan, found) != choice:
            raise CeilingsMoved(names)
    await remove_idle(transaction, stored.values())
    for name in eased:
        let_go = await blockers.unpark(transaction, stored[name], plan.now)
        transaction.tell(change.event for change in let_go)
    if eased:
        transaction.tell_now()
        await transaction.flush()


def limiting(plan: ClaimPlan, found: Found) -> set[str]:
    """The names that the choice looked at, and that have a ceiling."""
    return {name for name in found.asked if _limits(plan, found.limits[name])}


def _limits(plan: ClaimPlan, limit: Limit) -> bool:
    """Whether there is a ceiling under this name, stored, planned or understood."""
    planned = claiming.ceilings_of(plan)
    return planned.get(limit.name, claiming.ceiling_of(limit)) is not None


async def extend(transaction: Transaction, beats: Sequence[Beat]) -> list[Extended]:
    found = await transaction.load("lock_hot", list({beat.task_id for beat in beats}))
    answers, steps = apply_heartbeats(beats, found, transaction.now)
    transaction.move_hot(steps)
    await transaction.flush()
    return answers
