"""Claim plans, as the core would make them of fresh configuration."""

from itertools import count

from taskyard.core.agent import NO_BUDGET, Budget
from taskyard.core.claiming import ClaimPlan, PlannedLane
from taskyard.core.task import AgentId, LaneId, RuntimeId
from taskyard.core.units import MicroUsd
from taskyard.stores.contract import Claimed, Store
from tests.stores.given import ADA, HERE, a_lane, lane_of

_numbers = count(1)


def planned(lane: LaneId, *, boost: int = 0, floor: int = 0, circuit: int = 0, probe: str | None = None) -> PlannedLane:
    return PlannedLane(lane, boost, MicroUsd(floor), circuit, probe)


async def a_plan(
    store: Store,
    *lanes: LaneId | PlannedLane,
    tasks: int = 1,
    agent: AgentId = ADA,
    runtime: RuntimeId | None = None,
    workspace: str = HERE,
    slots: int = 1000,
    agent_money: int | None = None,
    day_money: int | None = None,
    agent_type: str = "coder",
    type_slots: int | None = None,
    type_budget: Budget = NO_BUDGET,
    default_reserve: int = 0,
    start: bool = True,
) -> ClaimPlan:
    """A plan as fresh as can be. Without lanes: of the lane that `given_a_task` uses."""
    chosen = lanes or (await lane_of(store, a_lane(workspace)),)
    config = await store.config(workspace, LaneId(0))
    stem = next(_numbers)
    return ClaimPlan(
        workspace=workspace,
        agent=agent,
        agent_type=agent_type,
        runtime=runtime,
        lanes=tuple(lane if isinstance(lane, PlannedLane) else planned(lane) for lane in chosen),
        leases=tuple(f"lease {stem}.{number}" for number in range(tasks)),
        slots=slots,
        agent_money=None if agent_money is None else MicroUsd(agent_money),
        day_money=None if day_money is None else MicroUsd(day_money),
        default_reserve=MicroUsd(default_reserve),
        start=start,
        epoch=config.epoch,
        now=store.now(),
        type_slots=type_slots,
        type_budget=type_budget,
    )


async def take(store: Store, plan: ClaimPlan) -> Claimed:
    """Claim by a plan that is not stale."""
    claimed = await store.claim(plan)
    assert isinstance(claimed, Claimed), claimed
    return claimed
