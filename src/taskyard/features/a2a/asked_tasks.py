"""Where tasks stand that were asked for over A2A: every life of them, with its handle and its state."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core import outcomes
from taskyard.core.changes import Record
from taskyard.core.identifiers import is_signal
from taskyard.core.record_kinds import DEAD
from taskyard.core.task import Hot, Status, TaskId
from taskyard.features.a2a import rules
from taskyard.features.a2a.rules import AgentTaskState, AskedTask, HandleOfLife, TaskStanding
from taskyard.features.a2a.views import AgentTask
from taskyard.features.handles.rules import Death
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.ledger.ledger import Ledger


class AskedTasks:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def record(self, task_id: str) -> Record | None:
        return await self._store.record(rules.ASKED, EVERYWHERE, rules.record_id(self._workspace, task_id))

    async def newest(self, most: int) -> list[AskedTask]:
        """Those that were asked for last, of this workspace."""
        prefix = rules.record_id(self._workspace, "task_")
        page = await self._store.page(rules.ASKED, EVERYWHERE, prefix=prefix, limit=most)
        found = [rules.asked_task(record) for record in page]
        return [each for each in found if each.workspace == self._workspace]  # one may be called like this, and more

    async def with_pushes(self, task_ids: Sequence[TaskId]) -> list[Record]:
        """The records of those of these tasks that somebody wants to hear about."""
        ids = [rules.record_id(self._workspace, each) for each in task_ids]
        found = await self._store.named(rules.ASKED, EVERYWHERE, ids) if ids else {}
        return [record for record in found.values() if rules.asked_task(record).pushes]

    async def lives(self, asked: Sequence[AskedTask]) -> dict[TaskId, list[AgentTask]]:
        """Each of these tasks with all its lives, the one that goes on last. A task that was pruned is left out."""
        hots = await self._ledger.load_all([each.task_id for each in asked])
        ids = [outcomes.dead_id(hot.id, number) for hot in hots.values() for number in range(1, hot.attempt + 1)]
        dead = await self._store.named("dead", self._workspace, ids) if ids else {}
        waiting = [hot.id for hot in hots.values() if hot.status is Status.PENDING]
        blockers = await self._store.blockers(waiting) if waiting else []
        asking = {each.task_id for each in blockers if is_signal(each.name) and each.wait == hots[each.task_id].wait}
        return {
            each.task_id: _lives(each, hot, _dead_of(hot, dead), is_asking=hot.id in asking)
            for each in asked
            if (hot := hots.get(each.task_id)) is not None
        }


def _dead_of(hot: Hot, dead: dict[str, Record]) -> list[Record]:
    ids = [outcomes.dead_id(hot.id, number) for number in range(1, hot.attempt + 1)]
    return [dead[each] for each in ids if each in dead]


def _lives(asked: AskedTask, hot: Hot, dead: Sequence[Record], *, is_asking: bool) -> list[AgentTask]:
    ended = rules.deaths_of(dead)
    standing = TaskStanding(hot.status, hot.started_at is not None, is_asking, _last_death(hot, dead), hot.updated_at)
    states = [*((AgentTaskState.FAILED, death.at) for death in ended), rules.state_of(standing)]
    handles = [HandleOfLife(asked.handle, number).text for number in range(1, len(states) + 1)]
    return [
        AgentTask(
            handle=handle,
            task_id=asked.task_id,
            context_id=asked.context_id,
            state=state,
            state_at=at,
            created_at=asked.at,
            next_handle=next_handle,
        )
        for handle, (state, at), next_handle in zip(handles, states, [*handles[1:], None], strict=True)
    ]


def _last_death(hot: Hot, dead: Sequence[Record]) -> Death | None:
    """The death that the task has not come back from: it is a dead letter, or was cancelled as one."""
    if hot.status not in (Status.DEAD_LETTERED, Status.CANCELLED) or not dead:
        return None
    last = DEAD.of(dead[-1])
    is_over = hot.status is Status.DEAD_LETTERED or last["resolution"] == "cancel"
    return Death(last["at"], last["reason"]) if is_over else None
