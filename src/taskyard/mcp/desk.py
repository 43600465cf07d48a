"""Whom a request of MCP is answered for: their yard, their role, and the agent that they work as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from secrets import token_hex

from taskyard.core.errors import InvalidInput
from taskyard.features.tokens.rules import Role
from taskyard.ledger.options import LOCAL
from taskyard.mcp.lease_keeper import LeaseKeeper
from taskyard.mcp.resources.event_reader import EventReader
from taskyard.yard import Yard

SLOTS = 5  # tasks that an agent which registers by claiming may hold; a grant may allow it fewer


class Toolset(StrEnum):
    """Which tools are shown. A token's role may allow fewer of them."""

    PRODUCER = "producer"  # puts work in and follows it
    WORKER = "worker"  # claims tasks and finishes them
    OPERATOR = "operator"  # repairs, approves and looks
    ALL = "all"


def toolset(name: str) -> Toolset:
    try:
        return Toolset(name)
    except ValueError:
        raise InvalidInput("role", f"must be one of {', '.join(each.value for each in Toolset)}") from None


@dataclass(slots=True, kw_only=True)
class Seat:
    """The agent that tasks are claimed for. It is registered by its first claim."""

    agent_id: str | None = None  # None: one is made by the first claim
    agent_type: str | None = None
    registered: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])

    async def taken(self, yard: Yard, capabilities: Sequence[str], asked: str | None = None) -> str:
        """The id of the agent, or of the one that is asked for. It has these capabilities from now on."""
        agent_id = asked or self.agent_id
        key = agent_id or "", *sorted(capabilities)
        if agent_id is None or key not in self.registered:
            agent_id = await self._registered(yard, agent_id, capabilities)
            self.agent_id = self.agent_id or agent_id
            self.registered.add((agent_id, *sorted(capabilities)))
        return agent_id

    def is_taken_by(self, agent_id: str) -> bool:
        """Whether work was claimed here in the name of this agent."""
        return any(agent_id == key[0] for key in self.registered)

    async def _registered(self, yard: Yard, agent_id: str | None, capabilities: Sequence[str]) -> str:
        name = agent_id or (None if self.agent_type else f"mcp-{token_hex(4)}")
        agent = await yard.agents.register(
            name, self.agent_type, capabilities=capabilities, max_concurrent_tasks=SLOTS, keep=True
        )
        return agent.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Everything that a tool, a resource or a prompt works with."""

    yard: Yard
    role: Role  # what the caller may do in this yard
    toolset: Toolset = Toolset.ALL
    by: str = LOCAL  # who is named as the author where the yard is in this process: agents make no work of their own
    seat: Seat
    leases: LeaseKeeper
    changes: EventReader
