"""What became of a task, and waiting for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taskyard.core import outcomes
from taskyard.core.task import Status, TaskId
from taskyard.service.ends import Ends
from taskyard.service.engine import Engine, Options
from taskyard.stores.contract import Store
from taskyard.wire.results import result_of
from taskyard.wire.tasks import Details


class Results(Engine):
    def __init__(self, store: Store, options: Options) -> None:
        super().__init__(store, options)
        self._ends = Ends(store)

    async def get(self, task_id: str, *, wait_sec: float = 0) -> Details:
        """A task with everything that is known of it; with `wait_sec`, once it has ended or that time is over."""
        if wait_sec:
            await self._ends.wait((await self._load(TaskId(task_id))).id, wait_sec)
        hot = await self._load(TaskId(task_id))
        blockers = [blocker for blocker in await self.store.blockers([hot.id]) if blocker.wait == hot.wait]
        dead = await self.store.record("dead", self.workspace, outcomes.dead_id(hot.id, hot.attempt))
        dead = dead if dead is not None and outcomes.is_current(dead, hot) else None
        return Details(
            hot,
            await self._define(hot.id),
            attempts=await self.store.attempts(hot.id),
            blockers=blockers if hot.status is Status.PENDING else [],
            output=(await self.store.outputs([hot.id])).get(hot.id),
            dead=dead,
        )

    async def result(self, task_id: str | Sequence[str], *, timeout: float | None = None) -> Any:
        """The output of a task, once it has ended; a list of outputs, in their order, for a list of tasks.

        `TaskFailed` where it is a dead letter, `TaskCancelled`, `TaskGone` where it was pruned, and `TimeoutError`
        where it has not ended within `timeout` seconds: then the task goes on.
        """
        return await result_of(self.get, task_id, timeout)
