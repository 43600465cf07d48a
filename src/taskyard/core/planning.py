"""From configuration to a claim plan: which lanes an agent may take from now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from taskyard.core.agent import AgentStatus, AgentType, RegisteredAgent, agent_of, agent_type_of, narrowed
from taskyard.core.breaker import Breaker, BreakerState, breaker_of
from taskyard.core.changes import Record
from taskyard.core.claiming import PlannedLane, floor_of
from taskyard.core.identifiers import probe_ceiling
from taskyard.core.json_value import Json
from taskyard.core.policy import DEFAULT, PRESETS, BreakerPolicy, Policy, policy_of, reporting
from taskyard.core.record_kinds import QUEUE, WORKSPACE
from taskyard.core.task import AgentId, Definition, Lane, LaneId
from taskyard.core.throttle import scope, until_of
from taskyard.core.units import Micros, MicroUsd
from taskyard.core.variant import Variant, variants_of

_NOTHING = MicroUsd(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerSettings:
    """Where a workspace's breakers differ from those of the preset. None: they do not."""

    failure_threshold: int | None = None
    half_open_after: Micros | None = None
    # By type.
    thresholds: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    waits: Mapping[str, Micros] = field(default_factory=lambda: MappingProxyType({}))

    def over(self, policy: BreakerPolicy) -> BreakerPolicy:
        """The preset's policy with these in place of its own."""
        threshold, half_open_after = self.failure_threshold, self.half_open_after
        return replace(
            policy,
            failure_threshold=policy.failure_threshold if threshold is None else threshold,
            half_open_after=policy.half_open_after if half_open_after is None else half_open_after,
            thresholds={**policy.thresholds, **self.thresholds},
            waits={**policy.waits, **self.waits},
        )

    def to_body(self) -> dict[str, Json]:
        return {
            "failure_threshold": self.failure_threshold,
            "half_open_after": self.half_open_after,
            "thresholds": dict[str, Json](self.thresholds),
            "waits": dict[str, Json](self.waits),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a workspace decides for all its tasks."""

    preset: str | None = None  # that new tasks are put in under; None: nothing was put in yet
    daily_budget: MicroUsd | None = None
    default_reserve: MicroUsd = _NOTHING
    breakers: BreakerSettings | None = None  # None: as in the preset
    report_required: bool = False  # True: in every queue, whatever its preset says


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """The configuration of one workspace, read at one moment."""

    workspace: str
    epoch: int
    settings: Settings = Settings()
    agents: Mapping[AgentId, RegisteredAgent] = field(default_factory=dict[AgentId, RegisteredAgent])
    agent_types: Mapping[str, AgentType] = field(default_factory=dict[str, AgentType])
    versions: Mapping[AgentId, int] = field(default_factory=dict[AgentId, int])
    paused: frozenset[str] = frozenset()
    queue_presets: Mapping[str, str] = field(default_factory=dict[str, str])
    reporting: frozenset[str] = frozenset()  # queues whose tasks are completed only with a decision report
    breakers: Mapping[str, Breaker] = field(default_factory=dict[str, Breaker])
    throttles: Mapping[str, Record] = field(default_factory=dict[str, Record])
    variants: Mapping[str, tuple[Variant, ...]] = field(default_factory=dict[str, tuple[Variant, ...]])  # by type

    def agent_type(self, name: str) -> AgentType:
        return self.agent_types.get(name) or AgentType(name=name)

    def type_names(self) -> set[str]:
        """Every name that means a type of agents."""
        return {*self.agent_types, *(agent.type for agent in self.agents.values())}

    def types_by_id(self) -> dict[str, str]:
        """The type that each registered id belongs to."""
        return {agent.id: agent.type for agent in self.agents.values()}

    def policy_of(self, queue: str) -> Policy:
        """What tasks put in now follow: the queue's own preset, else its workspace's."""
        return self._reporting(PRESETS[self.queue_presets.get(queue) or self.preset], queue)

    def policy_for(self, draft: Definition) -> Policy:
        """What a new task is put in under: the preset it was drafted by, which for a rerun is that of the first run."""
        return self._reporting(policy_of(draft), draft.queue)

    def _reporting(self, policy: Policy, queue: str) -> Policy:
        return reporting(policy) if self.settings.report_required or queue in self.reporting else policy

    @property
    def preset(self) -> str:
        """The workspace's own, for the queues that have none."""
        return self.settings.preset or DEFAULT

    @property
    def breaker_policy(self) -> BreakerPolicy:
        """What opens and half-opens the breakers: the workspace's settings, else its preset's."""
        policy, own = PRESETS[self.preset].breaker, self.settings.breakers
        return policy if own is None else own.over(policy)

    def breaker(self, type_: str) -> Breaker:
        return self.breakers.get(type_) or breaker_of(self.workspace, type_, None)

    def throttled_until(self, lane: Lane) -> Micros:
        """When the lane's scope may be claimed from again; 0 when it may."""
        scopes = {scope(lane.type, None), scope(lane.type, lane.model)}
        return max((until_of(self.throttles[each]) for each in scopes if each in self.throttles), default=Micros(0))


def planning_of(workspace: str, epoch: int, records: Iterable[Record]) -> Planning:
    """Sort the records that claims are planned on."""
    by_kind: dict[str, list[Record]] = {}
    for record in records:
        by_kind.setdefault(record.kind, []).append(record)
    types = {record.id: agent_type_of(record) for record in by_kind.get("agent_type", [])}
    agents = [
        (narrowed(agent, types.get(agent.type) or AgentType(name=agent.type)), record.version)
        for record in by_kind.get("agent", [])
        if (agent := agent_of(record))
    ]
    queues = by_kind.get("queue", [])
    settings = by_kind.get("workspace", [])
    return Planning(
        workspace=workspace,
        epoch=epoch,
        settings=settings_of(settings[0]) if settings else Settings(),
        agents={agent.id: agent for agent, _ in agents},
        agent_types=types,
        versions={agent.id: version for agent, version in agents},
        paused=frozenset(record.id for record in queues if record.body.get("paused")),
        queue_presets={record.id: preset for record in queues if (preset := QUEUE.of(record).get("preset"))},
        reporting=frozenset(record.id for record in queues if record.body.get("report_required")),
        breakers={record.id: breaker_of(workspace, record.id, record) for record in by_kind.get("breaker", [])},
        throttles={record.id: record for record in by_kind.get("throttle", [])},
        variants={record.id: variants_of(record) for record in by_kind.get("variants", [])},
    )


def settings_of(record: Record) -> Settings:
    body = WORKSPACE.of(record)
    breakers = body.get("breakers")
    return Settings(
        preset=body.get("preset"),
        daily_budget=body.get("daily_budget"),
        default_reserve=body.get("default_reserve", MicroUsd(0)),
        breakers=None if breakers is None else BreakerSettings(**breakers),
        report_required=bool(record.body.get("report_required")),
    )


def is_barred(lane: Lane, agent: RegisteredAgent) -> bool:
    """Whether such tasks are kept from this agent: nobody judges what its own type, or its own token, has made."""
    return f"type:{agent.type}" in lane.barred or (agent.token is not None and f"token:{agent.token}" in lane.barred)


def suits(lane: Lane, agent: RegisteredAgent) -> bool:
    """Whether the agent is one that such tasks are meant for: what it is, not what the moment allows."""
    if lane.agent is not None and lane.agent not in (agent.id, agent.type):
        return False
    if agent.queues is not None and lane.queue not in agent.queues:
        return False
    if lane.barred and is_barred(lane, agent):
        return False
    if agent.types is not None and lane.type not in agent.types:
        return False
    return agent.capabilities.issuperset(lane.capabilities)


def planned_lanes(
    planning: Planning,
    lanes: Mapping[LaneId, Lane],
    agent: RegisteredAgent,
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
        and suits(lane, agent)
        and (planned := _open_lane(planning, lane_id, lane, now)) is not None
    )


def _open_lane(planning: Planning, lane_id: LaneId, lane: Lane, now: Micros) -> PlannedLane | None:
    if planning.throttled_until(lane) > now:
        return None
    breaker = planning.breaker(lane.type)
    state = breaker.state(planning.breaker_policy, now)
    if state is BreakerState.OPEN:
        return None
    tried = probe_ceiling(lane.type, breaker.generation) if state is BreakerState.HALF_OPEN else None
    floor = floor_of(lane.cost_class, planning.settings.default_reserve)
    return PlannedLane(lane_id, lane.boost, floor, breaker.generation, tried)
