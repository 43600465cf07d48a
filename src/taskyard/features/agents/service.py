"""Agents and runtimes: who is there, what they may take, and what becomes of their work when they are gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from taskyard.core.agent import Agent, AgentStatus, AgentType, Budget, Period, agent_of, agent_type_of
from taskyard.core.changes import Beat, ChangeSet, Committed, Limit, Record, RecordChange
from taskyard.core.claiming import type_money
from taskyard.core.errors import Forbidden, IdentityTaken, InvalidInput, LeaseLost, NotFound
from taskyard.core.identifiers import agent_ceiling, slots_ceiling
from taskyard.core.json_value import Json
from taskyard.core.outcomes import Report
from taskyard.core.runtime import process_of, runtime_of
from taskyard.core.task import FINAL, AgentId, Failure, Hot, Reason, RuntimeId, Status, Trait
from taskyard.core.units import Micros, MicroUsd
from taskyard.definition import arguments, fields
from taskyard.features.agents.rules import (
    MOST_IDS,
    beyond_grant,
    budget_moved,
    is_silent,
    longest_gone,
    name_conflict,
    registered,
)
from taskyard.features.agents.views import AgentView, Orphans, agent_view
from taskyard.features.attempts.losses import Losses
from taskyard.ledger.ledger import pulse
from taskyard.ledger.options import LOCAL
from taskyard.service.finishing import Finishing
from taskyard.stores.contract import Filter


class Roster(Finishing):
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
    ) -> Agent:
        """Say who can work. Registering again changes what is known and makes the agent active.

        Without an id one is made for the type; without a type, an id that is known keeps its own, and a new one is the
        name of its type too. The budget is that of the type, until an operator sets one; None changes nothing. With
        `keep`, what is known of the agent stays, and capabilities are added to it.
        """
        known = (await self._configuration.fresh()).types_by_id()
        name = arguments.agent_name(agent_id, type, known)
        asked = Agent(
            id=AgentId(name.id),
            type=name.type,
            runtime=arguments.process(runtime_id, incarnation),
            capabilities=frozenset(arguments.names("capabilities", capabilities)),
            models=arguments.names("models", models),
            types=None if types is None else frozenset(arguments.names("types", types)),
            max_concurrent_tasks=fields.whole(
                max_concurrent_tasks, "max_concurrent_tasks", least=1, most=arguments.MOST_SLOTS
            ),
            poll_interval_sec=fields.number(
                poll_interval_sec, "poll_interval_sec", least=0.001, most=fields.LONGEST_SEC
            ),
            claim_ttl_sec=None
            if claim_ttl_sec is None
            else fields.whole(claim_ttl_sec, "claim_ttl_sec", least=0, most=fields.LONGEST_SEC),
            orchestrator=orchestrator,
            token=token,
        )
        budget = None if budget_usd is None else arguments.budget(budget_usd, budget_per)
        if token is not None:
            await self._admit(asked)

        async def decide() -> tuple[ChangeSet | None, Agent]:
            registration = await self._registration(asked, budget, by or f"agent:{asked.id}", keep=keep)
            # Heard of before it is known: a sweep in between would forget an agent that was never heard of.
            await self.store.pulse([pulse("agent", self.workspace, asked.id)])
            return registration

        agent = await self._land(decide)
        return replace(agent, budget_left=(await self.agent(agent.id)).budget_left)

    async def _registration(
        self, asked: Agent, budget: Budget | None, by: str, *, keep: bool
    ) -> tuple[ChangeSet | None, Agent]:
        planning = await self._configuration.fresh()
        record = await self.store.record("agent", self.workspace, asked.id)
        known = None if record is None else agent_of(record)
        # The record counts before the configuration, which may have been read before another process took the name.
        types, ids = planning.type_names(), planning.types_by_id() | ({} if known is None else {known.id: known.type})
        if (why := name_conflict(asked.id, asked.type, types, ids)) is not None:
            raise IdentityTaken(asked.id, why)
        agent = registered(known, asked, keep=keep)
        type_record = await self.store.record("agent_type", self.workspace, agent.type)
        stored = AgentType(name=agent.type) if type_record is None else agent_type_of(type_record)
        if (beyond := beyond_grant(agent, stored)) is not None:
            raise Forbidden(f"{agent.type} was not granted {beyond}: an admin does with `taskyard token grant`")
        type_ = stored if budget is None else replace(stored, in_code=budget)
        rows = _moved_rows("agent", self.workspace, record, agent.id, agent.body())
        events = [self._told_by("agent.registered", by, {"agent": agent.id})] if rows else []
        if moved := _moved_rows("agent_type", self.workspace, type_record, agent.type, type_.body()):
            rows += moved
            events += self._told_of_budget(stored, type_, by)
        # The rules on names looked at what was known: that no such name has come up since is guarded here.
        if known is None and agent.id != agent.type:
            rows += [RecordChange("agent_type", self.workspace, agent.id, 0, None)]
        if type_record is None and agent.id != agent.type and agent.type not in ids:
            rows += [RecordChange("agent", self.workspace, agent.type, 0, None)]
        return ChangeSet(records=tuple(rows), events=tuple(events), at=self.now()) if rows else None, agent

    async def _admit(self, asked: Agent) -> None:
        """Where a type has as many ids as may register with tokens, the longest silent one gives way to a new one."""
        agents = (await self._configuration.fresh()).agents
        same = [agent for agent in agents.values() if agent.type == asked.type]
        if asked.id in agents or len(same) < MOST_IDS:
            return
        pulses = await self.store.pulses("agent:")
        heard = {str(agent.id): pulses.get(pulse("agent", self.workspace, agent.id), Micros(0)) for agent in same}
        for agent in longest_gone(same, heard, self.now()):
            record = await self.store.record("agent", self.workspace, agent.id)
            if record is not None and await self._forget_agent(record, "yard:registering"):
                return
        raise Forbidden(f"{asked.type} has {len(same)} agents that are heard of, and no more may register")

    async def _forget_agent(self, record: Record, by: str) -> bool:
        """Forget an agent, unless that would lose something. What it spent is kept."""
        # An operator's word on its money would be lost with it. Work that names it, or that it holds, needs it.
        live = Filter(workspace=self.workspace, statuses=frozenset(Status) - FINAL, agent=record.id)
        if agent_of(record).budget is not None or await self.store.find(live, after=0, limit=1):
            return False
        change = RecordChange("agent", self.workspace, record.id, record.version, None)
        told = self._told_by("agent.forgotten", by, {"agent": record.id})
        return isinstance(
            await self._committer.commit(ChangeSet(records=(change,), events=(told,), at=self.now())), Committed
        )

    async def drain_agent(self, agent_id: str, *, by: str | None = None) -> None:
        """Let the agent finish what it holds; it gets nothing new."""
        await self._set_status(agent_id, AgentStatus.DRAINING, by)

    async def resume_agent(self, agent_id: str, *, by: str | None = None) -> None:
        await self._set_status(agent_id, AgentStatus.ACTIVE, by)

    async def sign_off_agent(self, agent_id: str, *, by: str | None = None) -> None:
        """The agent is gone on purpose."""
        await self._set_status(agent_id, AgentStatus.OFFLINE, by)

    async def set_agent_budget(
        self,
        name: str,
        budget_usd: str | float | int | None = None,
        *,
        budget_per: str | None = None,
        take_back: bool = False,
        by: str | None = None,
    ) -> None:
        """What all agents of a type may spend together, or one id by itself. Nothing: no limit.

        From now on this counts, whatever is said in code; `take_back` lets what is said in code count again.
        """
        name = arguments.name("agent", name)
        budget = arguments.budget(budget_usd, budget_per)

        async def decide() -> tuple[ChangeSet | None, None]:
            planning = await self._configuration.fresh()
            if name in planning.type_names():
                return await self._type_budget(name, None if take_back else budget, by or LOCAL), None
            if budget.per is not Period.EVER:
                raise InvalidInput("budget_per", f"is for types, and {name} is an id of one")
            return await self._id_budget(name, None if take_back else budget.amount, by or LOCAL), None

        await self._land(decide)

    async def _type_budget(self, name: str, budget: Budget | None, by: str) -> ChangeSet | None:
        record = await self.store.record("agent_type", self.workspace, name)
        before = AgentType(name=name) if record is None else agent_type_of(record)
        after = replace(before, by_operator=budget)
        rows = _moved_rows("agent_type", self.workspace, record, name, after.body())
        events = self._told_of_budget(before, after, by)
        return ChangeSet(records=tuple(rows), events=tuple(events), at=self.now()) if rows else None

    async def _id_budget(self, agent_id: str, amount: MicroUsd | None, by: str) -> ChangeSet | None:
        record = await self.store.record("agent", self.workspace, agent_id)
        before = _known(None if record is None else agent_of(record), agent_id)
        rows = _moved_rows("agent", self.workspace, record, agent_id, replace(before, budget=amount).body())
        moved = budget_moved(before.type, Budget(before.budget), Budget(amount))
        told = self._told_by("agent.budget", by, {"agent": agent_id, **moved})
        return ChangeSet(records=tuple(rows), events=(told,), at=self.now()) if rows else None

    async def remove_agent(self, agent_id: str, *, by: str | None = None) -> None:
        """Forget an agent; what it holds fails at once and takes the retry path."""
        held = await self.store.held(agent=AgentId(agent_id))
        await self._fail_orphans([hot for hot in held if hot.workspace == self.workspace], Reason.RUNTIME_OFFLINE)

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
        """Who is registered, by type, and how each stands."""
        planning, now = await self._configuration.fresh(), self.now()
        pulses = await self.store.pulses("agent:")
        money = {name: planning.agent_type(name) for name in planning.type_names()}
        rows = [type_money(name, type_.budget.per, now) for name, type_ in money.items()]
        names = [f"{kind}:{agent}" for agent in planning.agents for kind in ("slots", "agent")]
        limits = await self.store.limits(self.workspace, [*names, *rows])
        known = sorted(planning.agents.values(), key=lambda agent: (agent.type, agent.id))
        return [
            _view(agent, money[agent.type], limits, pulses.get(pulse("agent", self.workspace, agent.id)), now)
            for agent in known
        ]

    async def agent(self, agent_id: str) -> AgentView:
        """One agent, and how it stands."""
        found = [view for view in await self.agents() if view.id == agent_id]
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
        self,
        runtime_id: str,
        *,
        incarnation: str | None = None,
        hostname: str = "",
        pid: int | None = None,
        version: str = "",
    ) -> None:
        """A machine that hosts agents says that it has started; with an incarnation, one process of it does."""
        process = arguments.process(arguments.name("runtime_id", runtime_id), incarnation) or ""
        body: dict[str, Json] = {
            "hostname": arguments.words("hostname", hostname),
            "pid": None if pid is None else fields.whole(pid, "pid", least=0, most=2**32),
            "version": arguments.words("version", version),
            "started_at": self.now(),
        }

        async def decide() -> tuple[ChangeSet, None]:
            record = await self.store.record("runtime", self.workspace, process)
            change = RecordChange("runtime", self.workspace, process, record.version if record else 0, body)
            return ChangeSet(records=(change,), at=self.now()), None

        await self._land(decide)
        await self.store.pulse([pulse("runtime", self.workspace, process)])

    async def runtime_heartbeat(
        self, runtime_id: str, *, incarnation: str | None = None, keep_leases: bool = True
    ) -> None:
        """Keep a runtime alive, or one process of it, and with it the leases of tasks whose preset ties them to it.

        Whoever sends a heartbeat for each of its tasks keeps no leases by this one: what it forgot must run out.
        """
        process = process_of(runtime_id, incarnation)
        if await self.store.record("runtime", self.workspace, process) is None:
            raise NotFound("runtime", process)
        await self.store.pulse([pulse("runtime", self.workspace, process)])
        held = await self._held_by(process) if keep_leases else []
        kept = [Beat(hot.id, hot.lease) for hot in held if hot.lease and hot.traits & Trait.RUNTIME_KEPT]
        await self.store.extend(kept)

    async def orphans(self, runtime_id: str, *, incarnation: str | None = None) -> Orphans:
        """A runtime that has restarted gives up what it held before: it fails at once and takes the retry path.

        With an incarnation, only what that process held, and the process is forgotten. Without one, what any process
        of the runtime holds.
        """
        process = process_of(runtime_id, incarnation)
        held = await self._held_by(process) if incarnation else await self._held_on(process)
        failed = await self._fail_orphans(held, Reason.RUNTIME_RECOVERY)
        if incarnation:
            await self._forget_process(process)
        return Orphans(len(failed), sum(fate is not Status.DEAD_LETTERED for fate in failed))

    async def _held_on(self, runtime: RuntimeId) -> list[Hot]:
        """What all processes of a runtime hold."""
        held = await self.store.held()
        return [hot for hot in held if hot.workspace == self.workspace and runtime_of(hot.runtime) == runtime]

    async def _forget_process(self, process: RuntimeId) -> None:
        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self.store.record("runtime", self.workspace, process)
            if record is None:
                return None, None
            change = RecordChange("runtime", self.workspace, process, record.version, None)
            return ChangeSet(records=(change,), at=self.now()), None

        await self._land(decide)

    async def _held_by(self, runtime_id: RuntimeId) -> list[Hot]:
        held = await self.store.held(runtime=runtime_id)
        return [hot for hot in held if hot.workspace == self.workspace]

    async def _fail_orphans(self, held: Iterable[Hot], reason: Reason) -> list[Status]:
        """Take back what its worker no longer has, and say what became of each. A breaker counts one of each type."""
        losses, fates = Losses(self.store), list[Status]()
        for hot in held:
            failure = Failure(reason=reason, error=f"runtime {runtime_of(hot.runtime)} no longer has it")
            in_company = await losses.are_more(hot, self)
            try:
                failed = await self.fail_attempt(
                    hot.id, hot.lease or "", failure, Report("orphan", ""), in_company=in_company
                )
            except LeaseLost:
                continue  # it ended, or was taken back, while we were on the way
            await losses.gone(hot, self)
            fates.append(failed.status)
        return fates

    # Stored agents

    async def _set_status(self, agent_id: str, status: AgentStatus, by: str | None) -> None:
        await self._put_agent(
            agent_id, lambda agent: replace(_known(agent, agent_id), status=status), f"agent.{status.value}", by
        )

    async def _put_agent(
        self, agent_id: str, change: Callable[[Agent | None], Agent], event: str, by: str | None
    ) -> None:
        """Store an agent. Where nobody else is named, it was the agent itself that said so."""
        agent_id = arguments.name("agent_id", agent_id)

        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self.store.record("agent", self.workspace, agent_id)
            agent = change(None if record is None else agent_of(record))
            if record is not None and record.body == agent.body():
                return None, None
            row = RecordChange("agent", self.workspace, agent_id, record.version if record else 0, agent.body())
            told = self._told_by(event, by or f"agent:{agent_id}", {"agent": agent_id})
            return ChangeSet(records=(row,), events=(told,), at=self.now()), None

        await self._land(decide)


def _view(agent: Agent, type_: AgentType, limits: Mapping[str, Limit], heard: Micros | None, now: Micros) -> AgentView:
    slots, budget = limits.get(slots_ceiling(agent.id)), type_.budget
    left = [
        ceiling - (limit.held + limit.spent if (limit := limits.get(name)) else 0)
        for name, ceiling in (
            (agent_ceiling(agent.id), agent.budget),
            (type_money(agent.type, budget.per, now), budget.amount),
        )
        if ceiling is not None
    ]
    return agent_view(
        agent,
        type_,
        current_tasks=slots.held if slots else 0,
        budget_left=MicroUsd(min(left)) if left else None,
        last_heartbeat=heard,
        silent=is_silent(agent, heard, now),
    )


def _moved_rows(
    kind: str, workspace: str, record: Record | None, id_: str, body: dict[str, Json]
) -> list[RecordChange]:
    """Nothing where what is stored is the same already."""
    if record is not None and record.body == body:
        return []
    return [RecordChange(kind, workspace, id_, 0 if record is None else record.version, body)]


def _known(agent: Agent | None, agent_id: str) -> Agent:
    if agent is None:
        raise NotFound("agent", agent_id)
    return agent
