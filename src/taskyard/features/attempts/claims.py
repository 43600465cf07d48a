"""How agents get work and keep it: claim, start, heartbeat."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from operator import itemgetter
from secrets import token_hex
from time import monotonic
from typing import NamedTuple, Unpack

from taskyard.core import throttle, transitions
from taskyard.core.agent import AgentStatus, RegisteredAgent
from taskyard.core.changes import Beat, ChangeSet
from taskyard.core.claiming import PARKED_PER_CLAIM, ClaimPlan
from taskyard.core.errors import InvalidInput, LeaseLost, NotFound, StoreUnavailable, Unavailable
from taskyard.core.json_value import Json, encode
from taskyard.core.lease import Lease, asked, mint, seal, seal_stem, sealed_stem, token
from taskyard.core.outcomes import Report
from taskyard.core.planning import Planning
from taskyard.core.task import AgentId, Definition, Failure, Hot, Reason, Status, TaskId
from taskyard.core.units import HOUR, SECOND, Micros
from taskyard.definition import arguments, fields
from taskyard.features.agents.rules import PULSE_EVERY
from taskyard.features.attempts.conversations import Conversations
from taskyard.features.attempts.endings.failure_path import receipt
from taskyard.features.attempts.endings.failures import Failures
from taskyard.features.attempts.handed_out import HandedOut
from taskyard.features.attempts.planner import Planner, next_opening
from taskyard.features.attempts.views import Heartbeat, HeartbeatAnswer, Receipt
from taskyard.features.budgets import prices
from taskyard.features.budgets.spend import reported
from taskyard.features.budgets.views import Spent
from taskyard.features.streams.rules import progress_entry
from taskyard.features.streams.service import Streams
from taskyard.features.tasks.views import Held, MarkedClaim
from taskyard.ledger.ledger import Ledger, pulse
from taskyard.stores.contract import Stale

PATIENCE = 5.0  # seconds a waiting claim sleeps at most before it looks again by itself
MOST_PROGRESS = 64 * 1024  # bytes of progress that a heartbeat may carry


class Claiming(NamedTuple):
    """What was claimed, and what is to be known to wait for more."""

    held: list[Held]
    plan: ClaimPlan | None = None  # None: these were found, and not claimed now
    took_all: bool = False


class Claims:
    def __init__(
        self, ledger: Ledger, handed_out: HandedOut, failures: Failures, streams: Streams, conversations: Conversations
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._handed_out = handed_out
        self._failures = failures
        self._streams = streams
        self._conversations = conversations
        self._planner = Planner(ledger.configuration)
        self._heard_of: dict[AgentId, Micros] = {}  # when an agent was last noted as heard of

    async def claim(
        self,
        agent_id: str,
        *,
        count: int = 1,
        queues: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        start: bool = False,
        wait_sec: float = 0,
        request_id: str | None = None,
    ) -> list[Held]:
        """Lease up to `count` tasks, best first. The same request id gets the same tasks and leases again."""
        claimed = await self.claim_marked(
            agent_id,
            count=count,
            queues=queues,
            types=types,
            start=start,
            wait_sec=wait_sec,
            request_id=request_id,
        )
        return claimed.tasks

    async def claim_marked(
        self,
        agent_id: str,
        *,
        count: int = 1,
        queues: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        start: bool = False,
        wait_sec: float = 0,
        request_id: str | None = None,
    ) -> MarkedClaim:
        """Claim, and say from where to wait for more by `wait_for_work`."""
        agent = AgentId(arguments.name("agent_id", agent_id))
        stems = self._stems(agent, count, request_id)
        mark, until = await self._ledger.mark(), monotonic() + wait_sec
        if request_id is not None and (again := await self._claimed_before(agent, stems)):
            return MarkedClaim(again, mark, took_all=False)
        while True:
            held, plan, took_all = await self._claim_or_find(agent, stems, queues, types, start=start)
            left = until - monotonic()
            if held or left <= 0:
                return MarkedClaim(held, mark, took_all)
            mark = await self._ledger.changed(mark, min(left, PATIENCE), plan, took_all=took_all)

    async def wait_for_work(
        self,
        agent_id: str,
        mark: str,
        timeout_sec: float,
        *,
        queues: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        took_all: bool = False,
    ) -> str:
        """Return when there may be something to claim that was not there at the mark, or at the time-out.

        The mark, and whether the agent took all there was, are as its last claim said. Answers the new mark.
        """
        agent, planning = AgentId(arguments.name("agent_id", agent_id)), await self._ledger.configuration.current()
        plan = self._plan(planning, await self._known_agent(agent, planning), (), queues, types, start=False)
        opens = next_opening(planning, plan) - plan.now
        return await self._ledger.changed(mark, min(timeout_sec, opens / SECOND), plan, took_all=took_all)

    async def claim_for_runtime(
        self,
        runtime_id: str,
        *,
        count: int = 1,
        queues: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        start: bool = False,
        wait_sec: float = 0,
        request_id: str | None = None,
        only_for: str | None = None,
    ) -> list[Held]:
        """Lease tasks for any agent of a runtime, or only for one by id or type, within each agent's own limit."""
        if request_id is not None and (again := await self._hosted_before(runtime_id, only_for, count, request_id)):
            return again
        until = monotonic() + wait_sec
        while True:
            mark = await self._store.changed(-1, 0) if wait_sec else 0
            held: list[Held] = []
            for agent in await self._hosted(runtime_id, only_for):
                if len(held) < count:
                    stems = self._stems(agent, count - len(held), request_id)
                    held += (await self._claim_or_find(agent, stems, queues, types, start=start))[0]
            left = until - monotonic()
            if held or left <= 0:
                return held
            await self._store.changed(mark, min(left, PATIENCE))

    async def _hosted(self, runtime_id: str, only_for: str | None) -> list[AgentId]:
        agents = (await self._ledger.configuration.fresh()).agents.values()
        mine = [agent for agent in agents if agent.runtime == runtime_id]
        return sorted(agent.id for agent in mine if only_for is None or only_for in (agent.id, agent.type))

    async def _hosted_before(self, runtime_id: str, only_for: str | None, count: int, request_id: str) -> list[Held]:
        """What the same request was given, whichever agent it was for: not what has come for another since."""
        agents = await self._hosted(runtime_id, only_for)
        return [
            held
            for agent in agents
            for held in await self._claimed_before(agent, self._stems(agent, count, request_id))
        ]

    def _stems(self, agent: AgentId, count: int, request_id: str | None) -> list[str]:
        if not 1 <= count <= 1000:
            raise InvalidInput("count", "must be from 1 to 1000")
        request = token_hex(16) if request_id is None else arguments.name("request_id", request_id)
        return mint(self._store.secret, asked(self._workspace, agent, request), count)

    async def _claim_or_find(
        self,
        agent: AgentId,
        stems: Sequence[str],
        queues: Sequence[str] | None,
        types: Sequence[str] | None,
        *,
        start: bool,
    ) -> Claiming:
        """Claim. If the store is lost meanwhile, look for what the claim took, and claim again only if it took nothing.

        A claim may wait for a standby, invisible to others, while its server dies. Only the server that follows can say
        whether the claim is stored, so every claim on a new connection begins with that question.
        """
        began, within = monotonic(), self._ledger.options.call_timeout
        try:
            return await self._claim_now(agent, stems, queues, types, start=start)
        except StoreUnavailable as lost:
            try:
                async with asyncio.timeout(within - (monotonic() - began)):
                    if found := await self._claimed_before(agent, stems):
                        return Claiming(found)
                    return await self._claim_now(agent, stems, queues, types, start=start)
            except TimeoutError:
                raise lost from None

    async def _claim_now(
        self,
        agent_id: AgentId,
        stems: Sequence[str],
        queues: Sequence[str] | None,
        types: Sequence[str] | None,
        *,
        start: bool,
    ) -> Claiming:
        planning = await self._ledger.configuration.current()
        await self._hear(agent_id, planning)
        while True:
            agent = await self._known_agent(agent_id, planning)
            plan = self._plan(planning, agent, stems, queues, types, start=start)
            # The store refuses a plan made on what has moved since, so an empty plan must be asked about too.
            answer = await self._store.claim(plan)
            if isinstance(answer, Stale):
                planning = await self._ledger.configuration.fresh()
            # Where a claim set aside all that one may and took nothing, there may be something behind that.
            elif answer.tasks or answer.parked < PARKED_PER_CLAIM:
                self._handed_out.keep(answer.tasks, self._ledger.now())
                held = await self._rows_handed_out(answer.tasks, stems, answer.definitions)
                return Claiming(held, plan, answer.took_all)

    def _plan(
        self,
        planning: Planning,
        agent: RegisteredAgent,
        stems: Sequence[str],
        queues: Sequence[str] | None,
        types: Sequence[str] | None,
        *,
        start: bool,
    ) -> ClaimPlan:
        return self._planner.plan(
            planning,
            agent,
            stems,
            queues=None if queues is None else frozenset(queues),
            types=None if types is None else frozenset(types),
            start=start,
            now=self._ledger.now(),
        )

    async def _hear(self, agent_id: AgentId, planning: Planning) -> None:
        """Who asks for work is there, also where nothing comes of it."""
        if self._is_to_be_noted(agent_id):
            await self._known_agent(agent_id, planning)
            await self._note([agent_id])

    def _is_to_be_noted(self, agent_id: AgentId) -> bool:
        """Whether it was not noted a moment ago that the agent was heard of."""
        return not 0 <= self._ledger.now() - self._heard_of.get(agent_id, Micros(0)) < PULSE_EVERY

    async def _note(self, agent_ids: Sequence[AgentId]) -> None:
        """Store that these were heard of now."""
        self._heard_of.update(dict.fromkeys(agent_ids, self._ledger.now()))
        with suppress(Unavailable):  # what they called for counts more
            await self._store.pulse([pulse("agent", self._workspace, agent_id) for agent_id in agent_ids])

    async def _known_agent(self, agent_id: AgentId, planning: Planning) -> RegisteredAgent:
        agent = planning.agents.get(agent_id) or (await self._ledger.configuration.fresh()).agents.get(agent_id)
        if agent is None:
            raise NotFound("agent", agent_id)
        return agent

    async def _rows_handed_out(
        self, tasks: Sequence[Hot], stems: Sequence[str], definitions: Sequence[Definition]
    ) -> list[Held]:
        held = [
            Held(hot, definition, token(stem, hot.attempt))
            for hot, definition, stem in zip(tasks, definitions, stems, strict=False)
        ]
        # Only a task with a trait resumes anything, and few have one: the others are not looked at one by one.
        return [await self._conversations.resumed(each) for each in held] if any(hot.traits for hot in tasks) else held

    async def _claimed_before(self, agent_id: AgentId, stems: Sequence[str]) -> list[Held]:
        """What the same request was given, while its claim time runs: its answer may have been lost."""
        now = self._ledger.now()
        places = {seal_stem(stem): place for place, stem in enumerate(stems)}
        found = [
            (places[sealed_stem(hot.lease or "")], hot)
            for hot in await self._store.held_under(agent_id, list(places))
            if hot.workspace == self._workspace and _claim_time_runs(hot, now)
        ]
        found.sort(key=itemgetter(0))
        definitions = await self._store.definitions([hot.id for _, hot in found]) if found else {}
        hots, stems = [hot for _, hot in found], [stems[place] for place, _ in found]
        return await self._rows_handed_out(hots, stems, [definitions[hot.id] for hot in hots])

    async def start(self, task_id: str, lease: str) -> Receipt:
        """Say that work has begun."""

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            hot = await self._ledger.held(TaskId(task_id), Lease(lease))
            change = transitions.start(hot, now=self._ledger.now())
            if change is None:
                return None, receipt(hot)
            return ChangeSet(changes=(change,), at=change.after.updated_at), receipt(change.after)

        return await self._ledger.commit(decide)

    async def heartbeat(
        self,
        task_id: str,
        lease: str,
        *,
        progress: Json = None,
        rate_limited_sec: float | None = None,
        **spent: Unpack[Spent],
    ) -> HeartbeatAnswer:
        """Keep the lease, say how it goes, and hear what there is to know.

        `rate_limited_sec`: a provider wants no more calls for so long. The attempt goes on, and others wait as they
        do after a failure with `rate_limit`.
        """
        beat = Heartbeat(task_id, lease, progress, rate_limited_sec=rate_limited_sec, **spent)
        (answer,) = await self.heartbeat_many([beat])
        return answer

    async def heartbeat_many(self, heartbeats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        await prices.load(heartbeat.model for heartbeat in heartbeats)
        beats = [_beat(heartbeat, self._workspace) for heartbeat in heartbeats]
        extended = await self._store.extend(beats)
        self._handed_out.keep(
            (each.hot for each in extended if each.hot and each.hot.lease in self._handed_out), self._ledger.now()
        )
        for beat, each in zip(beats, extended, strict=True):
            if not each.accepted:
                self._handed_out.take(beat.lease)
        agents = {each.hot.agent for each in extended if each.hot and each.accepted and each.hot.agent}
        if unnoted := sorted(filter(self._is_to_be_noted, agents)):
            await self._note(unnoted)
        for heartbeat, each in zip(heartbeats, extended, strict=True):
            if heartbeat.rate_limited_sec is not None and each.accepted and each.hot is not None:
                await self._throttle(each.hot, heartbeat.rate_limited_sec)
        planning = await self._ledger.configuration.current()
        answers: list[HeartbeatAnswer] = []
        for beat, each in zip(beats, extended, strict=True):
            hot = each.hot
            if hot is None or hot.workspace != self._workspace:
                answers.append(_lost(beat.task_id, None))
            elif not each.accepted:
                answers.append(_lost(beat.task_id, hot))
            else:
                answers.append(await self._signals(hot, planning))
        return answers

    async def _throttle(self, hot: Hot, wait_sec: float) -> None:
        """Slow down the tasks that are like this one to a claimer: they would call the same model."""
        field = "rate_limited_sec"
        wait = arguments.duration(field, fields.number(wait_sec, field, least=0, most=HOUR // SECOND))
        lane = await self._ledger.lane_of(hot)
        where = throttle.scope(lane.type, lane.model)

        async def decide() -> tuple[ChangeSet | None, None]:
            now, planning = self._ledger.now(), await self._ledger.configuration.fresh()
            standing = planning.throttles.get(where)
            slowed = throttle.throttled(self._workspace, where, standing, wait=wait, now=now)
            if slowed is None:
                return None, None
            record, event = slowed
            return ChangeSet(records=(record,), events=(event,), at=now), None

        await self._ledger.commit(decide)

    async def check_leases(self, leases: Sequence[tuple[str, str]]) -> list[HeartbeatAnswer]:
        """What a heartbeat for each task and lease would say of an attempt that is over. Writes nothing.

        For workers that listen: after a wake-up, whether a task they hold was cancelled. It keeps no lease.
        """
        rows = await self._ledger.load_all([TaskId(task_id) for task_id, _ in leases])
        answers: list[HeartbeatAnswer] = []
        for task_id, lease in leases:
            hot = rows.get(TaskId(task_id))
            if hot is not None and hot.lease == seal(lease):
                answers.append(HeartbeatAnswer(hot.id, (), hot.lease_expires_at))
            else:
                answers.append(_lost(task_id, hot))
        return answers

    async def _signals(self, hot: Hot, planning: Planning) -> HeartbeatAnswer:
        if hot.reserve is not None and hot.spent > hot.reserve:
            return HeartbeatAnswer(hot.id, (await self._stop_for_money(hot),), None)
        agent = planning.agents.get(hot.agent) if hot.agent else None
        words: list[str] = []
        if planning.throttled_until(await self._ledger.lane_of(hot)) > self._ledger.now():
            words.append("slowdown")
        if agent is not None and agent.status is AgentStatus.DRAINING:
            words.append("draining")
        return HeartbeatAnswer(hot.id, tuple(words), hot.lease_expires_at)

    async def _stop_for_money(self, hot: Hot) -> str:
        failure = Failure(reason=Reason.BUDGET_EXCEEDED, error="reported cost is above max_cost_usd")
        try:
            await self._failures.fail_attempt(hot.id, hot.lease or "", failure, Report("budget", ""))
        except LeaseLost:
            return "lease_lost"  # it was ended otherwise between its heartbeat and now
        return "budget_exceeded"

    async def progress(
        self, task_id: str, lease: str, progress: Json, *, request_id: str | None = None
    ) -> HeartbeatAnswer:
        """A heartbeat that is also a chunk of the stream and an event, for those who watch.

        The same request id again adds neither.
        """
        answer = await self.heartbeat(task_id, lease, progress=progress)
        if not answer.must_stop:
            await self._streams.add(task_id, lease, (progress_entry(progress),), request_id)
        return answer


def _lost(task_id: str, hot: Hot | None) -> HeartbeatAnswer:
    word = "cancelled" if hot is not None and hot.status is Status.CANCELLED else "lease_lost"
    return HeartbeatAnswer(TaskId(task_id), (word,), None)


def _beat(heartbeat: Heartbeat, workspace: str) -> Beat:
    progress = None
    if heartbeat.progress is not None:
        progress = encode(heartbeat.progress, field="progress", max_bytes=MOST_PROGRESS)
    cost, tokens_in, tokens_out, cached, _ = reported(**heartbeat.spent)
    lease = seal(heartbeat.lease)
    return Beat(TaskId(heartbeat.task_id), lease, progress, cost, tokens_in, tokens_out, cached, workspace)


def _claim_time_runs(hot: Hot, now: Micros) -> bool:
    """A claim that went straight to running has no claim time of its own: its first lease stands for it."""
    if hot.status is Status.CLAIMED:
        return hot.lease_expires_at is not None and now < hot.lease_expires_at
    allowed = hot.claim_ttl or hot.lease_sec
    return hot.claimed_at is not None and now < hot.claimed_at + allowed * SECOND
