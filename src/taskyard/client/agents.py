"""Agents of a yard that a server has."""

from __future__ import annotations

from collections.abc import Iterable

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.body import body, several
from taskyard.core.agent import AgentStatus, RegisteredAgent
from taskyard.core.errors import NotFound
from taskyard.features.agents.runtimes import Runtimes
from taskyard.features.agents.service import Agents
from taskyard.features.agents.views import AgentView, Orphans, RuntimeView, registered_agent


class RemoteAgents(Remote, Agents):
    async def list(self) -> list[AgentView]:
        return read(list[AgentView], (await self._connection.ask(calls.AGENTS))["agents"])

    async def get(self, agent_id: str) -> AgentView:
        """One agent, and how it stands."""
        found = [view for view in await self.list() if view.id == agent_id]
        if not found:
            raise NotFound("agent", agent_id)
        return found[0]

    async def register(
        self,
        agent_id: str | None,
        type: str | None = None,
        *,
        capabilities: Iterable[str] = (),
        models: Iterable[str] = (),
        types: Iterable[str] | None = None,
        max_concurrent_tasks: int = 1,
        budget_usd: str | float | int | None = None,
        budget_per: str | None = None,
        runtime_id: str | None = None,
        incarnation: str | None = None,
        poll_interval_sec: float = 5,
        claim_ttl_sec: int | None = None,
        orchestrator: bool = False,
        keep: bool = False,
        token: str | None = None,
        by: str | None = None,
    ) -> RegisteredAgent:
        """Say who can work. Registering again changes what is known and makes the agent active."""
        request = body(
            id=agent_id,
            type=type,
            capabilities=several(capabilities),
            models_available=several(models),
            types=several(types),
            max_concurrent_tasks=max_concurrent_tasks,
            budget_usd=budget_usd,
            budget_per=budget_per,
            runtime_id=runtime_id,
            incarnation=incarnation,
            poll_interval_sec=poll_interval_sec,
            claim_ttl_sec=claim_ttl_sec,
            orchestrator=orchestrator,
            keep=keep,
        )
        return registered_agent(read(AgentView, await self._connection.ask(calls.REGISTER, request)))

    async def heartbeat(self, agent_id: str) -> AgentStatus:
        """An idle agent says that it is there, and hears whether it should go on."""
        return AgentStatus((await self._connection.ask(calls.AGENT_HEARTBEAT, agent_id=agent_id))["status"])

    async def drain(self, agent_id: str, *, by: str | None = None) -> None:
        """Let the agent finish what it holds; it gets nothing new."""
        await self._connection.ask(calls.DRAIN, agent_id=agent_id)

    async def resume(self, agent_id: str, *, by: str | None = None) -> None:
        await self._connection.ask(calls.RESUME, agent_id=agent_id)

    async def sign_off(self, agent_id: str, *, by: str | None = None) -> None:
        """The agent is gone on purpose."""
        await self._connection.ask(calls.SIGN_OFF, agent_id=agent_id)

    async def set_budget(
        self,
        name: str,
        budget_usd: str | float | int | None = None,
        *,
        budget_per: str | None = None,
        take_back: bool = False,
        by: str | None = None,
    ) -> None:
        """What all agents of a type may spend together, or one id by itself. Nothing: no limit."""
        request = body(budget_usd=budget_usd, budget_per=budget_per, take_back=take_back)
        await self._connection.ask(calls.AGENT_BUDGET, request, agent_id=name)

    async def remove(self, agent_id: str, *, by: str | None = None) -> None:
        """Forget an agent; what it holds fails at once and takes the retry path."""
        await self._connection.ask(calls.REMOVE_AGENT, agent_id=agent_id)


class RemoteRuntimes(Remote, Runtimes):
    async def list(self) -> list[RuntimeView]:
        """The processes and machines that have said they host agents."""
        return read(list[RuntimeView], (await self._connection.ask(calls.RUNTIMES))["runtimes"])

    async def register(
        self,
        runtime_id: str,
        *,
        incarnation: str | None = None,
        hostname: str = "",
        pid: int | None = None,
        version: str = "",
    ) -> None:
        """A machine that hosts agents says that it has started; with an incarnation, one process of it does."""
        request = body(id=runtime_id, incarnation=incarnation, hostname=hostname, pid=pid, version=version)
        await self._connection.ask(calls.REGISTER_RUNTIME, request)

    async def heartbeat(self, runtime_id: str, *, incarnation: str | None = None, keep_leases: bool = True) -> None:
        """Keep a runtime alive, or one process of it, and with it the leases of tasks whose preset ties them to it."""
        request = body(incarnation=incarnation, keep_leases=keep_leases)
        await self._connection.ask(calls.RUNTIME_HEARTBEAT, request, runtime_id=runtime_id)

    async def orphans(self, runtime_id: str, *, incarnation: str | None = None) -> Orphans:
        """A runtime that has restarted gives up what it held before: it fails at once and takes the retry path."""
        request = body(incarnation=incarnation)
        return read(Orphans, await self._connection.ask(calls.ORPHANS, request, runtime_id=runtime_id))
