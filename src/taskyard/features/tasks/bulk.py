"""The same for many: results of many attempts in one call, and one decision about everything that matches."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from taskyard.core import transitions
from taskyard.core.errors import IllegalTransition, InvalidInput, TaskyardError
from taskyard.core.task import Hot, TaskId
from taskyard.features.attempts.views import Receipt
from taskyard.features.tasks.answers import Acted
from taskyard.features.tasks.reruns import Rerunning
from taskyard.service.finishing import Finishing
from taskyard.service.reading import Reading

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
        matching = await self._matching(which)
        refused: dict[TaskId, TaskyardError] = {}
        for hot in matching:
            try:
                if dry_run:
                    _must_allow(action, hot)
                else:
                    await self._act(action, hot.id, by=by, priority=priority, note=note)
            except TaskyardError as error:
                refused[hot.id] = error
        done = tuple(hot.id for hot in matching if hot.id not in refused)
        return Acted(done, refused, more=len(matching) == MOST_MATCHED)

    async def _matching(self, which: dict[str, Any]) -> list[Hot]:
        if ids := which.pop("ids", ()):
            return await self._chosen([TaskId(each) for each in ids], which)
        wanted, found = self._filter(**which), list[Hot]()
        while len(found) < MOST_MATCHED:
            page = await self.store.find(wanted, after=found[-1].seq if found else 0, limit=MOST_AT_ONCE)
            found += page
            if len(page) < MOST_AT_ONCE:
                break
        return found

    async def _chosen(self, ids: Sequence[TaskId], which: dict[str, Any]) -> list[Hot]:
        """Exactly these, and no filter beside them."""
        if any(which.values()):
            raise InvalidInput("ids", "stand alone: with them, nothing else is filtered by")
        if len(ids) > MOST_AT_ONCE:
            raise InvalidInput("ids", f"must be at most {MOST_AT_ONCE}")
        return [hot for hot in (await self.store.load(ids)).values() if hot.workspace == self.workspace]

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


def _must_allow(action: str, hot: Hot) -> None:
    """Refuse what the task, as it stands, would refuse."""
    if action != "rerun":
        transitions.allow(hot, {"cancel": "cancel", "retry": "revive", "priority": "reprioritise"}[action])
    elif not hot.status.is_final:
        raise IllegalTransition(hot.id, hot.status, "rerun")


async def _answer(call: Coroutine[Any, Any, Receipt]) -> Receipt | TaskyardError:
    try:
        return await call
    except TaskyardError as error:
        return error


def _check_number(results: Sequence[object]) -> None:
    if not 1 <= len(results) <= MOST_AT_ONCE:
        raise InvalidInput("results", f"must be from 1 to {MOST_AT_ONCE}")
