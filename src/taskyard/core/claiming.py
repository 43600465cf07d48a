"""Who gets what next: which lanes an agent may take from, and which tasks a claim takes, skips or sets aside.

A store gives `choose` the heads of the plan's lanes and the ceilings, inside the step that writes the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from taskyard.core import transitions
from taskyard.core.changes import Blocker, Change, Limit, Spend
from taskyard.core.priority import aged
from taskyard.core.task import AgentId, Hot, LaneId, RuntimeId, TaskId
from taskyard.core.units import Micros, MicroUsd, utc_date

PARKED_PER_CLAIM = 64  # what one claim sets aside at most, so that it stays short
UNPARKED_PER_LANE = 64


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
    runtime: RuntimeId | None
    lanes: tuple[PlannedLane, ...]
    leases: tuple[str, ...]  # sealed stems, one for each task asked for
    slots: int  # how many the agent may hold
    agent_money: MicroUsd | None
    day_money: MicroUsd | None
    default_reserve: MicroUsd  # for a task without a maximum, where a ceiling exists
    start: bool  # running at once, without a call to start
    epoch: int
    now: Micros


class Choice(NamedTuple):
    taken: list[Change]
    parked: list[tuple[Change, Blocker]]
    spends: list[Spend]


LimitOf = Callable[[str], Limit]


def choose(plan: ClaimPlan, rows: Mapping[LaneId, Iterator[Hot]], limit_of: LimitOf) -> Choice:
    """Walk the lanes' tasks, best first, and take what every ceiling allows.

    `rows` yields the ready tasks of each lane by (rank, seq). No row is asked for that is not needed.
    """
    room = Room(plan, limit_of)
    taken: list[Change] = []
    parked: list[tuple[Change, Blocker]] = []
    for lane, hot in _merged(plan, rows, room):
        wants = room.wants(hot, lane)
        short = room.shortage(wants)
        if short is None:
            room.take(wants)
            taken.append(_taken(plan, lane, hot, plan.leases[len(taken)], room.reservation(hot)))
        elif (blocker := _parking(short)) is not None and len(parked) < PARKED_PER_CLAIM:
            change = transitions.park(hot, blocker=blocker, now=plan.now)
            parked.append((change, Blocker(hot.id, change.after.wait, blocker)))
        if len(taken) == len(plan.leases) or room.full():
            break
    return Choice(taken, parked, room.spends())


class Room:
    """What is left under each ceiling while a claim chooses. The one rule: held + spent + amount ≤ ceiling."""

    def __init__(self, plan: ClaimPlan, limit_of: LimitOf) -> None:
        self._plan = plan
        self._limit_of = limit_of
        self._left: dict[str, int | None] = {}
        self._used: dict[str, int] = {}
        self._slots = f"slots:{plan.agent}"
        self._ceilings: dict[str, int | None] = {
            self._slots: plan.slots,
            f"agent:{plan.agent}": plan.agent_money,
            f"day:{utc_date(plan.now)}": plan.day_money,
        }

    def wants(self, hot: Hot, lane: PlannedLane) -> list[tuple[str, int]]:
        """What taking this task would hold, and under which names."""
        wants = [(self._slots, 1)]
        if hot.key is not None:
            wants.append((f"key:{hot.key}", 1))
        if lane.probe is not None:
            wants.append((lane.probe, 1))
        amount = self.reservation(hot)
        if amount is not None:
            wants += [(name, amount) for name in money_names(plan_agent=self._plan.agent, hot=hot, at=self._plan.now)]
        return wants

    def reservation(self, hot: Hot) -> MicroUsd | None:
        """What the task reserves; None where no ceiling on money applies to it."""
        names = money_names(plan_agent=self._plan.agent, hot=hot, at=self._plan.now)
        if all(self._remaining(name) is None for name in names):
            return None
        return self._plan.default_reserve if hot.reserve is None else hot.reserve

    def shortage(self, wants: Iterable[tuple[str, int]]) -> str | None:
        """The first ceiling that has no room."""
        for name, amount in wants:
            left = self._remaining(name)
            if left is not None and amount > left:
                return name
        return None

    def take(self, wants: Iterable[tuple[str, int]]) -> None:
        for name, amount in wants:
            left = self._left[name]
            if left is not None:
                self._left[name] = left - amount
            self._used[name] = self._used.get(name, 0) + amount

    def full(self) -> bool:
        return self._exhausted(self._slots)

    def closed(self, lane: PlannedLane) -> bool:
        """Whether nothing of this lane can be taken any more by this agent."""
        if lane.probe is not None and self._exhausted(lane.probe):
            return True
        money = self.affordable()
        return money is not None and lane.floor > money

    def affordable(self) -> int | None:
        """What this agent may still reserve; a dearer task is left for others."""
        return self._remaining(f"agent:{self._plan.agent}")

    def spends(self) -> list[Spend]:
        return [Spend(self._plan.workspace, name, used) for name, used in sorted(self._used.items())]

    def _exhausted(self, name: str) -> bool:
        # Below nothing where a ceiling was lowered under what is held: then too there is no use in looking further.
        left = self._remaining(name)
        return left is not None and left <= 0

    def _remaining(self, name: str) -> int | None:
        if name not in self._left:
            limit = self._limit_of(name)
            ceiling = self._ceilings.get(name, ceiling_of(limit))
            self._left[name] = None if ceiling is None else ceiling - limit.held - limit.spent
        return self._left[name]


def money_names(*, plan_agent: AgentId, hot: Hot, at: Micros) -> list[str]:
    """The ceilings on money that an attempt stands under."""
    names = [f"agent:{plan_agent}", f"day:{utc_date(at)}"]
    return names if hot.dag_id is None else [*names, f"dag:{hot.dag_id}"]


def ceiling_of(limit: Limit) -> int | None:
    """Keys and probes admit one, without anyone having said so."""
    if limit.ceiling is None and limit.name.startswith(("key:", "probe:")):
        return 1
    return limit.ceiling


def parked_on(limit_name: str) -> str | None:
    """The blocker of tasks that wait for room under this ceiling; None where nothing waits so."""
    return _parking(limit_name)


def unpark(limit: Limit, parked: Iterable[Hot], default_reserve: MicroUsd) -> list[TaskId]:
    """Which parked tasks to make ready now that a ceiling has room: of each lane the best, as many as would fit.

    Of each lane, because the agents about may not be allowed the best of all; a claim lets the ceiling decide.
    """
    ceiling = ceiling_of(limit)
    left: dict[LaneId, float] = {}
    count: dict[LaneId, int] = {}
    chosen: list[TaskId] = []
    room = float("inf") if ceiling is None else ceiling - limit.held - limit.spent
    for hot in sorted(parked, key=lambda hot: (hot.rank, hot.seq)):
        amount = 1 if limit.name.startswith("key:") else default_reserve if hot.reserve is None else hot.reserve
        if amount <= left.setdefault(hot.lane, room) and count.get(hot.lane, 0) < UNPARKED_PER_LANE:
            left[hot.lane] -= amount
            count[hot.lane] = count.get(hot.lane, 0) + 1
            chosen.append(hot.id)
    return chosen


def _merged(plan: ClaimPlan, rows: Mapping[LaneId, Iterator[Hot]], room: Room) -> Iterator[tuple[PlannedLane, Hot]]:
    heads: list[tuple[int, int, int, Hot]] = []
    for index, lane in enumerate(plan.lanes):
        if not room.closed(lane) and (hot := next(rows[lane.id], None)) is not None:
            heads.append((hot.rank - aged(lane.boost, plan.now), hot.seq, index, hot))
    heapify(heads)
    while heads:
        _, _, index, hot = heads[0]
        lane = plan.lanes[index]
        if room.closed(lane):
            heappop(heads)
            continue
        yield lane, hot
        # Only now, when the caller wants more: the row behind the last one taken is never read.
        if (behind := next(rows[lane.id], None)) is None:
            heappop(heads)
        else:
            heapreplace(heads, (behind.rank - aged(lane.boost, plan.now), behind.seq, index, behind))


def _taken(plan: ClaimPlan, lane: PlannedLane, hot: Hot, lease: str, reserved: MicroUsd | None) -> Change:
    return transitions.claim(
        hot,
        agent=plan.agent,
        runtime=plan.runtime,
        lease=lease,
        circuit=lane.circuit,
        reserved=reserved or MicroUsd(0),
        start=plan.start,
        now=plan.now,
    )


def _parking(limit_name: str) -> str | None:
    """Slots, probes and an agent's own money keep only this agent away; the others keep the task from everybody."""
    if limit_name.startswith("key:"):
        return limit_name
    if limit_name.startswith("day:"):
        return "budget:day"  # whichever day it was met on, the next one frees it
    return f"budget:{limit_name}" if limit_name.startswith("dag:") else None
