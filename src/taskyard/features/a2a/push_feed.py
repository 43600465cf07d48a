"""Pushes about tasks that were asked for over A2A: made from the log, and sent by the outbox as notifications are.

Each state that a task comes to is pushed at least once. Of states that come faster than the log is followed, the last
one is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from taskyard.core.changes import ChangeSet, Record, RecordChange, StoredEvent
from taskyard.core.notice import UNDELIVERED, Notice
from taskyard.core.task import TaskId
from taskyard.features.a2a import rules
from taskyard.features.a2a.asked_tasks import AskedTasks
from taskyard.features.a2a.rules import AskedTask, Push
from taskyard.features.a2a.views import AgentTask
from taskyard.features.notifications.rules import Notification
from taskyard.ledger.ledger import Ledger


class PushFeed:
    def __init__(self, ledger: Ledger, asked_tasks: AskedTasks) -> None:
        self._ledger = ledger
        self._workspace = ledger.workspace
        self._asked = asked_tasks

    async def follow(self, events: Sequence[StoredEvent]) -> None:
        """Push what these events of this workspace came to. Some may come twice, after a crash."""
        if not await self._asked.newest(1):
            return  # nobody has ever asked for anything, as in most workspaces
        moved = {
            stored.event.task_id: stored.seq
            for stored in events
            if stored.event.task_id is not None and stored.event.status is not None
        }
        for record in await self._asked.with_pushes(list(moved)):
            await self._push(record, moved)

    async def _push(self, record: Record, moved: dict[TaskId, int]) -> None:
        asked = rules.asked_task(record)
        lives = (await self._asked.lives([asked])).get(asked.task_id)
        if not lives or asked.pushed == (pushed := f"{lives[-1].handle} {lives[-1].state}"):
            return
        marked = RecordChange(*record[:4], replace(asked, pushed=pushed).body())
        made = [self._notification(asked, lives[-1], push, moved[asked.task_id]) for push in asked.pushes]
        records = (RecordChange(UNDELIVERED, self._workspace, each.id, 0, each.body()) for each in made)
        # A conflict: another process was quicker, or the configuration has changed, and the next event tells of it.
        await self._ledger.commit_set(ChangeSet(records=(marked, *records), at=self._ledger.now()))

    def _notification(self, asked: AskedTask, task: AgentTask, push: Push, seq: int) -> Notification:
        return Notification(
            id=f"a2a-{seq:020}-{push.id}",
            notifier=push.id,
            notice=Notice.TASK_UPDATE,
            title=f"{task.state.value}: {asked.task_id}",
            text="For the agent that asked for the task over A2A.",
            task_id=asked.task_id,
            dag_id=None,
            facts=rules.status_update(task.handle, task.context_id, task.state, task.state_at),
            at=task.state_at,
            next_at=self._ledger.now(),
        )
