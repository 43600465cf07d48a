"""What a server asks before it lets an agent act: whose a task, a lease or an artifact is."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.lease import seal
from taskyard.core.task import AgentId, Hot, TaskId
from taskyard.features.artifacts.rules import Artifact
from taskyard.features.artifacts.visibility import Visibility
from taskyard.features.tasks.lookup.inputs import Inputs
from taskyard.ledger.ledger import Ledger


class Permissions:
    def __init__(self, ledger: Ledger, visibility: Visibility, inputs: Inputs) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._visibility = visibility
        self._inputs = inputs

    async def agent_type(self, agent_id: str) -> str | None:
        """What kind of agent this is; None where there is none of that id."""
        agent = (await self._ledger.configuration.current()).agents.get(AgentId(agent_id))
        agent = agent or (await self._ledger.configuration.fresh()).agents.get(AgentId(agent_id))
        return None if agent is None else agent.type

    async def is_addressed(self, name: str) -> bool:
        """Whether work was ever put in for an agent of this name."""
        await self._ledger.configuration.fresh()
        return any(lane.agent == name for lane in self._ledger.configuration.own_lanes.values())

    async def holders(self, task_id: str) -> list[AgentId]:
        """The agents that hold the task or have held it, the latest first."""
        hot = await self._ledger.load(TaskId(task_id))
        earlier = [attempt.agent for attempt in reversed(await self._store.attempts(hot.id))]
        return list(dict.fromkeys([hot.agent, *earlier] if hot.agent else earlier))

    async def lease_holders(self, leases: Sequence[tuple[str, str]]) -> list[AgentId | None]:
        """Whose each lease is or was, of the task beside it; None where it is none of that task's."""
        ids = [TaskId(task_id) for task_id, _ in leases if task_id.isascii() and "\0" not in task_id]
        hots = await self._store.load(ids)
        mine = {task_id: hot for task_id, hot in hots.items() if hot.workspace == self._workspace}
        return [await self._lease_holder(mine.get(TaskId(task_id)), seal(lease)) for task_id, lease in leases]

    async def _lease_holder(self, hot: Hot | None, sealed: str) -> AgentId | None:
        if hot is None or hot.lease == sealed:
            return None if hot is None else hot.agent
        return next((each.agent for each in await self._store.attempts(hot.id) if each.lease == sealed), None)

    async def readable_by(self, agents: Sequence[str], artifact: Artifact) -> bool:
        """Whether one of these agents needs an artifact: of a task that it has held, or an input of one it holds."""
        if artifact.task_id is not None and not set(agents).isdisjoint(await self.holders(artifact.task_id)):
            return True
        held = [hot for agent in agents for hot in await self._store.held(agent=AgentId(agent))]
        for hot in held:
            if hot.workspace != self._workspace:
                continue
            inputs = await self._inputs.given_to(hot, await self._visibility.shown_to(hot))
            if any(given.ref == artifact.reference for given in inputs):
                return True
        return False
