"""Moving waiting tasks within their lanes."""

from __future__ import annotations

from taskyard.core import transitions
from taskyard.core.changes import ChangeSet
from taskyard.core.policy import policy_of
from taskyard.core.task import TaskId
from taskyard.definition import arguments
from taskyard.definition.definition import redefine
from taskyard.features.attempts.endings.failure_path import receipt
from taskyard.features.attempts.views import Receipt
from taskyard.features.tasks.creation.drafts import rescored
from taskyard.ledger.ledger import Ledger


class Priorities:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def set(self, task_id: str, priority: int, *, by: str = "human:local") -> Receipt:
        """Move a waiting task within its lane."""
        by = arguments.name("by", by)

        async def decide() -> tuple[ChangeSet, Receipt]:
            hot, now = await self._ledger.load(TaskId(task_id)), self._ledger.now()
            stored = await self._ledger.definition(hot.id)
            changed = {"priority": priority}
            definition = redefine(stored, changed, policy=policy_of(stored), sizes=self._ledger.options.sizes)
            place = rescored(hot, definition, hot.height, now)
            change = transitions.reprioritise(hot, priority=priority, rank=place.rank, by=by, now=now)
            return ChangeSet(changes=(change,), redefined=(definition,), at=now), receipt(change.after)

        return await self._ledger.commit(decide)
