"""Agents of a yard that a server has."""

from __future__ import annotations

from typing import Any

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote, over_http
from taskyard.core.agent import RegisteredAgent
from taskyard.core.errors import NotFound
from taskyard.features.agents.runtimes import Runtimes
from taskyard.features.agents.service import Agents
from taskyard.features.agents.views import AgentView, registered_agent


def _registered(document: Any) -> RegisteredAgent:
    return registered_agent(read(AgentView, document))


class RemoteAgents(Remote, Agents):
    register = over_http(
        Agents.register, calls.REGISTER, names={"agent_id": "id", "models": "models_available"}, reads=_registered
    )
    heartbeat = over_http(Agents.heartbeat, calls.AGENT_HEARTBEAT)
    drain = over_http(Agents.drain, calls.DRAIN)
    resume = over_http(Agents.resume, calls.RESUME)
    sign_off = over_http(Agents.sign_off, calls.SIGN_OFF)
    set_budget = over_http(Agents.set_budget, calls.AGENT_BUDGET, names={"name": "agent_id"})
    remove = over_http(Agents.remove, calls.REMOVE_AGENT)
    list = over_http(Agents.list, calls.AGENTS)

    async def get(self, agent_id: str) -> AgentView:
        """By hand: there is no call for one agent."""
        found = [view for view in await self.list() if view.id == agent_id]
        if not found:
            raise NotFound("agent", agent_id)
        return found[0]


class RemoteRuntimes(Remote, Runtimes):
    list = over_http(Runtimes.list, calls.RUNTIMES)
    register = over_http(Runtimes.register, calls.REGISTER_RUNTIME, names={"runtime_id": "id"})
    heartbeat = over_http(Runtimes.heartbeat, calls.RUNTIME_HEARTBEAT)
    orphans = over_http(Runtimes.orphans, calls.ORPHANS)
