"""Making claim plans cheaply: the lanes an agent may take from change seldom, so they are worked out seldom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from taskyard.core.agent import Period, RegisteredAgent
from taskyard.core.breaker import BreakerState
from taskyard.core.claiming import ClaimPlan, PlannedLane
from taskyard.core.lease import seal_stem
from taskyard.core.planning import Planning, planned_lanes
from taskyard.core.throttle import until_of
from taskyard.core.units import DAY, Micros
from taskyard.ledger.configuration import Configuration

FOREVER = Micros(2**62)
Wanted = tuple[str, frozenset[str] | None, frozenset[str] | None]


class KeptPlan(NamedTuple):
    planning: Planning  # the very object it was made from
    lanes: tuple[PlannedLane, ...]
    known: int  # how many lanes there were
    until: Micros  # a throttle ends or a breaker half-opens then


class Planner:
    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._planned: dict[Wanted, KeptPlan] = {}

    def plan(
        self,
        planning: Planning,
        agent: RegisteredAgent,
        stems: Sequence[str],
        *,
        queues: frozenset[str] | None,
        types: frozenset[str] | None,
        start: bool,
        now: Micros,
    ) -> ClaimPlan:
        type_ = planning.agent_type(agent.type)
        return ClaimPlan(
            workspace=planning.workspace,
            agent=agent.id,
            agent_type=agent.type,
            runtime=agent.runtime,
            lanes=self._lanes(planning, agent, queues, types, now),
            leases=tuple(map(seal_stem, stems)),
            slots=agent.max_concurrent_tasks,
            agent_money=agent.budget,
            day_money=planning.settings.daily_budget,
            default_reserve=planning.settings.default_reserve,
            start=start,
            epoch=planning.epoch,
            now=now,
            claim_ttl=agent.claim_ttl_sec,
            type_slots=None if type_.grant is None else type_.grant.slots,
            type_budget=type_.budget,
        )

    def _lanes(
        self,
        planning: Planning,
        agent: RegisteredAgent,
        queues: frozenset[str] | None,
        types: frozenset[str] | None,
        now: Micros,
    ) -> tuple[PlannedLane, ...]:
        wanted: Wanted = (agent.id, queues, types)
        lanes = self._configuration.own_lanes
        planned = self._planned.get(wanted)
        if planned and planned.planning is planning and planned.known == len(lanes) and now < planned.until:
            return planned.lanes
        eligible = planned_lanes(planning, lanes, agent, queues=queues, types=types, now=now)
        self._planned[wanted] = KeptPlan(planning, eligible, len(lanes), _next_move(planning, now))
        return eligible


def next_opening(planning: Planning, plan: ClaimPlan) -> Micros:
    """When time alone may let the agent claim more than it could by this plan."""
    at = _next_move(planning, plan.now)
    budget = plan.type_budget
    is_renewed = budget.amount is not None and budget.per is not Period.EVER
    return min(at, Micros(plan.now - plan.now % DAY + DAY)) if is_renewed else at


def _next_move(planning: Planning, now: Micros) -> Micros:
    """When time alone will change what may be claimed."""
    ends = [until_of(record) for record in planning.throttles.values()]
    policy = planning.breaker_policy
    opens = [
        breaker.half_open_at(policy)
        for breaker in planning.breakers.values()
        if breaker.state(policy, now) is BreakerState.OPEN
    ]
    return min((at for at in (*ends, *opens) if at > now), default=FOREVER)
