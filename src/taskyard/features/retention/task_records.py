"""Records about tasks, of all workspaces, that are kept until their tasks are pruned."""

from __future__ import annotations

from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.task import TaskId
from taskyard.features.retention.pruning import PruneStep
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.ledger.ledger import Ledger

AT_ONCE = 500
MOST_PAGES = 20  # of one step


class TaskRecords:
    """The records of a kind, each of which names its task as `task_id`."""

    def __init__(self, ledger: Ledger, kind: str) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._kind = kind
        self._looked_through: str | None = None  # where the last look for records without tasks ended

    async def forget_pruned(self) -> PruneStep:
        """Forget records whose tasks are gone, from where the last step ended."""
        forgotten = 0
        for _ in range(MOST_PAGES):
            page = await self._store.page(self._kind, EVERYWHERE, below=self._looked_through, limit=AT_ONCE)
            self._looked_through = page[-1].id if len(page) == AT_ONCE else None
            forgotten += await self._forget(page)
            if self._looked_through is None:
                return PruneStep(forgotten)
        return PruneStep(forgotten, more=True)

    async def _forget(self, page: list[Record]) -> int:
        tasks = {record.id: TaskId(str(record.body["task_id"])) for record in page}
        there = await self._store.load(sorted(set(tasks.values()))) if tasks else {}
        gone = [RecordChange(*record[:4], None) for record in page if tasks[record.id] not in there]
        if gone:
            await self._ledger.commit_set(ChangeSet(records=tuple(gone), at=self._ledger.now()))
        return len(gone)
