"""Who gets what next: which lanes an agent may take from, and which tasks a claim takes, skips or sets aside.

A store gives `choose` the heads of the plan's lanes and the ceilings, inside the step that writes the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from itertools import chain
from typing import NamedTuple

from taskyard.core import transitions
from taskyard.core.agent import NO_BUDGET, Budget, Period
from taskyard.core.changes import DECISION_GOOD_FOR, Blocker, Change, Limit, Spend
from taskyard.core.identifiers import (
    CeilingKind,
    admits_one,
    agent_ceiling,
    blocker_for,
    ceiling_kind,
    dag_ceiling,
    day_ceiling,
    key_ceiling,
    slots_ceiling,
    type_ceiling,
    type_day_ceiling,
    type_month_ceiling,
    type_slots_ceiling,
)
from taskyard.core.priority import effective
from taskyard.core.task import AgentId, DagId, Hot, LaneId, RuntimeId, Status, TaskId
from taskyard.core.units import Micros, MicroUsd, utc_date

PARKED_PER_CLAIM = 64  # what one claim sets aside at most, so that it stays short
UNPARKED_PER_LANE = 64


def cost_class(reserve: MicroUsd | None) -> int:
    """Tasks of one class reserve alike within a factor of two; those without a maximum have a class of their own."""
    return 0 if reserve is None else max(reserve.bit_length(), 1)


def floor_of(cost_class: int, default_reserve: MicroUsd) -> MicroUsd:
    """The least that a task of the class reserves. The lowest class of those with a maximum has the free ones too."""
    if cost_class == 0:
        return default_reserve
    return MicroUsd(1 << (cost_class - 1) if cost_class > 1 else 0)


class Pace(NamedTuple):
    """How much of a store's work goes on beside this process's: while one part is on its way, the next is made."""

    parts: int = 2  # that a busy worker divides its slots into: one is handed in while others are claimed and run
    least: int = 100  # of fewer, a claim costs more than it hides
    commits: int = 1  # of new tasks that are worth having under way at once

    def part_of(self, slots: int) -> int:
        return max(-(-slots // self.parts), min(slots, self.least))


class PlannedLane(NamedTuple):
    """A lane that the claimer may take from."""

    id: LaneId
    boost: int
    floor: MicroUsd  # the least that a task of this lane reserves, where money is limited
    circuit: int  # its breaker's generation; odd: only a probe may be taken
    probe: str | None  # the ceiling of that probe


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPlan:
    """What a claim may take. Made by the core from configuration; void when that has changed since (`epoch`)."""

    workspace: str
    agent: AgentId
    agent_type: str
    runtime: RuntimeId | None
    lanes: tuple[PlannedLane, ...]
    leases: tuple[str, ...]  # sealed stems, one for each task asked for
    slots: int  # how many the agent may hold
    agent_money: MicroUsd | None  # of this id alone
    day_money: MicroUsd | None
    default_reserve: MicroUsd  # for a task without a maximum, where a ceiling exists
    start: bool  # running at once, without a call to start
    epoch: int
    now: Micros
    claim_ttl: int | None = None  # seconds: the agent's own claim time, where it has one
    type_slots: int | None = None  # how many all agents of the type may hold together, where that was granted
    type_budget: Budget = NO_BUDGET  # of all agents of the type together


class Choice(NamedTuple):
    taken: list[Change]
    parked: list[tuple[Change, Blocker]]
    spends: list[Spend]
    took_all: bool  # nothing is left that more room under the agent's own ceilings would let it take


LimitOf = Callable[[str], Limit]


def choose(plan: ClaimPlan, rows: Mapping[LaneId, Iterator[Hot]], limit_of: LimitOf) -> Choice:
    """Walk the lanes' tasks, best first, and take what every ceiling allows.

    `rows` yields the ready tasks of each lane by (rank, seq). No row is asked for that is not needed. A claim that has
    set aside as many as it may stops at the next one, though there may be something to take behind it: ask again.
    """
    room = Room(plan, limit_of)
    taken: list[Change] = []
    parked: list[tuple[Change, Blocker]] = []
    for lane, hot in _merged(plan, rows, room):
        if hot.expires_at is not None and hot.expires_at <= plan.now:
            continue  # it must not run late, though the sweep has not taken it out yet
        if room.took_only_slots(hot, lane):
            taken.append(_taken(plan, lane, hot, plan.leases[len(taken)], None))
            if len(taken) == len(plan.leases):
                break
            continue
        reserved = room.reservation(hot)
        wants = room.wants(hot, lane, reserved)
        short = room.shortage(wants)
        if short is None:
            room.take(wants)
            taken.append(_taken(plan, lane, hot, plan.leases[len(taken)], reserved))
        elif (blocker := blocker_for(short)) is not None:
            if len(parked) == PARKED_PER_CLAIM:
                break
            change = transitions.park(hot, blocker=blocker, now=plan.now)
            parked.append((change, Blocker(hot.id, change.after.wait, blocker)))
            room.step_back(hot, short)
        if len(taken) == len(plan.leases):
            break
    is_cut_short = len(taken) == len(plan.leases) or len(parked) == PARKED_PER_CLAIM
    return Choice(taken, parked, room.spends(), not is_cut_short and not room.may_be_short())


class Room:
    """What is left under each ceiling while a claim chooses. The one rule: held + spent + amount ≤ ceiling."""

    def __init__(self, plan: ClaimPlan, limit_of: LimitOf) -> None:
        self._plan = plan
        self._limit_of = limit_of
        self._left: dict[str, int | None] = {}
        self._used: dict[str, int] = {}
        self._left_to_others: set[str] = set()
        self._ceilings = ceilings_of(plan)
        self._slots = slots_of(plan)
        self._a_slot = [(name, 1) for name in self._slots]
        self._shared_money = money_of(plan.agent, plan.agent_type, plan.now)
        self._own_money = [name for name in own_money(plan) if self._ceilings[name] is not None]
        self._is_money_limited: bool | None = None  # of lone tasks, for all of them alike; None: nobody has asked

    def wants(self, hot: Hot, lane: PlannedLane, reserved: MicroUsd | None) -> list[tuple[str, int]]:
        """What taking this task would hold, and under which names."""
        if lane.probe is None and reserved is None and hot.key is None:
            return self._a_slot  # what most tasks want
        # The agent's own ceilings come first: what it may not have anyway, it does not set aside for the others.
        wants = [*self._a_slot]
        if lane.probe is not None:
            wants.append((lane.probe, 1))
        if reserved is not None:
            wants += [(name, reserved) for name in self._money_names(hot)]
        if hot.key is not None:
            wants.append((key_ceiling(hot.key), 1))
        return wants

    def reservation(self, hot: Hot) -> MicroUsd | None:
        """What the task reserves; None where no ceiling on money applies to it."""
        if hot.dag_id is None:
            if self._is_money_limited is None:
                self._is_money_limited = any(self._remaining(name) is not None for name in self._shared_money)
            if not self._is_money_limited:
                return None
        elif all(self._remaining(name) is None for name in self._money_names(hot)):
            return None
        return self._plan.default_reserve if hot.reserve is None else hot.reserve

    def took_only_slots(self, hot: Hot, lane: PlannedLane) -> bool:
        """Whether the task wants nothing but slots and has got them. Most do, once the ceilings are known."""
        if self._is_money_limited is not False or hot.dag_id is not None or hot.key is not None or lane.probe:
            return False
        if self.shortage(self._a_slot) is not None:
            return False
        self.take(self._a_slot)
        return True

    def shortage(self, wants: Iterable[tuple[str, int]]) -> str | None:
        """The first ceiling that has no room."""
        for name, amount in wants:
            left = self._remaining(name)
            if left is not None and amount > left:
                return name
        return None

    def take(self, wants: Iterable[tuple[str, int]]) -> None:
        for name, amount in wants:
            if not amount:
                continue  # a movement of nothing says that others are to look again, and that is not so
            left = self._left[name]
            if left is not None:
                self._left[name] = left - amount
            self._used[name] = self._used.get(name, 0) + amount

    def step_back(self, hot: Hot, short: str) -> None:
        """Leave to others what a task that is set aside for something else was up for."""
        self._left_to_others |= {spend.name for spend in stepped_back(hot)} - {short}

    def closed(self, lane: PlannedLane) -> bool:
        """Whether nothing of this lane can be taken any more by this agent."""
        for name in self._slots:
            if self._exhausted(name):
                return True
        if self._own_money and (money := self.affordable()) is not None and lane.floor > money:
            return True
        return lane.probe is not None and self._exhausted(lane.probe)

    def may_be_short(self) -> bool:
        """Whether one of the agent's own ceilings may have kept it from a task."""
        probes = (lane.probe for lane in self._plan.lanes if lane.probe is not None)
        return bool(self._own_money) or any(map(self._exhausted, (*self._slots, *probes)))

    def affordable(self) -> int | None:
        """What this agent may still reserve; a dearer task is left for others."""
        left = [left for name in self._own_money if (left := self._remaining(name)) is not None]
        return min(left, default=None)

    def spends(self) -> list[Spend]:
        moved = {**dict.fromkeys(self._left_to_others, 0), **self._used}
        return [Spend(self._plan.workspace, name, used) for name, used in sorted(moved.items())]

    def _exhausted(self, name: str) -> bool:
        # Below nothing where a ceiling was lowered under what is held: then too there is no use in looking further.
        left = self._remaining(name)
        return left is not None and left <= 0

    def _money_names(self, hot: Hot) -> list[str]:
        return self._shared_money if hot.dag_id is None else [*self._shared_money, dag_ceiling(hot.dag_id)]

    def _remaining(self, name: str) -> int | None:
        if name not in self._left:
            self._left[name] = self._measured(name)
        return self._left[name]

    def _measured(self, name: str) -> int | None:
        if name in self._ceilings and self._ceilings[name] is None:
            return None  # nobody limits it, so what stands against it need not be read
        limit = self._limit_of(name)
        ceiling = self._ceilings.get(name, ceiling_of(limit))
        return None if ceiling is None else ceiling - limit.held - limit.spent


def ceilings_of(plan: ClaimPlan) -> dict[str, int | None]:
    """The ceilings that the plan itself sets, by their names; None: there is none. Others are stored."""
    found: dict[str, int | None] = dict.fromkeys(money_of(plan.agent, plan.agent_type, plan.now))
    found[agent_ceiling(plan.agent)] = plan.agent_money
    found[type_money(plan.agent_type, plan.type_budget.per, plan.now)] = plan.type_budget.amount
    found[day_ceiling(utc_date(plan.now))] = plan.day_money
    found[slots_ceiling(plan.agent)] = plan.slots
    if plan.type_slots is not None:
        found[type_slots_ceiling(plan.agent_type)] = plan.type_slots
    return found


def slots_of(plan: ClaimPlan) -> list[str]:
    """The ceilings that each task of the claim takes one of."""
    own = slots_ceiling(plan.agent)
    return [own] if plan.type_slots is None else [own, type_slots_ceiling(plan.agent_type)]


def own_money(plan: ClaimPlan) -> list[str]:
    """The ceilings on money that only this agent, or agents of its type, stand under."""
    return money_of(plan.agent, plan.agent_type, plan.now)[:-1]


def own_ceilings(plan: ClaimPlan) -> list[str]:
    """What keeps an agent from more, with no task parked on it: where one gets room, the claim is worth repeating."""
    planned, probes = ceilings_of(plan), {lane.probe for lane in plan.lanes if lane.probe is not None}
    return [*slots_of(plan), *(name for name in own_money(plan) if planned[name] is not None), *probes]


def money_names(agent: AgentId | None, agent_type: str | None, dag_id: DagId | None, at: Micros) -> list[str]:
    """The ceilings on money that an attempt stands under, of the periods that its claim was in."""
    names = money_of(agent or AgentId(""), agent_type, at)
    return names if dag_id is None else [*names, dag_ceiling(dag_id)]


# The same for all of an agent's tasks of a claim.
@lru_cache(maxsize=256)
def _money_of(agent: AgentId, agent_type: str | None, date: str) -> tuple[str, ...]:
    types = () if agent_type is None else tuple(_type_money(agent_type, period, date) for period in Period)
    return agent_ceiling(agent), *types, day_ceiling(date)


def money_of(agent: AgentId, agent_type: str | None, at: Micros) -> list[str]:
    """Those of them that all attempts of an agent on one day stand under; the day's own comes last.

    A type's are kept for every period, so that a budget may be set for another one at any time.
    """
    return [*_money_of(agent, agent_type, utc_date(at))]


def type_money(agent_type: str, per: Period, at: Micros) -> str:
    """The ceiling that the budget of a type is counted under."""
    return _type_money(agent_type, per, utc_date(at))


def _type_money(agent_type: str, per: Period, date: str) -> str:
    match per:
        case Period.EVER:
            return type_ceiling(agent_type)
        case Period.DAY:
            return type_day_ceiling(agent_type, date)
        case Period.MONTH:
            return type_month_ceiling(agent_type, date)


def ceiling_of(limit: Limit) -> int | None:
    """Keys and probes admit one, without anyone having said so."""
    if limit.ceiling is None and admits_one(limit.name):
        return 1
    return limit.ceiling


def eases(spend: Spend) -> bool:
    """Whether what is parked on the ceiling is to be looked at again.

    There may be more room than before; or, where nothing moves, the one that was up for the room there is has gone.
    """
    return spend.held < 0 or spend.spent < 0 or not (spend.held or spend.spent)


def stepped_back(hot: Hot) -> tuple[Spend, ...]:
    """What a ready task leaves to others when it goes without having been claimed: the room that it was let go for.

    None where it never waited. Not the day's money: for that all are let go together, and the next day the rest.
    """
    if hot.status is not Status.READY or not hot.wait:
        return ()
    names = [] if hot.key is None else [key_ceiling(hot.key)]
    names += [] if hot.dag_id is None else [dag_ceiling(hot.dag_id)]
    return tuple(Spend(hot.workspace, name, 0) for name in names)


def unpark(limit: Limit, parked: Iterable[Hot], default_reserve: MicroUsd) -> list[TaskId]:
    """Which parked tasks to make ready now that a ceiling has room: of each lane the best, as many as would fit.

    Of each lane, because the agents about may not be allowed the best of all; a claim lets the ceiling decide.
    """
    ceiling = ceiling_of(limit)
    left: dict[LaneId, float] = {}
    count: dict[LaneId, int] = {}
    chosen: list[TaskId] = []
    room = float("inf") if ceiling is None else ceiling - limit.held - limit.spent
    is_key = ceiling_kind(limit.name) is CeilingKind.KEY
    for hot in sorted(parked, key=lambda hot: (hot.rank, hot.seq)):
        amount = 1 if is_key else default_reserve if hot.reserve is None else hot.reserve
        if amount <= left.setdefault(hot.lane, room) and count.get(hot.lane, 0) < UNPARKED_PER_LANE:
            left[hot.lane] -= amount
            count[hot.lane] = count.get(hot.lane, 0) + 1
            chosen.append(hot.id)
    return chosen


def _merged(plan: ClaimPlan, rows: Mapping[LaneId, Iterator[Hot]], room: Room) -> Iterator[tuple[PlannedLane, Hot]]:
    """All lanes as one, best first. The row behind one that was given is read only when the next is asked for."""

    def head_of(index: int) -> tuple[int, int, int, Hot] | None:
        lane = plan.lanes[index]
        if room.closed(lane) or (hot := next(rows[lane.id], None)) is None:
            return None
        return effective(hot.rank, lane.boost, plan.now), hot.seq, index, hot

    heads = [head for index in range(len(plan.lanes)) if (head := head_of(index)) is not None]
    if len(heads) == 1:
        _, _, index, first = heads[0]
        yield from _alone(plan.lanes[index], chain((first,), rows[plan.lanes[index].id]), room)
        return
    heapify(heads)
    while heads:
        _, _, index, hot = heads[0]
        lane = plan.lanes[index]
        if not room.closed(lane):
            yield lane, hot
        if (behind := head_of(index)) is None:
            heappop(heads)
        else:
            heapreplace(heads, behind)


def _alone(lane: PlannedLane, rows: Iterable[Hot], room: Room) -> Iterator[tuple[PlannedLane, Hot]]:
    """The one lane that has anything: nothing has to be compared."""
    for hot in rows:
        yield lane, hot
        if room.closed(lane):
            return


def _taken(plan: ClaimPlan, lane: PlannedLane, hot: Hot, lease: str, reserved: MicroUsd | None) -> Change:
    return transitions.claim(
        hot,
        agent=plan.agent,
        agent_type=plan.agent_type,
        type_slot=plan.type_slots is not None,
        runtime=plan.runtime,
        lease=lease,
        circuit=lane.circuit,
        reserved=reserved or MicroUsd(0),
        start=plan.start,
        now=plan.now,
        claim_ttl=plan.claim_ttl,
    )


def is_outdated(plan: ClaimPlan, now: Micros) -> bool:
    """Whether the plan was made too long ago, by the store's clock, for its times to be written."""
    return now - plan.now > DECISION_GOOD_FOR
