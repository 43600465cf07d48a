"""What people who run a yard look at: runtimes, queues, throttles, approvals, and who holds what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from taskyard.core.lease import seal
from taskyard.core.priority import RANK_UNIT, TIERS, aged
from taskyard.core.runtime import incarnation_of, runtime_of
from taskyard.core.task import AgentId, Hot, RuntimeId, Status, TaskId
from taskyard.core.throttle import until_of
from taskyard.core.units import Micros
from taskyard.features.agents.views import RuntimeView
from taskyard.features.approvals.views import Approval
from taskyard.features.artifacts.rules import Artifact
from taskyard.features.queues.views import QueueView, ThrottleView
from taskyard.ledger.ledger import pulse
from taskyard.service.reading import MOST_LISTED, Reading

NO_LIMIT = 2**53 - 1  # above every rank, and every number of tasks


class Overseeing(Reading):
    async def runtimes(self) -> list[RuntimeView]:
        """The processes and machines that have said they host agents."""
        pulses = await self.store.pulses("runtime:")
        views: list[RuntimeView] = []
        for record in await self.store.records("runtime", self.workspace):
            body = cast(Mapping[str, Any], record.body)
            heard = pulses.get(pulse("runtime", self.workspace, record.id))
            started = Micros(body["started_at"])
            views.append(
                RuntimeView(
                    runtime_of(record.id) or RuntimeId(""),
                    body["hostname"],
                    body["pid"],
                    body["version"],
                    started,
                    heard,
                    incarnation_of(record.id),
                )
            )
        return views

    async def queues(self) -> list[QueueView]:
        """The queues that work was ever put into, or that have settings of their own."""
        planning = await self._configuration.fresh()
        ready = Counter[str]()
        for lane_id, lane in self._configuration.lanes().items():
            ready[lane.queue] += await self.store.ahead(lane_id, NO_LIMIT, 0, NO_LIMIT)
        return [
            QueueView(queue, queue in planning.paused, policy.name, ready[queue], policy.report_required)
            for queue in sorted(ready.keys() | planning.paused | planning.queue_presets.keys() | planning.reporting)
            for policy in (planning.policy_of(queue),)
        ]

    async def waiting_by_tier(self) -> dict[str, int]:
        """Ready tasks, by the tier that what they have become worth is in now."""
        await self._configuration.fresh()
        now, found = self.now(), dict.fromkeys(TIERS, 0)
        for lane_id, lane in self._configuration.lanes().items():
            before = [
                await self.store.ahead(lane_id, floor * RANK_UNIT + aged(lane.boost, now), 0, NO_LIMIT)
                for floor in [*TIERS.values()][1:]
            ]
            whole = await self.store.ahead(lane_id, NO_LIMIT, 0, NO_LIMIT)
            for tier, (below, above) in zip(TIERS, pairwise([0, *before, whole]), strict=True):
                found[tier] += max(above - below, 0)  # each is read at its own moment
        return found

    async def throttles(self) -> list[ThrottleView]:
        """What is slowed down now."""
        planning, now = await self._configuration.fresh(), self.now()
        views: list[ThrottleView] = []
        for scope, record in sorted(planning.throttles.items()):
            if (until := until_of(record)) > now:
                type_, bar, model = scope.rpartition("|")
                views.append(ThrottleView(type_ if bar else scope, model if bar else None, until))
        return views

    async def approvals(self, *, limit: int = MOST_LISTED) -> list[Approval]:
        """Tasks that wait for a person's word, longest first."""
        awaited = await self.store.awaited(self.workspace, limit)
        hots = await self.store.load(list(dict.fromkeys(blocker.task_id for blocker in awaited)))
        tasks = {task.id: task for task in await self._tasks(list(hots.values()))}
        return [
            Approval(task, blocker.name.removeprefix("signal:"), task.hot.updated_at, task.hot.wake_at)
            for blocker in awaited
            # Each is read at its own moment: by now, the signal may have come.
            if (task := tasks.get(blocker.task_id)) is not None
            and (task.status, task.hot.wait) == (Status.PENDING, blocker.wait)
        ]

    async def agent_type(self, agent_id: str) -> str | None:
        """What kind of agent this is; None where there is none of that id."""
        agent = (await self._planning()).agents.get(AgentId(agent_id))
        agent = agent or (await self._configuration.fresh()).agents.get(AgentId(agent_id))
        return None if agent is None else agent.type

    async def is_addressed(self, name: str) -> bool:
        """Whether work was ever put in for an agent of this name."""
        await self._configuration.fresh()
        return any(lane.agent == name for lane in self._configuration.lanes().values())

    async def holders(self, task_id: str) -> list[AgentId]:
        """The agents that hold the task or have held it, the latest first."""
        hot = await self._load(TaskId(task_id))
        earlier = [attempt.agent for attempt in reversed(await self.store.attempts(hot.id))]
        return list(dict.fromkeys([hot.agent, *earlier] if hot.agent else earlier))

    async def lease_holders(self, leases: Sequence[tuple[str, str]]) -> list[AgentId | None]:
        """Whose each lease is or was, of the task beside it; None where it is none of that task's."""
        ids = [TaskId(task_id) for task_id, _ in leases if task_id.isascii() and "\0" not in task_id]
        hots = await self.store.load(ids)
        mine = {task_id: hot for task_id, hot in hots.items() if hot.workspace == self.workspace}
        return [await self._lease_holder(mine.get(TaskId(task_id)), seal(lease)) for task_id, lease in leases]

    async def _lease_holder(self, hot: Hot | None, sealed: str) -> AgentId | None:
        if hot is None or hot.lease == sealed:
            return None if hot is None else hot.agent
        return next((each.agent for each in await self.store.attempts(hot.id) if each.lease == sealed), None)

    async def readable_by(self, agents: Sequence[str], artifact: Artifact) -> bool:
        """Whether one of these agents needs an artifact: of a task that it has held, or an input of one it holds."""
        if artifact.task_id is not None and not set(agents).isdisjoint(await self.holders(artifact.task_id)):
            return True
        held = [hot for agent in agents for hot in await self.store.held(agent=AgentId(agent))]
        for hot in held:
            if hot.workspace != self.workspace:
                continue
            inputs = await self._given_to(hot, await self._shown_to(hot))
            if any(given.ref == artifact.reference for given in inputs):
                return True
        return False
