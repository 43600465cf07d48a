"""What is answered about agents and the runtimes that host them."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.core.agent import AgentStatus, AgentType, Period, RegisteredAgent
from taskyard.core.runtime import incarnation_of, process_named, runtime_of
from taskyard.core.task import AgentId, RuntimeId
from taskyard.core.units import Micros, MicroUsd
from taskyard.definition.view import About, Money, Time, view

Incarnation = Annotated[str | None, About("Which process of its runtime, where that has several.")]


@view
class AgentView:
    """An agent as it stands, and what it may still spend."""

    id: AgentId
    type: str
    runtime_id: RuntimeId | None
    incarnation: Incarnation
    capabilities: frozenset[str]
    models_available: tuple[str, ...]
    types: frozenset[str] | None  # of tasks that it handles; None: any
    max_concurrent_tasks: int
    current_tasks: int
    budget: Annotated[Money | None, About("Of its type: all ids together, restarts included.")]
    budget_per: Annotated[Period, About("ever, day or month")]
    budget_set_by: Annotated[str | None, About("code or operator")]
    own_budget: Annotated[Money | None, About("Of this id alone.")]
    budget_left: Annotated[Money | None, About("The least of what is left of both.")]
    status: AgentStatus
    last_heartbeat: Time | None
    # What is stored of an agent that is silent says otherwise.
    silent: Annotated[bool, About("It is offline because it is not heard of, and did not sign off.")]
    poll_interval_sec: float
    claim_ttl_sec: int | None
    orchestrator: bool

    @property
    def process(self) -> RuntimeId | None:
        """What hosts it: its runtime, or one process of that."""
        return process_named(self.runtime_id, self.incarnation)


def agent_view(
    agent: RegisteredAgent,
    type_: AgentType,
    *,
    current_tasks: int,
    budget_left: MicroUsd | None,
    last_heartbeat: Micros | None,
    silent: bool,
) -> AgentView:
    return AgentView(
        id=agent.id,
        type=agent.type,
        runtime_id=runtime_of(agent.runtime),
        incarnation=incarnation_of(agent.runtime),
        capabilities=agent.capabilities,
        models_available=agent.models,
        types=agent.types,
        max_concurrent_tasks=agent.max_concurrent_tasks,
        current_tasks=current_tasks,
        budget=type_.budget.amount,
        budget_per=type_.budget.per,
        budget_set_by=type_.set_by,
        own_budget=agent.budget,
        budget_left=budget_left,
        status=AgentStatus.OFFLINE if silent else agent.status,
        last_heartbeat=last_heartbeat,
        silent=silent,
        poll_interval_sec=agent.poll_interval_sec,
        claim_ttl_sec=agent.claim_ttl_sec,
        orchestrator=agent.orchestrator,
    )


def registered_agent(seen: AgentView) -> RegisteredAgent:
    """The agent as its registration answers with it, in this process and beyond a server."""
    return RegisteredAgent(
        id=seen.id,
        type=seen.type,
        runtime=seen.process,
        capabilities=seen.capabilities,
        models=seen.models_available,
        types=seen.types,
        max_concurrent_tasks=seen.max_concurrent_tasks,
        budget=seen.own_budget,
        status=seen.status,
        poll_interval_sec=seen.poll_interval_sec,
        claim_ttl_sec=seen.claim_ttl_sec,
        orchestrator=seen.orchestrator,
        budget_left=seen.budget_left,
    )


class RuntimeView(NamedTuple):
    """A machine that hosts agents, or one process of it."""

    id: RuntimeId
    hostname: str
    pid: int | None
    version: str
    started_at: Time
    last_heartbeat: Time | None
    incarnation: Incarnation  # None: the only process of its runtime


class Orphans(NamedTuple):
    orphaned: int
    retried: int
