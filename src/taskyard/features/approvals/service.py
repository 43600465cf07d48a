"""Tasks that wait for somebody's word, and the signals that they get."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core import transitions
from taskyard.core.changes import Blocker, ChangeSet, Lift, Signal
from taskyard.core.identifiers import blocker_name, is_signal, signal_blocker
from taskyard.core.json_value import Json, encode
from taskyard.core.task import Status, TaskId
from taskyard.definition import arguments
from taskyard.features.approvals.views import Approval
from taskyard.features.attempts.endings.failure_path import receipt
from taskyard.features.attempts.views import Receipt
from taskyard.features.tasks.lookup.queries import MOST_LISTED, Queries
from taskyard.features.tasks.views import stored_task
from taskyard.ledger.ledger import Ledger


class Approvals:
    def __init__(self, ledger: Ledger, queries: Queries) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._queries = queries

    async def signal(
        self, task_id: str, name: str, data: Json = None, *, sent_by: str = "human:local", wait: int | None = None
    ) -> Receipt:
        """Tell a task something it waits for, or will wait for.

        An answer to one wait, by its number, is dropped where that wait is over: no later one takes it.
        """
        name = arguments.name("name", name)
        sent_by = arguments.name("sent_by", sent_by)
        text = encode(data, field="data", max_bytes=self._ledger.options.sizes.max_payload_bytes)

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            hot, now = await self._ledger.load(TaskId(task_id)), self._ledger.now()
            if wait is not None and (hot.status, hot.wait) != (Status.PENDING, wait):
                return None, receipt(hot)
            change = transitions.signal(hot, name=name, by=sent_by, now=now)
            row = Signal(hot.id, name, text, sent_by, now)
            lift = Lift(signal_blocker(name), hot.id)
            return ChangeSet(changes=(change,), signals=(row,), lifts=(lift,), at=now), receipt(change.after)

        return await self._ledger.commit(decide)

    async def list(self, *, limit: int = MOST_LISTED, task_id: str | None = None) -> list[Approval]:
        """Tasks that wait for a person's word, longest first; or what one task waits for."""
        awaited = await self._store.awaited(self._workspace, limit) if task_id is None else await self._of(task_id)
        hots = await self._store.load(list(dict.fromkeys(blocker.task_id for blocker in awaited)))
        tasks = {task.id: task for task in await self._queries.tasks(list(hots.values()))}
        return [
            Approval(task, blocker_name(blocker.name).rest, task.updated_at, task.wake_at, blocker.wait)
            for blocker in awaited
            # Each is read at its own moment: by now, the signal may have come.
            if (task := tasks.get(blocker.task_id)) is not None
            and (task.status, stored_task(task)[0].wait) == (Status.PENDING, blocker.wait)
        ]

    async def _of(self, task_id: str) -> Sequence[Blocker]:
        """The signals that one task of this workspace waits for."""
        hot = await self._ledger.load(TaskId(task_id))
        blockers = await self._store.blockers([hot.id])
        return [each for each in blockers if is_signal(each.name)]
