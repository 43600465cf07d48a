"""Why is this not running? An answer in words and in data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from taskyard.core.agent import AgentStatus, RegisteredAgent
from taskyard.core.breaker import BreakerState
from taskyard.core.changes import Blocker, Limit
from taskyard.core.claiming import type_money
from taskyard.core.identifiers import (
    BlockerKind,
    agent_ceiling,
    blocker_name,
    day_ceiling,
    slots_ceiling,
    type_slots_ceiling,
)
from taskyard.core.json_value import Json
from taskyard.core.planning import Planning, is_barred, suits
from taskyard.core.task import Hot, Lane, Status, TaskId, Trait
from taskyard.core.units import Micros, to_iso, to_usd, utc_date
from taskyard.features.agents.rules import is_silent
from taskyard.features.approvals import rules as approvals
from taskyard.features.provider_batches import rules as provider_batches
from taskyard.features.tasks.answers import CauseView, Why
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.ledger.ledger import Ledger, pulse
from taskyard.stores.contract import Filter

COUNTED = 1000  # tasks ahead in line are counted up to this
CLOSEST = 3
SHOWN = 200  # characters of a question
_STATES = (AgentStatus.ACTIVE, AgentStatus.DRAINING, AgentStatus.OFFLINE)


class Explanations:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def why(self, task_id: str) -> Why:
        """What the task is waiting for, or what it is doing."""
        hot = await self._ledger.load(TaskId(task_id))
        match hot.status:
            case Status.PENDING:
                causes = await self._why_pending(hot)
            case Status.READY:
                causes = await self._why_ready(hot)
            case Status.RETRYING:
                causes = [await self._why_retrying(hot)]
            case Status.VALIDATING:
                causes = [await self._why_validating(hot)]
            case _:
                causes = [_resting(hot)]
        return Why(task_id=hot.id, status=hot.status, causes=tuple(causes))

    async def _why_pending(self, hot: Hot) -> list[CauseView]:
        blockers = [each for each in await self._store.blockers([hot.id]) if each.wait == hot.wait]
        return [await self._blocked(hot, blocker) for blocker in blockers]

    async def _blocked(self, hot: Hot, blocker: Blocker) -> CauseView:
        kind, rest = blocker_name(blocker.name)
        match kind:
            case BlockerKind.TASK | BlockerKind.CHILD:
                return await self._blocked_by_task(TaskId(rest))
            case BlockerKind.SIGNAL:
                return await self._blocked_by_signal(hot, rest)
            case BlockerKind.TIME:
                at = to_iso(hot.wake_at) if hot.wake_at else ""
                return CauseView(kind="run_after", words=f"is not to run before {at}", facts={"run_after": at})
            case BlockerKind.KEY:
                return await self._blocked_by_key(rest)
            case BlockerKind.BATCH:
                return await self._blocked_by_batch(hot, TaskId(rest))
            case _:
                return await self._blocked_by_money(hot, rest)

    async def _blocked_by_task(self, other: TaskId) -> CauseView:
        blocking = (await self._store.load([other])).get(other)
        state = blocking.status.value if blocking else "gone"
        hint = {
            Status.DEAD_LETTERED: ", so it waits until a person resolves that dead letter",
            Status.CANCELLED: ", so it will never run; cancel it or add what replaces that task",
        }.get(blocking.status if blocking else Status.CREATED, "")
        facts: dict[str, Json] = {"task_id": other, "status": state}
        return CauseView(kind="task", words=f"waits for {other}, which is {state}{hint}", facts=facts)

    async def _blocked_by_signal(self, hot: Hot, name: str) -> CauseView:
        until = f", until {to_iso(hot.wake_at)} at the latest" if hot.wake_at else ""
        asks = bool(hot.traits & Trait.ASKED)
        record = await self._store.record(approvals.KIND, self._workspace, hot.id) if asks else None
        question = None if record is None else approvals.question_of(record)
        if question is None or question.wait != hot.wait:
            return CauseView(kind="signal", words=f"waits for the signal {name}{until}", facts={"signal": name})
        who = f" of {', '.join(question.who)}" if question.who else ""
        words = f"waits for an answer{who} to “{_cut(question.text)}” ({name}){until}"
        facts: dict[str, Json] = {"signal": name, "question": question.text, "who": list[Json](question.who)}
        return CauseView(kind="question", words=words, facts=facts)

    async def _blocked_by_batch(self, hot: Hot, batch: TaskId) -> CauseView:
        record_id = provider_batches.batch_record(self._workspace, batch)
        record = await self._store.record(provider_batches.BATCH, EVERYWHERE, record_id)
        if record is None:
            return await self._blocked_by_task(batch)
        body = provider_batches.PROVIDER_BATCH.of(record)
        parts = body["parts"]
        expires = [part["expires_at"] for part in parts if part["expires_at"] is not None]
        until = hot.wake_at or max(expires, default=None)
        latest = "" if until is None else f", at the latest until {to_iso(until)}"
        facts: dict[str, Json] = {
            "batch": batch,
            "provider": body["provider"],
            "provider_ids": [part["provider_id"] for part in parts],
            "until": None if until is None else to_iso(until),
        }
        if not parts:
            words = f"its call is gathered for a batch of {body['provider']} ({batch}){latest}"
            return CauseView(kind="batch", words=words, facts=facts)
        others = sum(part["calls"] for part in parts) - 1
        names, since = ", ".join(part["provider_id"] for part in parts), to_iso(parts[0]["sent_at"])
        words = f"in provider batch {names} since {since} with {others} other{'' if others == 1 else 's'}{latest}"
        return CauseView(kind="batch", words=words, facts={**facts, "sent_at": since, "others": others})

    async def _blocked_by_key(self, key: str) -> CauseView:
        holder = await self._holder(key)
        held = f", held by {holder}" if holder else ""
        facts: dict[str, Json] = {"key": key, "held_by": holder}
        return CauseView(kind="concurrency_key", words=f"waits for the concurrency key {key}{held}", facts=facts)

    async def _holder(self, key: str) -> TaskId | None:
        running = frozenset({Status.CLAIMED, Status.RUNNING, Status.VALIDATING})
        found = await self._store.find(Filter(workspace=self._workspace, statuses=running), after=0, limit=COUNTED)
        return next((hot.id for hot in found if hot.key == key), None)

    async def _blocked_by_money(self, hot: Hot, name: str) -> CauseView:
        is_day = name == "day"
        if is_day:
            name = day_ceiling(utc_date(self._ledger.now()))
        limit = (await self._store.limits(self._workspace, [name])).get(name)
        planning = await self._ledger.configuration.current()
        ceiling = planning.settings.daily_budget if is_day else limit.ceiling if limit else None
        used = limit.held + limit.spent if limit else 0
        wants = planning.settings.default_reserve if hot.reserve is None else hot.reserve
        facts: dict[str, Json] = {"limit": name, "ceiling": ceiling, "used": used, "wants": wants}
        whose = "the day's" if is_day else "its DAG's"
        words = f"waits for money: it reserves {_dollars(wants)}"
        if ceiling is not None:
            words += f", and {_dollars(max(ceiling - used, 0))} of {whose} {_dollars(ceiling)} is left"
        return CauseView(kind="budget", words=words, facts=facts)

    async def _why_retrying(self, hot: Hot) -> CauseView:
        failed = [attempt for attempt in await self._store.attempts(hot.id) if attempt.reason]
        reason = failed[-1].reason if failed else None
        at = to_iso(hot.wake_at) if hot.wake_at else ""
        parked = "the provider's rate limit" if reason == "rate_limit" else f"failure {hot.failures} ({reason})"
        facts: dict[str, Json] = {"retry_at": at, "reason": reason, "attempts": hot.failures}
        return CauseView(kind="retry", words=f"is tried again at {at}, after {parked}", facts=facts)

    async def _why_validating(self, hot: Hot) -> CauseView:
        record = await self._store.record("judging", self._workspace, hot.id)
        if record is None:  # the verdict has just come
            return _resting(hot)
        standing = await self.why(str(record.body["validator"]))
        words = "; ".join(cause.words for cause in standing.causes)
        facts: dict[str, Json] = {
            "validator": standing.task_id,
            "status": standing.status.value,
            "causes": [dict(cause.facts) for cause in standing.causes],
        }
        return CauseView(
            kind="validating", words=f"its output is judged by {standing.task_id}, which {words}", facts=facts
        )

    async def _why_ready(self, hot: Hot) -> list[CauseView]:
        planning = await self._ledger.configuration.fresh()
        lane, now = await self._ledger.lane_of(hot), self._ledger.now()
        closed = [*_closed(planning, lane, now)]
        agents = await self._no_agent(hot, lane, planning)
        if closed or agents:
            return [*closed, *agents]
        place = await self._store.ahead(hot.lane, hot.rank, hot.seq, COUNTED) + 1
        return [CauseView(kind="next_in_line", words=f"next in line, position {place}", facts={"position": place})]

    async def _no_agent(self, hot: Hot, lane: Lane, planning: Planning) -> list[CauseView]:
        """Why none of the agents takes it now; nothing where one may."""
        heard, now = await self._heard(planning), self._ledger.now()
        silent = {agent.id for agent in planning.agents.values() if is_silent(agent, heard.get(agent.id), now)}
        suitable = [agent for agent in planning.agents.values() if suits(lane, agent)]
        if not suitable:
            return [_nobody(lane, planning, silent)]
        active = [agent for agent in suitable if agent.status is AgentStatus.ACTIVE]
        if active and silent.issuperset(agent.id for agent in active):
            return [_unheard(active, heard)]
        active = [agent for agent in active if agent.id not in silent]
        if not active:
            names = ", ".join(f"{agent.id} ({agent.status.value})" for agent in suitable)
            return [
                CauseView(kind="agents_inactive", words=f"no agent for it is active: {names}", facts={"agents": names})
            ]
        return await self._all_short(hot, active, planning)

    async def _heard(self, planning: Planning) -> dict[str, Micros]:
        """When each agent was last heard of, where it was."""
        pulses = await self._store.pulses("agent:")
        names = {agent: pulse("agent", self._workspace, agent) for agent in planning.agents}
        return {agent: pulses[name] for agent, name in names.items() if name in pulses}

    async def _all_short(self, hot: Hot, active: Sequence[RegisteredAgent], planning: Planning) -> list[CauseView]:
        now = self._ledger.now()
        standing = {agent.id: _ceilings(agent, planning, now) for agent in active}
        limits = await self._store.limits(self._workspace, [each.name for own in standing.values() for each in own])
        wants = planning.settings.default_reserve if hot.reserve is None else hot.reserve
        causes: list[CauseView] = []
        for agent in active:
            short = [_short(agent, each, limits.get(each.name), wants) for each in standing[agent.id]]
            causes += [cause for cause in short if cause is not None][:1]
        return causes if len(causes) == len(active) else []


class _Ceiling(NamedTuple):
    name: str
    ceiling: int
    whose: str
    is_money: bool


def _ceilings(agent: RegisteredAgent, planning: Planning, now: Micros) -> list[_Ceiling]:
    """What limits how much this agent takes, by itself and by its type."""
    type_ = planning.agent_type(agent.type)
    slots, budget = None if type_.grant is None else type_.grant.slots, type_.budget
    found = [
        (slots_ceiling(agent.id), agent.max_concurrent_tasks, agent.id, False),
        (type_slots_ceiling(agent.type), slots, agent.type, False),
        (agent_ceiling(agent.id), agent.budget, agent.id, True),
        (type_money(agent.type, budget.per, now), budget.amount, agent.type, True),
    ]
    return [_Ceiling(name, ceiling, whose, money) for name, ceiling, whose, money in found if ceiling is not None]


def _short(agent: RegisteredAgent, own: _Ceiling, limit: Limit | None, wants: int) -> CauseView | None:
    """Why the agent takes nothing more under this ceiling; None where it may."""
    used = limit.held + limit.spent if limit else 0
    if used + (wants if own.is_money else 1) <= own.ceiling:
        return None
    facts: dict[str, Json] = {"agent": agent.id, "limit": own.name}
    if not own.is_money:
        return CauseView(kind="agent_busy", words=f"{own.whose} is busy with {used} of {own.ceiling}", facts=facts)
    left = _dollars(max(own.ceiling - used, 0))
    return CauseView(
        kind="agent_budget", words=f"{own.whose} has {left} left, and it reserves {_dollars(wants)}", facts=facts
    )


def _closed(planning: Planning, lane: Lane, now: Micros) -> list[CauseView]:
    """What keeps everybody from this lane."""
    causes: list[CauseView] = []
    if lane.queue in planning.paused:
        causes.append(CauseView(kind="paused", words=f"the queue {lane.queue} is paused", facts={"queue": lane.queue}))
    breaker, policy = planning.breaker(lane.type), planning.breaker_policy
    state = breaker.state(policy, now)
    if state is BreakerState.OPEN:
        until = to_iso(breaker.half_open_at(policy))
        words = f"the breaker of {lane.type} is open until {until}"
        causes.append(CauseView(kind="breaker", words=words, facts={"type": lane.type, "open_until": until}))
    elif state is BreakerState.HALF_OPEN:
        words = f"the breaker of {lane.type} is half open: one task at a time is tried"
        causes.append(CauseView(kind="breaker", words=words, facts={"type": lane.type, "state": state.value}))
    if (throttled := planning.throttled_until(lane)) > now:
        words = f"{lane.type} is throttled until {to_iso(throttled)}, after a rate limit"
        causes.append(CauseView(kind="throttle", words=words, facts={"until": to_iso(throttled)}))
    return causes


def _unheard(agents: Sequence[RegisteredAgent], heard: Mapping[str, Micros]) -> CauseView:
    """Those who could take it have fallen silent: say since when, the last to be heard of first."""
    last = sorted(agents, key=lambda agent: (-heard.get(agent.id, 0), agent.id))
    since = {agent.id: to_iso(heard[agent.id]) if agent.id in heard else None for agent in last[:CLOSEST]}
    named = ", ".join(f"{each} silent since {at}" if at else f"{each} never heard of" for each, at in since.items())
    more = f", and {len(last) - CLOSEST} more" if len(last) > CLOSEST else ""
    facts: dict[str, Json] = {"silent_since": {str(each): at for each, at in since.items()}, "agents": len(last)}
    return CauseView(kind="agents_silent", words=f"nobody who can take it is heard of: {named}{more}", facts=facts)


def _nobody(lane: Lane, planning: Planning, silent: Collection[str]) -> CauseView:
    """No agent that it is meant for is registered: say which come closest, and what they lack; of each type one."""
    wanted = set(lane.capabilities)

    def distance(agent: RegisteredAgent) -> tuple[object, ...]:
        handles = agent.types is None or lane.type in agent.types
        state = _STATES.index(AgentStatus.OFFLINE if agent.id in silent else agent.status)
        return len(wanted - agent.capabilities), not handles, state, agent.id

    by_type: dict[str, RegisteredAgent] = {}
    for agent in sorted(planning.agents.values(), key=distance):
        by_type.setdefault(agent.type, agent)
    closest = list(by_type.values())[:CLOSEST]
    near = [f"{agent.id} ({_lacks(sorted(wanted - agent.capabilities), lane, agent)})" for agent in closest]
    for_whom = f" addressed to {lane.agent}" if lane.agent else ""
    needs = f" with {', '.join(lane.capabilities)}" if lane.capabilities else ""
    named = f"; closest: {', '.join(near)}" if near else "; none is registered"
    facts: dict[str, Json] = {
        "type": lane.type,
        "agent": lane.agent,
        "required_capabilities": list[Json](lane.capabilities),
        "closest": list[Json](near),
    }
    return CauseView(kind="no_agent", words=f"no agent takes {lane.type}{needs}{for_whom}{named}", facts=facts)


def _lacks(lacking: Sequence[str], lane: Lane, agent: RegisteredAgent) -> str:
    if is_barred(lane, agent):
        return "made the output, and does not judge it"
    if lacking:
        return f"lacks {', '.join(lacking)}"
    if agent.types is not None and lane.type not in agent.types:
        return f"does not handle {lane.type}"
    return "is another agent"


def _resting(hot: Hot) -> CauseView:
    facts: dict[str, Json] = {"agent": hot.agent, "attempt": hot.attempt}
    words = {
        Status.CLAIMED: f"is claimed by {hot.agent} and not yet started",
        Status.RUNNING: f"is running: attempt {hot.attempt} by {hot.agent}",
        Status.VALIDATING: "its output is being validated",
        Status.COMPLETED: "is completed",
        Status.CANCELLED: f"is cancelled: {hot.why}",
        Status.DEAD_LETTERED: f"is dead after {_times(hot.failures)}, and waits for a person",
    }
    return CauseView(kind=hot.status.value, words=words[hot.status], facts=facts)


def _cut(text: str) -> str:
    """The beginning of a question, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"


def _times(failures: int) -> str:
    return "one failed attempt" if failures == 1 else f"{failures} failed attempts"


def _dollars(amount: int) -> str:
    return f"${to_usd(amount)}"  # pyright: ignore[reportArgumentType]
