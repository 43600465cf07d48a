"""A yard as a claim sees it: lanes of ready tasks, of which it is counted how far they are read, and ceilings."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from taskyard.core.agent import NO_BUDGET, Budget
from taskyard.core.changes import Limit
from taskyard.core.claiming import Choice, ClaimPlan, PlannedLane, choose
from taskyard.core.priority import RANK_UNIT, aged
from taskyard.core.task import Hot, LaneId, TaskId
from taskyard.core.units import Micros, MicroUsd
from tests.core.defining import NOW
from tests.core.rows import ADA, a_row, free

TODAY = "day:2026-11-15"
_numbers = count(1)


def a_lane(
    number: int = 1, *, boost: int = 0, floor: int = 0, circuit: int = 0, probe: str | None = None
) -> PlannedLane:
    return PlannedLane(LaneId(number), boost, MicroUsd(floor), circuit, probe)


def ready(priority: int = 50, *, lane: PlannedLane | None = None, **fields: Any) -> Hot:
    """A task of its own, later than all before it; its age begins now."""
    place, number = lane or a_lane(), next(_numbers)
    rank = priority * RANK_UNIT + aged(place.boost, NOW)
    return a_row(id=TaskId(f"task_{number:06}"), seq=number, lane=place.id, rank=rank, **fields)


def a_plan(
    *lanes: PlannedLane,
    tasks: int = 1,
    slots: int = 1000,
    agent_money: int | None = None,
    day_money: int | None = None,
    type_slots: int | None = None,
    type_budget: Budget = NO_BUDGET,
    default_reserve: int = 0,
    start: bool = True,
    now: Micros = NOW,
) -> ClaimPlan:
    return ClaimPlan(
        workspace="default",
        agent=ADA,
        agent_type="coder",
        runtime=None,
        lanes=lanes or (a_lane(),),
        leases=tuple(f"stem{number}" for number in range(tasks)),
        slots=slots,
        agent_money=None if agent_money is None else MicroUsd(agent_money),
        day_money=None if day_money is None else MicroUsd(day_money),
        default_reserve=MicroUsd(default_reserve),
        start=start,
        epoch=1,
        now=now,
        type_slots=type_slots,
        type_budget=type_budget,
    )


class Yard:
    """What is ready, and what stands against each ceiling."""

    def __init__(self, rows: Iterable[Hot], *limits: Limit) -> None:
        self.rows = sorted(rows, key=lambda row: (row.rank, row.seq))
        self.limits = {limit.name: limit for limit in limits}
        self.read: list[TaskId] = []

    def limit_of(self, name: str) -> Limit:
        return self.limits.get(name, free(name))

    def _walk(self, lane: LaneId) -> Iterator[Hot]:
        for row in self.rows:
            if row.lane == lane:
                self.read.append(row.id)
                yield row

    def choose(self, plan: ClaimPlan) -> Choice:
        return choose(plan, {lane.id: self._walk(lane.id) for lane in plan.lanes}, self.limit_of)

    def land(self, choice: Choice) -> None:
        """Write what was chosen, as a store would."""
        gone = {change.after.id for change in (*choice.taken, *(change for change, _ in choice.parked))}
        self.rows = [row for row in self.rows if row.id not in gone]
        for spend in choice.spends:
            limit = self.limit_of(spend.name)
            self.limits[spend.name] = limit._replace(held=limit.held + spend.held, spent=limit.spent + spend.spent)


def taken(choice: Choice) -> list[TaskId]:
    return [change.after.id for change in choice.taken]


def parked(choice: Choice) -> dict[TaskId, str]:
    return {blocker.task_id: blocker.name for _, blocker in choice.parked}


def ids(*rows: Hot) -> list[TaskId]:
    return [row.id for row in rows]
