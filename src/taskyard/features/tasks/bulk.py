"""The same for many: results of many attempts in one call, and one decision about everything that matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from taskyard.core import transitions
from taskyard.core.errors import IllegalTransition, InvalidInput, TaskyardError
from taskyard.core.task import Hot, TaskId
from taskyard.definition.task_fields import TaskFilter
from taskyard.features.attempts.endings.batch_answers import MOST_AT_ONCE
from taskyard.features.dead_letters.service import DeadLetters
from taskyard.features.tasks.answers import Acted
from taskyard.features.tasks.cancellation import Cancellation
from taskyard.features.tasks.creation.reruns import Reruns
from taskyard.features.tasks.lookup.queries import Queries
from taskyard.features.tasks.priorities import Priorities
from taskyard.ledger.ledger import Ledger

ACTIONS = ("cancel", "retry", "rerun", "priority")
MOST_MATCHED = 10_000


class Bulk:
    def __init__(
        self,
        ledger: Ledger,
        cancellation: Cancellation,
        queries: Queries,
        priorities: Priorities,
        reruns: Reruns,
        dead_letters: DeadLetters,
    ) -> None:
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._cancellation = cancellation
        self._queries = queries
        self._priorities = priorities
        self._reruns = reruns
        self._dead_letters = dead_letters

    async def act(
        self,
        action: str,
        *,
        by: str,
        dry_run: bool = False,
        priority: int | None = None,
        note: str = "",
        ids: Sequence[str] = (),
        **which: Unpack[TaskFilter],
    ) -> Acted:
        """Do something with exactly these tasks, or with every one that matches what `find` takes, newest first.

        A dry run only says with which.
        """
        if action not in ACTIONS:
            raise InvalidInput("action", f"must be one of {', '.join(ACTIONS)}")
        if (action == "priority") != (priority is not None):
            raise InvalidInput("priority", "goes with the action priority, and only with it")
        matching = await (self._chosen(ids, which) if ids else self._matching(which))
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

    async def _matching(self, which: TaskFilter) -> list[Hot]:
        wanted, found = self._queries.filter(**which), list[Hot]()
        while len(found) < MOST_MATCHED:
            page = await self._store.find(wanted, after=found[-1].seq if found else 0, limit=MOST_AT_ONCE)
            found += page
            if len(page) < MOST_AT_ONCE:
                break
        return found

    async def _chosen(self, ids: Sequence[str], which: TaskFilter) -> list[Hot]:
        """Exactly these, and no filter beside them."""
        if any(which.values()):
            raise InvalidInput("ids", "stand alone: with them, nothing else is filtered by")
        if len(ids) > MOST_AT_ONCE:
            raise InvalidInput("ids", f"must be at most {MOST_AT_ONCE}")
        return [
            hot
            for hot in (await self._store.load([TaskId(each) for each in ids])).values()
            if hot.workspace == self._workspace
        ]

    async def _act(self, action: str, task_id: TaskId, *, by: str, priority: int | None, note: str) -> None:
        match action:
            case "cancel":
                await self._cancellation.cancel(task_id, note or f"cancelled by {by}", by=by)
            case "retry":
                await self._dead_letters.resolve(task_id, "retry", by=by, note=note)
            case "rerun":
                await self._reruns.rerun(task_id, created_by=by)
            case _:
                await self._priorities.set(task_id, priority or 0, by=by)


def _must_allow(action: str, hot: Hot) -> None:
    """Refuse what the task, as it stands, would refuse."""
    if action != "rerun":
        transitions.allow(hot, {"cancel": "cancel", "retry": "revive", "priority": "reprioritise"}[action])
    elif not hot.status.is_final:
        raise IllegalTransition(hot.id, hot.status, "rerun")
