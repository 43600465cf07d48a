"""Agents and runtimes: who is there, what they may take, and what becomes of their work when they are gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from taskyard.core.agent import AgentStatus, AgentType, Budget, Period, RegisteredAgent, agent_of, agent_type_of
from taskyard.core.changes import ChangeSet, Committed, Limit, Record, RecordChange
from taskyard.core.claiming import type_money
from taskyard.core.errors import Forbidden, IdentityTaken, InvalidInput, NotFound
from taskyard.core.identifiers import agent_ceiling, slots_ceiling
from taskyard.core.json_value import Json
from taskyard.core.task import FINAL, AgentId, Reason, Status
from taskyard.core.units import Micros, MicroUsd
from taskyard.definition import arguments, fields
from taskyard.features.agents.budget_changes import budget_events
from taskyard.features.agents.lost_work import LostWork
from taskyard.features.agents.rules import (
    MOST_IDS,
    beyond_grant,
    budget_moved,
    is_silent,
    longest_gone,
    name_conflict,
    registered,
)
from taskyard.features.agents.views import AgentView, agent_view
from taskyard.ledger.ledger import Ledger, pulse
from taskyard.ledger.options import LOCAL
from taskyard.stores.contract import Filter


class Agents:
    def __init__(self, ledger: Ledger, lost_work: LostWork) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._lost_work = lost_work

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
        """Say who can work. Registering again changes what is known and makes the agent active.

        Without an id one is made for the type; without a type, an id that is known keeps its own, and a new one is the
        name of its type too. The budget is that of the type, until an operator sets one; None changes nothing. With
        `keep`, what is known of the agent stays, and capabilities are added to it.
        """
        known = (await self._ledger.configuration.fresh()).types_by_id()
        name = arguments.agent_name(agent_id, type, known)
        asked = RegisteredAgent(
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

        async def decide() -> tuple[ChangeSet | None, RegisteredAgent]:
            registration = await self._registration(asked, budget, by or f"agent:{asked.id}", keep=keep)
            # Heard of before it is known: a sweep in between would forget an agent that was never heard of.
            await self._store.pulse([pulse("agent", self._workspace, asked.id)])
            return registration

        agent = await self._ledger.commit(decide)
        return replace(agent, budget_left=(await self.get(agent.id)).budget_left)

    async def _registration(
        self, asked: RegisteredAgent, budget: Budget | None, by: str, *, keep: bool
    ) -> tuple[ChangeSet | None, RegisteredAgent]:
        planning = await self._ledger.configuration.fresh()
        record = await self._store.record("agent", self._workspace, asked.id)
        known = None if record is None else agent_of(record)
        # The record counts before the configuration, which may have been read before another process took the name.
        types, ids = planning.type_names(), planning.types_by_id() | ({} if known is None else {known.id: known.type})
        if (why := name_conflict(asked.id, asked.type, types, ids)) is not None:
            raise IdentityTaken(asked.id, why)
        agent = registered(known, asked, keep=keep)
        type_record = await self._store.record("agent_type", self._workspace, agent.type)
        stored = AgentType(name=agent.type) if type_record is None else agent_type_of(type_record)
        if (beyond := beyond_grant(agent, stored)) is not None:
            raise Forbidden(f"{agent.type} was not granted {beyond}: an admin does with `taskyard token grant`")
        type_ = stored if budget is None else replace(stored, in_code=budget)
        rows = _moved_rows("agent", self._workspace, record, agent.id, agent.body())
        events = [self._ledger.audit("agent.registered", by, {"agent": agent.id})] if rows else []
        if moved := _moved_rows("agent_type", self._workspace, type_record, agent.type, type_.body()):
            rows += moved
            events += budget_events(self._ledger, stored, type_, by)
        # The rules on names looked at what was known: that no such name has come up since is guarded here.
        if known is None and agent.id != agent.type:
            rows += [RecordChange("agent_type", self._workspace, agent.id, 0, None)]
        if type_record is None and agent.id != agent.type and agent.type not in ids:
            rows += [RecordChange("agent", self._workspace, agent.type, 0, None)]
        return ChangeSet(records=tuple(rows), events=tuple(events), at=self._ledger.now()) if rows else None, agent

    async def _admit(self, asked: RegisteredAgent) -> None:
        """Where a type has as many ids as may register with tokens, the longest silent one gives way to a new one."""
        agents = (await self._ledger.configuration.fresh()).agents
        same = [agent for agent in agents.values() if agent.type == asked.type]
        if asked.id in agents or len(same) < MOST_IDS:
            return
        pulses = await self._store.pulses("agent:")
        heard = {str(agent.id): pulses.get(pulse("agent", self._workspace, agent.id), Micros(0)) for agent in same}
        for agent in longest_gone(same, heard, self._ledger.now()):
            record = await self._store.record("agent", self._workspace, agent.id)
            if record is not None and await self.forget(record, "yard:registering"):
                return
        raise Forbidden(f"{asked.type} has {len(same)} agents that are heard of, and no more may register")

    async def forget(self, record: Record, by: str) -> bool:
        """Forget an agent, unless that would lose something. What it spent is kept."""
        # An operator's word on its money would be lost with it. Work that names it, or that it holds, needs it.
        live = Filter(workspace=self._workspace, statuses=frozenset(Status) - FINAL, agent=record.id)
        if agent_of(record).budget is not None or await self._store.find(live, after=0, limit=1):
            return False
        change = RecordChange("agent", self._workspace, record.id, record.version, None)
        audited = self._ledger.audit("agent.forgotten", by, {"agent": record.id})
        return isinstance(
            await self._ledger.commit_set(ChangeSet(records=(change,), events=(audited,), at=self._ledger.now())),
            Committed,
        )

    async def drain(self, agent_id: str, *, by: str | None = None) -> None:
        """Let the agent finish what it holds; it gets nothing new."""
        await self._set_status(agent_id, AgentStatus.DRAINING, by)

    async def resume(self, agent_id: str, *, by: str | None = None) -> None:
        await self._set_status(agent_id, AgentStatus.ACTIVE, by)

    async def sign_off(self, agent_id: str, *, by: str | None = None) -> None:
        """The agent is gone on purpose."""
        await self._set_status(agent_id, AgentStatus.OFFLINE, by)

    async def set_budget(
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
            planning = await self._ledger.configuration.fresh()
            if name in planning.type_names():
                return await self._type_budget(name, None if take_back else budget, by or LOCAL), None
            if budget.per is not Period.EVER:
                raise InvalidInput("budget_per", f"is for types, and {name} is an id of one")
            return await self._id_budget(name, None if take_back else budget.amount, by or LOCAL), None

        await self._ledger.commit(decide)

    async def _type_budget(self, name: str, budget: Budget | None, by: str) -> ChangeSet | None:
        record = await self._store.record("agent_type", self._workspace, name)
        before = AgentType(name=name) if record is None else agent_type_of(record)
        after = replace(before, by_operator=budget)
        rows = _moved_rows("agent_type", self._workspace, record, name, after.body())
        events = budget_events(self._ledger, before, after, by)
        return ChangeSet(records=tuple(rows), events=tuple(events), at=self._ledger.now()) if rows else None

    async def _id_budget(self, agent_id: str, amount: MicroUsd | None, by: str) -> ChangeSet | None:
        record = await self._store.record("agent", self._workspace, agent_id)
        before = _known(None if record is None else agent_of(record), agent_id)
        rows = _moved_rows("agent", self._workspace, record, agent_id, replace(before, budget=amount).body())
        moved = budget_moved(before.type, Budget(before.budget), Budget(amount))
        audited = self._ledger.audit("agent.budget", by, {"agent": agent_id, **moved})
        return ChangeSet(records=tuple(rows), events=(audited,), at=self._ledger.now()) if rows else None

    async def remove(self, agent_id: str, *, by: str | None = None) -> None:
        """Forget an agent; what it holds fails at once and takes the retry path."""
        held = await self._store.held(agent=AgentId(agent_id))
        await self._lost_work.fail([hot for hot in held if hot.workspace == self._workspace], Reason.RUNTIME_OFFLINE)

        async def decide() -> tuple[ChangeSet, None]:
            record = await self._store.record("agent", self._workspace, agent_id)
            if record is None:
                raise NotFound("agent", agent_id)
            change = RecordChange("agent", self._workspace, agent_id, record.version, None)
            return ChangeSet(
                records=(change,),
                events=(self._ledger.audit("agent.removed", by or LOCAL, {"agent": agent_id}),),
                at=self._ledger.now(),
            ), None

        await self._ledger.commit(decide)

    async def list(self) -> list[AgentView]:
        """Who is registered, by type, and how each stands."""
        planning, now = await self._ledger.configuration.fresh(), self._ledger.now()
        pulses = await self._store.pulses("agent:")
        money = {name: planning.agent_type(name) for name in planning.type_names()}
        rows = [type_money(name, type_.budget.per, now) for name, type_ in money.items()]
        names = [name(agent) for agent in planning.agents for name in (slots_ceiling, agent_ceiling)]
        limits = await self._store.limits(self._workspace, [*names, *rows])
        known = sorted(planning.agents.values(), key=lambda agent: (agent.type, agent.id))
        return [
            _view(agent, money[agent.type], limits, pulses.get(pulse("agent", self._workspace, agent.id)), now)
            for agent in known
        ]

    async def get(self, agent_id: str) -> AgentView:
        """One agent, and how it stands."""
        found = [view for view in await self.list() if view.id == agent_id]
        if not found:
            raise NotFound("agent", agent_id)
        return found[0]

    async def heartbeat(self, agent_id: str) -> AgentStatus:
        """An idle agent says that it is there, and hears whether it should go on."""
        planning = await self._ledger.configuration.current()
        known = planning.agents.get(AgentId(agent_id)) or (await self._ledger.configuration.fresh()).agents.get(
            AgentId(agent_id)
        )
        agent = _known(known, agent_id)
        await self._store.pulse([pulse("agent", self._workspace, agent_id)])
        return agent.status

    async def _set_status(self, agent_id: str, status: AgentStatus, by: str | None) -> None:
        await self._put_agent(
            agent_id, lambda agent: replace(_known(agent, agent_id), status=status), f"agent.{status.value}", by
        )

    async def _put_agent(
        self, agent_id: str, change: Callable[[RegisteredAgent | None], RegisteredAgent], event: str, by: str | None
    ) -> None:
        """Store an agent. Where nobody else is named, it was the agent itself that said so."""
        agent_id = arguments.name("agent_id", agent_id)

        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self._store.record("agent", self._workspace, agent_id)
            agent = change(None if record is None else agent_of(record))
            if record is not None and record.body == agent.body():
                return None, None
            row = RecordChange("agent", self._workspace, agent_id, record.version if record else 0, agent.body())
            audited = self._ledger.audit(event, by or f"agent:{agent_id}", {"agent": agent_id})
            return ChangeSet(records=(row,), events=(audited,), at=self._ledger.now()), None

        await self._ledger.commit(decide)


def _view(
    agent: RegisteredAgent, type_: AgentType, limits: Mapping[str, Limit], heard: Micros | None, now: Micros
) -> AgentView:
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


def _known(agent: RegisteredAgent | None, agent_id: str) -> RegisteredAgent:
    if agent is None:
        raise NotFound("agent", agent_id)
    return agent
