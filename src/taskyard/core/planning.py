"""From configuration to a claim plan: which lanes an agent may take from now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from taskyard.core.agent import Agent, AgentStatus, agent_of
from taskyard.core.breaker import Breaker, BreakerState, breaker_of, probe
from taskyard.core.changes import Record
from taskyard.core.claiming import PlannedLane
from taskyard.core.policy import PRESETS, BreakerPolicy, Policy
from taskyard.core.task import AgentId, Lane, LaneId
from taskyard.core.throttle import scope, until_of
from taskyard.core.units import Micros, MicroUsd


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a workspace decides for all its tasks."""

    preset: str | None = None  # None: the yard's
    daily_budget: MicroUsd | None = None
    default_reserve: MicroUsd = MicroUsd(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """The configuration of one workspace, read at one moment."""

    workspace: str
    epoch: int
    policy: Policy  # the yard's
    settings: Settings = Settings()
    agents: Mapping[AgentId, Agent] = field(default_factory=dict[AgentId, Agent])
    versions: Mapping[AgentId, int] = field(default_factory=dict[AgentId, int])
    paused: frozenset[str] = frozenset()
    queue_presets: Mapping[str, str] = field(default_factory=dict[str, str])
    breakers: Mapping[str, Breaker] = field(default_factory=dict[str, Breaker])
    throttles: Mapping[str, Record] = field(default_factory=dict[str, Record])

    def policy_of(self, queue: str) -> Policy:
        """A queue's own preset, else its workspace's, else the yard's."""
        name = self.queue_presets.get(queue) or self.settings.preset
        return self.policy if name is None else PRESETS[name]

    def breaker_policy(self, queue: str) -> BreakerPolicy:
        return self.policy_of(queue).breaker

    def breaker(self, type_: str) -> Breaker:
        return self.breakers.get(type_) or breaker_of(self.workspace, type_, None)

    def throttled_until(self, lane: Lane) -> Micros:
        """When the lane's scope may be claimed from again; 0 when it may."""
        scopes = {scope(lane.type, None), scope(lane.type, lane.model)}
        return max((until_of(self.throttles[each]) for each in scopes if each in self.throttles), default=Micros(0))


def planning_of(workspace: str, epoch: int, records: Iterable[Record], policy: Policy) -> Planning:
    """Sort the records that claims are planned on."""
    by_kind: dict[str, list[Record]] = {}
    for record in records:
        by_kind.setdefault(record.kind, []).append(record)
    agents = [(agent_of(record), record.version) for record in by_kind.get("agent", [])]
    queues = by_kind.get("queue", [])
    settings = by_kind.get("workspace", [])
    return Planning(
        workspace=workspace,
        epoch=epoch,
        policy=policy,
        settings=settings_of(settings[0]) if settings else Settings(),
        agents={agent.id: agent for agent, _ in agents},
        versions={agent.id: version for agent, version in agents},
        paused=frozenset(record.id for record in queues if record.body.get("paused")),
        queue_presets={record.id: cast(str, record.body["preset"]) for record in queues if record.body.get("preset")},
        breakers={record.id: breaker_of(workspace, record.id, record) for record in by_kind.get("breaker", [])},
        throttles={record.id: record for record in by_kind.get("throttle", [])},
    )


def settings_of(record: Record) -> Settings:
    return Settings(
        preset=cast(str | None, record.body.get("preset")),
        daily_budget=cast(MicroUsd | None, record.body.get("daily_budget")),
        default_reserve=cast(MicroUsd, record.body.get("default_reserve", 0)),
    )


def suits(lane: Lane, agent: Agent, policy: Policy) -> bool:
    """Whether the agent is one that such tasks are meant for: what it is, not what the moment allows."""
    if lane.agent is not None and lane.agent not in (agent.id, agent.type):
        return False
    if agent.types is not None and lane.type not in agent.types:
        return False
    if policy.types_are_capabilities and lane.type not in agent.capabilities:
        return False
    return agent.capabilities.issuperset(lane.capabilities)


def planned_lanes(
    planning: Planning,
    lanes: Mapping[LaneId, Lane],
    agent: Agent,
    *,
    queues: frozenset[str] | None,
    types: frozenset[str] | None,
    now: Micros,
) -> tuple[PlannedLane, ...]:
    """The lanes this agent may take from now, none at all where it is not active."""
    if agent.status is not AgentStatus.ACTIVE:
        return ()
    return tuple(
        planned
        for lane_id, lane in lanes.items()
        if (queues is None or lane.queue in queues)
        and (types is None or lane.type in types)
        and lane.queue not in planning.paused
        and suits(lane, agent, planning.policy_of(lane.queue))
        and (planned := _open_lane(planning, lane_id, lane, now)) is not None
    )


def _open_lane(planning: Planning, lane_id: LaneId, lane: Lane, now: Micros) -> PlannedLane | None:
    if planning.throttled_until(lane) > now:
        return None
    breaker = planning.breaker(lane.type)
    state = breaker.state(planning.breaker_policy(lane.queue), now)
    if state is BreakerState.OPEN:
        return None
    tried = probe(lane.type, breaker.generation) if state is BreakerState.HALF_OPEN else None
    return PlannedLane(lane_id, lane.boost, _floor(lane), breaker.generation, tried)


def _floor(lane: Lane) -> MicroUsd:
    """The least that a task of the lane can reserve: its cost class is a power of two."""
    return MicroUsd(1 << (lane.cost_class - 1) if lane.cost_class else 0)
