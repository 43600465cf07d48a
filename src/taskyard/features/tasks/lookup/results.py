"""What became of a task, and waiting for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taskyard.core import outcomes
from taskyard.core.changes import Blocker
from taskyard.core.task import Hot, Status, TaskId
from taskyard.definition import arguments
from taskyard.features.tasks.lookup.waiting import Ends
from taskyard.features.tasks.result_views import result_of
from taskyard.features.tasks.views import Details
from taskyard.ledger.ledger import Ledger


class Results:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._ends = Ends(ledger.store)

    async def close(self) -> None:
        await self._ends.close()

    async def get(self, task_id: str, *, wait_sec: float = 0) -> Details:
        """A task with everything that is known of it; with `wait_sec`, once it has ended or that time is over."""
        if arguments.wait("wait_sec", wait_sec):
            await self._ends.wait((await self._ledger.load(TaskId(task_id))).id, wait_sec)
        (details,) = await self.details([await self._ledger.load(TaskId(task_id))])
        return details

    async def details(self, hots: Sequence[Hot]) -> list[Details]:
        """Everything that is known of many tasks, in as many reads as of one. A task that was pruned is left out."""
        ids = [hot.id for hot in hots]
        definitions, outputs = await self._store.definitions(ids), await self._store.outputs(ids)
        attempts, blockers = await self._store.histories(ids), await self._store.blockers(ids)
        dead = await self._store.named("dead", self._workspace, [outcomes.dead_id(hot.id, hot.attempt) for hot in hots])
        return [
            Details(
                hot,
                definitions[hot.id],
                attempts=attempts.get(hot.id, []),
                blockers=_waited_for(hot, blockers),
                output=outputs.get(hot.id),
                dead=dead.get(outcomes.dead_id(hot.id, hot.attempt)),
            )
            for hot in hots
            if hot.id in definitions
        ]

    async def result(self, task_id: str | Sequence[str], *, timeout: float | None = None) -> Any:
        """The output of a task, once it has ended; a list of outputs, in their order, for a list of tasks.

        `TaskFailed` where it is a dead letter, `TaskCancelled`, `TaskGone` where it was pruned, and `TimeoutError`
        where it has not ended within `timeout` seconds: then the task goes on.
        """
        return await result_of(self.get, task_id, timeout)


def _waited_for(hot: Hot, blockers: Sequence[Blocker]) -> list[Blocker]:
    if hot.status is not Status.PENDING:
        return []
    return [each for each in blockers if each.task_id == hot.id and each.wait == hot.wait]
