"""A registered worker identity, as it is stored and as a claim sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from taskyard.core.changes import Record
from taskyard.core.task import AgentId, Json, RuntimeId
from taskyard.core.units import MicroUsd


class AgentStatus(StrEnum):
    ACTIVE = "active"
    DRAINING = "draining"  # finishes what it holds, gets nothing new
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    id: AgentId
    type: str
    runtime: RuntimeId | None = None
    capabilities: frozenset[str] = frozenset()
    models: tuple[str, ...] = ()
    types: frozenset[str] | None = None  # the task types it handles; None: any
    max_concurrent_tasks: int = 1
    budget: MicroUsd | None = None
    status: AgentStatus = AgentStatus.ACTIVE
    poll_interval_sec: float = 5
    claim_ttl_sec: int | None = None  # how soon after a claim it starts; None: as the task says
    orchestrator: bool = False

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
        }


def refusal(maker: Agent, addressed: Sequence[str], *, spawns: bool) -> str | None:
    """Why an agent may not make work for these, given by id or by type; None where it may."""
    if maker.orchestrator:
        return None
    if not spawns:
        return f"{maker.id} is no orchestrator, and makes work only by spawning it from the task that it holds"
    others = [target for target in addressed if target not in (maker.id, maker.type)]
    if not others:
        return None
    return (
        f"{maker.id} is no orchestrator, and only an orchestrator or a person may address work to {others[0]}; "
        "without `agent` it goes to whoever can do it"
    )


def agent_of(record: Record) -> Agent:
    body = cast(Mapping[str, Any], record.body)
    return Agent(
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
    )
