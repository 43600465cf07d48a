"""Agents: the type that people know and pay for, and the ids that work in its name.

Money, permissions and grants belong to the type; leases and heartbeats to the id. What an id asks for when it
registers is narrowed to what its type was granted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, NamedTuple

from taskyard.core.changes import Record
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import AGENT, AGENT_TYPE, BudgetBody, GrantBody
from taskyard.core.task import AgentId, RuntimeId
from taskyard.core.units import MicroUsd

# Capabilities to judge what others made: where tokens are used, an agent has one only by a grant that names it.
JUDGING = frozenset({"llm-judge", "test-runner"})


Slots = int | Literal["unlimited"]  # as an operator grants them
DEFAULT_SLOTS = 10  # of a grant that names none: no holder of a token takes as much as it asks for


class AgentStatus(StrEnum):
    ACTIVE = "active"
    DRAINING = "draining"  # finishes what it holds, gets nothing new
    OFFLINE = "offline"  # it signed off, or is not heard of


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredAgent:
    id: AgentId
    type: str
    runtime: RuntimeId | None = None
    capabilities: frozenset[str] = frozenset()
    models: tuple[str, ...] = ()
    types: frozenset[str] | None = None  # the task types it handles; None: any
    max_concurrent_tasks: int = 1
    budget: MicroUsd | None = None  # of this id alone, set by an operator; that of its type is in `AgentType`
    status: AgentStatus = AgentStatus.ACTIVE
    poll_interval_sec: float = 5
    claim_ttl_sec: int | None = None  # how soon after a claim it starts; None: as the task says
    orchestrator: bool = False
    token: str | None = None  # the id of the token that registered it; None: it came without one
    # Not stored with it:
    queues: frozenset[str] | None = None  # granted, and never its own word
    budget_left: MicroUsd | None = None  # of its type and of its own, when it registered

    def body(self) -> dict[str, Json]:
        return {
            "type": self.type,
            "runtime": self.runtime,
            "capabilities": list[Json](sorted(self.capabilities)),
            "models": list[Json](self.models),
            "types": None if self.types is None else list[Json](sorted(self.types)),
            "max_concurrent_tasks": self.max_concurrent_tasks,
            "budget": self.budget,
            "status": self.status.value,
            "poll_interval_sec": self.poll_interval_sec,
            "claim_ttl_sec": self.claim_ttl_sec,
            "orchestrator": self.orchestrator,
            "token": self.token,
        }


class Period(StrEnum):
    """What a budget is for."""

    EVER = "ever"
    DAY = "day"  # each UTC day
    MONTH = "month"  # each UTC month


class Budget(NamedTuple):
    amount: MicroUsd | None  # None: no limit
    per: Period = Period.EVER

    def body(self) -> dict[str, Json]:
        return {"amount": self.amount, "per": self.per.value}


NO_BUDGET = Budget(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What an operator allows the agents of a type, or one id. None: as much as they ask for.

    Slots are bounded also where the operator names none, and unlimited only where that was asked for.
    """

    types: frozenset[str] | None = None  # of tasks
    capabilities: frozenset[str] | None = None
    queues: frozenset[str] | None = None
    slots: int | None = DEFAULT_SLOTS  # of a type: the sum over all its ids; None: unlimited

    def body(self) -> dict[str, Json]:
        return {
            "types": _sorted(self.types),
            "capabilities": _sorted(self.capabilities),
            "queues": _sorted(self.queues),
            "slots": self.slots,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentType:
    """An agent as people know it, whatever ids work as it."""

    name: str
    in_code: Budget | None = None  # as the last process to start said it
    by_operator: Budget | None = None  # counts alone until it is taken back
    grant: Grant | None = None  # None: nobody was given a token for it, and anybody may be it
    id_grants: Mapping[str, Grant] = field(default_factory=dict[str, Grant])  # for tokens that name one id

    @property
    def budget(self) -> Budget:
        """The one that counts."""
        return self.by_operator or self.in_code or NO_BUDGET

    @property
    def set_by(self) -> str | None:
        """Whose word the budget is."""
        return "operator" if self.by_operator else "code" if self.in_code else None

    def grants_of(self, agent_id: str) -> list[Grant]:
        return [grant for grant in (self.grant, self.id_grants.get(agent_id)) if grant is not None]

    def has(self, agent_id: str, capability: str) -> bool:
        """Whether the id may have the capability, as far as it was granted anything."""
        lists = [grant.capabilities for grant in self.grants_of(agent_id)]
        named = [capability in capabilities for capabilities in lists if capabilities is not None]
        return all(named) and (not lists or bool(named) or capability not in JUDGING)

    def body(self) -> dict[str, Json]:
        return {
            "in_code": None if self.in_code is None else self.in_code.body(),
            "by_operator": None if self.by_operator is None else self.by_operator.body(),
            "grant": None if self.grant is None else self.grant.body(),
            "id_grants": {agent_id: grant.body() for agent_id, grant in self.id_grants.items()},
        }


def narrowed(agent: RegisteredAgent, type_: AgentType) -> RegisteredAgent:
    """The agent with no more than its type, and its id, were granted."""
    grants = type_.grants_of(agent.id)
    if not grants:
        return agent
    for grant in grants:
        types, queues = _common(agent.types, grant.types), _common(agent.queues, grant.queues)
        agent = replace(agent, types=types, queues=queues)
    granted_ones = frozenset(each for each in agent.capabilities if type_.has(agent.id, each))
    agent = replace(agent, capabilities=granted_ones)
    own = type_.id_grants.get(agent.id)
    if own is None or own.slots is None:
        return agent
    return replace(agent, max_concurrent_tasks=min(agent.max_concurrent_tasks, own.slots))


def _sorted(names: frozenset[str] | None) -> Json:
    return None if names is None else list[Json](sorted(names))


def _common(mine: frozenset[str] | None, granted: frozenset[str] | None) -> frozenset[str] | None:
    if mine is None or granted is None:
        return granted if mine is None else mine
    return mine & granted


def agent_of(record: Record) -> RegisteredAgent:
    body = AGENT.of(record)
    return RegisteredAgent(
        id=AgentId(record.id),
        type=body["type"],
        runtime=body["runtime"],
        capabilities=frozenset(body["capabilities"]),
        models=tuple(body["models"]),
        types=None if body["types"] is None else frozenset(body["types"]),
        max_concurrent_tasks=body["max_concurrent_tasks"],
        budget=body["budget"],
        status=AgentStatus(body["status"]),
        poll_interval_sec=body["poll_interval_sec"],
        claim_ttl_sec=body["claim_ttl_sec"],
        orchestrator=body["orchestrator"],
        token=body.get("token"),
    )


def agent_type_of(record: Record) -> AgentType:
    body = AGENT_TYPE.of(record)
    return AgentType(
        name=record.id,
        in_code=_budget_of(body["in_code"]),
        by_operator=_budget_of(body["by_operator"]),
        grant=None if body["grant"] is None else grant_of(body["grant"]),
        id_grants={agent_id: grant_of(grant) for agent_id, grant in body["id_grants"].items()},
    )


def grant_of(body: GrantBody) -> Grant:
    return Grant(
        types=_set_of(body["types"]),
        capabilities=_set_of(body["capabilities"]),
        queues=_set_of(body["queues"]),
        slots=body["slots"],
    )


def _set_of(names: Sequence[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


def _budget_of(body: BudgetBody | None) -> Budget | None:
    return None if body is None else Budget(body["amount"], Period(body["per"]))
