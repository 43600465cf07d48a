"""Handles, stored until their tasks are pruned."""

from __future__ import annotations

from secrets import token_urlsafe

from taskyard.core import outcomes
from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.errors import NotFound
from taskyard.core.json_value import Json
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.features.handles import rules
from taskyard.features.handles.views import HandleView
from taskyard.features.retention.pruning import PruneStep
from taskyard.features.retention.service import Retention
from taskyard.features.retention.task_records import TaskRecords
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.ledger.ledger import Ledger


class Handles:
    def __init__(self, ledger: Ledger, retention: Retention) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._retention = retention
        self._records = TaskRecords(ledger, rules.KIND)

    async def create(self, task_id: str) -> HandleView:
        """A new handle for a task. It is stored before the answer comes."""
        handle = token_urlsafe(rules.RANDOM_BYTES)

        async def decide() -> tuple[ChangeSet, Record]:
            hot, now = await self._ledger.load(TaskId(task_id)), self._ledger.now()
            change = self.created(handle, hot.id, now)
            return ChangeSet(records=(change,), at=now), Record(*change[:3], 1, change.body or {})

        return await self._shown(handle, await self._ledger.commit(decide))

    def created(self, handle: str, task_id: TaskId, now: Micros) -> RecordChange:
        """What stores a handle, for a change set that makes one."""
        # The workspace is named too: an export of one workspace leaves out what is another's.
        body: dict[str, Json] = {"task_id": task_id, "at": now, "workspace": self._workspace}
        return RecordChange(rules.KIND, EVERYWHERE, rules.record_id(self._workspace, handle), 0, body)

    async def get(self, handle: str) -> HandleView:
        """The task that a handle stands for. One of another workspace is not found."""
        record = await self._store.record(rules.KIND, EVERYWHERE, rules.record_id(self._workspace, handle))
        if record is None:
            raise NotFound("handle", handle)
        return await self._shown(handle, record)

    async def _shown(self, handle: str, record: Record) -> HandleView:
        stored = rules.HANDLE.of(record)
        task_id, at = TaskId(stored["task_id"]), stored["at"]
        hot = (await self._ledger.load_all([task_id])).get(task_id)
        if hot is None:
            raise NotFound("handle", handle)  # the task was pruned, and the handle goes next
        ids = [outcomes.dead_id(task_id, attempt) for attempt in range(1, hot.attempt + 1)]
        dead = await self._store.named("dead", self._workspace, ids) if ids else {}
        death = rules.death_since(dead.values(), at)
        return HandleView(
            handle=handle,
            task_id=task_id,
            created_at=at,
            kept=await self._retention.kept_for(),
            died_at=None if death is None else death.at,
            died_of=None if death is None else death.reason,
        )

    async def forget_pruned(self) -> PruneStep:
        """Forget handles whose tasks are gone, of all workspaces, from where the last step ended."""
        return await self._records.forget_pruned()
