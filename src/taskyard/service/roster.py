"""Agents and runtimes: who is there, what they may take, and what becomes of their work when they are gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from taskyard.core import fields
from taskyard.core.agent import Agent, AgentStatus, agent_of
from taskyard.core.changes import Beat, ChangeSet, RecordChange
from taskyard.core.errors import LeaseLost, NotFound
from taskyard.core.outcomes import Report
from taskyard.core.task import AgentId, Failure, Hot, Json, Reason, RuntimeId, Status, Trait
from taskyard.core.units import MicroUsd
from taskyard.service import arguments
from taskyard.service.engine import LOCAL, pulse
from taskyard.service.finishing import Finishing
from taskyard.wire.answers import AgentView, Orphans

MOST_SLOTS = 100_000


class Roster(Finishing):
    async def register(
        self,
        agent_id: str,
        type: str | None = None,
        *,
        capabilities: Iterable[str] = (),
        models: Iterable[str] = (),
        types: Iterable[str] | None = None,
        max_concurrent_tasks: int = 1,
        budget_usd: str | float | int | None = None,
        runtime_id: str | None = None,
        poll_interval_sec: float = 5,
        claim_ttl_sec: int | None = None,
        orchestrator: bool = False,
        by: str | None = None,
    ) -> Agent:
        """Say who can work. Registering again changes what is known and makes the agent active."""
        agent = Agent(
            id=AgentId(arguments.name("agent_id", agent_id)),
            type=arguments.name("type", agent_id if type is None else type),
            runtime=None if runtime_id is None else RuntimeId(arguments.name("runtime_id", runtime_id)),
            capabilities=frozenset(arguments.names("capabilities", capabilities)),
            models=arguments.names("models", models),
            types=None if types is None else frozenset(arguments.names("types", types)),
            max_concurrent_tasks=fields.whole(max_concurrent_tasks, "max_concurrent_tasks", least=1, most=MOST_SLOTS),
            budget=arguments.money("budget_usd", budget_usd),
            poll_interval_sec=fields.number(
                poll_interval_sec, "poll_interval_sec", least=0.001, most=fields.LONGEST_SEC
            ),
            claim_ttl_sec=None
            if claim_ttl_sec is None
            else fields.whole(claim_ttl_sec, "claim_ttl_sec", least=0, most=fields.LONGEST_SEC),
            orchestrator=orchestrator,
        )
        await self._put_agent(agent.id, lambda _: agent, "agent.registered", by)
        await self.store.pulse([pulse("agent", self.workspace, agent.id)])
        return agent

    async def drain_agent(self, agent_id: str, *, by: str | None = None) -> None:
        """Let the agent finish what it holds; it gets nothing new."""
        await self._set_status(agent_id, AgentStatus.DRAINING, by)

    async def resume_agent(self, agent_id: str, *, by: str | None = None) -> None:
        await self._set_status(agent_id, AgentStatus.ACTIVE, by)

    async def sign_off_agent(self, agent_id: str, *, by: str | None = None) -> None:
        """The agent is gone on purpose."""
        await self._set_status(agent_id, AgentStatus.OFFLINE, by)

    async def set_agent_budget(
        self, agent_id: str, budget_usd: str | float | int | None, *, by: str | None = None
    ) -> None:
        """What the agent may spend in all. Nothing: no limit."""
        money = arguments.money("budget_usd", budget_usd)
        await self._put_agent(
            agent_id, lambda agent: replace(_known(agent, agent_id), budget=money), "agent.budget", by
        )

    async def remove_agent(self, agent_id: str, *, by: str | None = None) -> None:
        """Forget an agent; what it holds fails at once and takes the retry path."""
        for hot in await self.store.held(agent=AgentId(agent_id)):
            if hot.workspace == self.workspace:
                await self._fail_orphan(hot, Reason.RUNTIME_OFFLINE)

        async def decide() -> tuple[ChangeSet, None]:
            record = await self.store.record("agent", self.workspace, agent_id)
            if record is None:
                raise NotFound("agent", agent_id)
            change = RecordChange("agent", self.workspace, agent_id, record.version, None)
            return ChangeSet(
                records=(change,),
                events=(self._told_by("agent.removed", by or LOCAL, {"agent": agent_id}),),
                at=self.now(),
            ), None

        await self._land(decide)

    async def agents(self) -> list[AgentView]:
        planning = await self._configuration.fresh()
        pulses = await self.store.pulses("agent:")
        names = [f"{kind}:{agent}" for agent in planning.agents for kind in ("slots", "agent")]
        limits = await self.store.limits(self.workspace, names)
        views: list[AgentView] = []
        for agent in planning.agents.values():
            slots, money = limits.get(f"slots:{agent.id}"), limits.get(f"agent:{agent.id}")
            used = 0 if money is None else money.held + money.spent
            left = None if agent.budget is None else MicroUsd(agent.budget - used)
            views.append(
                AgentView(agent, slots.held if slots else 0, left, pulses.get(pulse("agent", self.workspace, agent.id)))
            )
        return views

    async def agent(self, agent_id: str) -> AgentView:
        """One agent, and how it stands."""
        found = [view for view in await self.agents() if view.agent.id == agent_id]
        if not found:
            raise NotFound("agent", agent_id)
        return found[0]

    async def agent_heartbeat(self, agent_id: str) -> AgentStatus:
        """An idle agent says that it is there, and hears whether it should go on."""
        planning = await self._planning()
        known = planning.agents.get(AgentId(agent_id)) or (await self._configuration.fresh()).agents.get(
            AgentId(agent_id)
        )
        agent = _known(known, agent_id)
        await self.store.pulse([pulse("agent", self.workspace, agent_id)])
        return agent.status

    # Runtimes

    async def register_runtime(
        self, runtime_id: str, *, hostname: str = "", pid: int | None = None, version: str = ""
    ) -> None:
        """A process or machine that hosts agents says that it has started."""
        arguments.name("runtime_id", runtime_id)
        body: dict[str, Json] = {
            "hostname": arguments.words("hostname", hostname),
            "pid": None if pid is None else fields.whole(pid, "pid", least=0, most=2**32),
            "version": arguments.words("version", version),
            "started_at": self.now(),
        }

        async def decide() -> tuple[ChangeSet, None]:
            record = await self.store.record("runtime", self.workspace, runtime_id)
            change = RecordChange("runtime", self.workspace, runtime_id, record.version if record else 0, body)
            return ChangeSet(records=(change,), at=self.now()), None

        await self._land(decide)
        await self.store.pulse([pulse("runtime", self.workspace, runtime_id)])

    async def runtime_heartbeat(self, runtime_id: str) -> None:
        """Keep a runtime alive, and with it the leases of tasks whose preset ties them to it."""
        if await self.store.record("runtime", self.workspace, runtime_id) is None:
            raise NotFound("runtime", runtime_id)
        await self.store.pulse([pulse("runtime", self.workspace, runtime_id)])
        held = await self._held_by(RuntimeId(runtime_id))
        kept = [Beat(hot.id, hot.lease) for hot in held if hot.lease and hot.traits & Trait.RUNTIME_KEPT]
        await self.store.extend(kept)

    async def orphans(self, runtime_id: str) -> Orphans:
        """A runtime that has restarted gives up what it held before: it fails at once and takes the retry path."""
        held = await self._held_by(RuntimeId(runtime_id))
        fates = [await self._fail_orphan(hot, Reason.RUNTIME_RECOVERY) for hot in held]
        failed = [fate for fate in fates if fate is not None]
        return Orphans(len(failed), sum(fate is not Status.DEAD_LETTERED for fate in failed))

    async def _held_by(self, runtime_id: RuntimeId) -> list[Hot]:
        held = await self.store.held(runtime=runtime_id)
        return [hot for hot in held if hot.workspace == self.workspace]

    async def _fail_orphan(self, hot: Hot, reason: Reason) -> Status | None:
        failure = Failure(reason=reason, error=f"runtime {hot.runtime} no longer has it")
        try:
            return (await self.fail_attempt(hot.id, hot.lease or "", failure, Report("orphan", ""))).status
        except LeaseLost:
            return None  # it ended, or was taken back, while we were on the way

    # Stored agents

    async def _set_status(self, agent_id: str, status: AgentStatus, by: str | None) -> None:
        await self._put_agent(
            agent_id, lambda agent: replace(_known(agent, agent_id), status=status), f"agent.{status.value}", by
        )

    async def _put_agent(
        self, agent_id: str, change: Callable[[Agent | None], Agent], event: str, by: str | None
    ) -> None:
        """Store an agent. Where nobody else is named, it was the agent itself that said so."""
        arguments.name("agent_id", agent_id)

        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self.store.record("agent", self.workspace, agent_id)
            agent = change(None if record is None else agent_of(record))
            if record is not None and record.body == agent.body():
                return None, None
            row = RecordChange("agent", self.workspace, agent_id, record.version if record else 0, agent.body())
            told = self._told_by(event, by or f"agent:{agent_id}", {"agent": agent_id})
            return ChangeSet(records=(row,), events=(told,), at=self.now()), None

        await self._land(decide)


def _known(agent: Agent | None, agent_id: str) -> Agent:
    if agent is None:
        raise NotFound("agent", agent_id)
    return agent
