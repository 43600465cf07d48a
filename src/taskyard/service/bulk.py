"""The same for many: results of many attempts in one call, and one decision about everything that matches."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from taskyard.core.errors import InvalidInput, TaskyardError
from taskyard.core.task import TaskId
from taskyard.service.finishing import Finishing
from taskyard.service.reading import MOST_LISTED, Reading
from taskyard.service.rerunning import Rerunning
from taskyard.wire.answers import Acted
from taskyard.wire.tasks import Receipt

ACTIONS = ("cancel", "retry", "rerun", "priority")
MOST_AT_ONCE = 1000
MOST_MATCHED = 10_000


class Bulk(Rerunning, Reading, Finishing):
    async def complete_many(self, results: Sequence[Mapping[str, Any]]) -> list[Receipt | TaskyardError]:
        """Hand in many outputs. Each stands or falls alone, and its answer stands in its place."""
        _check_number(results)
        return await self._each([self.complete(**result) for result in results])

    async def fail_many(self, results: Sequence[Mapping[str, Any]]) -> list[Receipt | TaskyardError]:
        """Report many failures. Each stands or falls alone, and its answer stands in its place."""
        _check_number(results)
        return await self._each([self.fail(**result) for result in results])

    async def act_on_all(
        self, action: str, *, by: str, dry_run: bool = False, priority: int | None = None, note: str = "", **which: Any
    ) -> Acted:
        """Do something with every task that matches what `find` takes, newest first; a dry run only says which."""
        if action not in ACTIONS:
            raise InvalidInput("action", f"must be one of {', '.join(ACTIONS)}")
        if (action == "priority") != (priority is not None):
            raise InvalidInput("priority", "goes with the action priority, and only with it")
        ids = await self._matching(which)
        refused: dict[TaskId, TaskyardError] = {}
        for task_id in () if dry_run else ids:
            try:
                await self._act(action, task_id, by=by, priority=priority, note=note)
            except TaskyardError as error:
                refused[task_id] = error
        done = tuple(task_id for task_id in ids if task_id not in refused)
        return Acted(done, refused, more=len(ids) == MOST_MATCHED)

    async def _matching(self, which: dict[str, Any]) -> list[TaskId]:
        ids: list[TaskId] = []
        cursor = 0
        while len(ids) < MOST_MATCHED:
            page = await self.find(limit=MOST_LISTED, cursor=cursor, **which)
            ids += [task.id for task in page]
            if len(page) < MOST_LISTED:
                break
            cursor = page[-1].hot.seq
        return ids

    async def _act(self, action: str, task_id: TaskId, *, by: str, priority: int | None, note: str) -> None:
        match action:
            case "cancel":
                await self.cancel(task_id, note or f"cancelled by {by}", by=by)
            case "retry":
                await self.resolve(task_id, "retry", by=by, note=note)
            case "rerun":
                await self.rerun(task_id, created_by=by)
            case _:
                await self.set_priority(task_id, priority or 0, by=by)

    async def _each(self, calls: Sequence[Coroutine[Any, Any, Receipt]]) -> list[Receipt | TaskyardError]:
        """Together, so that they land in one commit."""
        return list(await asyncio.gather(*(_answer(call) for call in calls)))


async def _answer(call: Coroutine[Any, Any, Receipt]) -> Receipt | TaskyardError:
    try:
        return await call
    except TaskyardError as error:
        return error


def _check_number(results: Sequence[object]) -> None:
    if not 1 <= len(results) <= MOST_AT_ONCE:
        raise InvalidInput("results", f"must be from 1 to {MOST_AT_ONCE}")
