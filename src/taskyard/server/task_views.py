"""How tasks are shown: in the yard's own shape, or in the view that the caller asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Query

from taskyard.api.codec import write
from taskyard.core.errors import NotFound
from taskyard.core.json_value import Json
from taskyard.features.tasks import multica
from taskyard.features.tasks.multica import AttemptTask, HeldAttemptTask
from taskyard.features.tasks.views import Held, Task, stored_task
from taskyard.server.access.auth import Caller

View = Annotated[
    Literal["multica"] | None, Query(description="multica: each attempt is a task of its own, in that preset's words.")
]


async def shown(caller: Caller, task: Task, view: View) -> dict[str, Json]:
    """A task as this call has left it."""
    return task.to_dict() if view is None else write((await _attempts(caller, task))[-1])


async def shown_held(caller: Caller, held: Sequence[Held], view: View) -> list[Json]:
    """Tasks that were just claimed, with their leases."""
    if view is None:
        return [task.to_dict() for task in held]
    details = {each.id: each for each in await caller.yard.tasks.details([stored_task(task)[0] for task in held])}
    shown = [(task, multica.attempt_tasks(details[task.id])) for task in held if task.id in details]
    return write([HeldAttemptTask(attempts[task.attempt - 1], task.lease) for task, attempts in shown])


async def shown_attempt(caller: Caller, id_: str) -> dict[str, Json]:
    """The attempt of this id."""
    attempts = multica.attempt_tasks(await caller.yard.get(multica.task_of(id_)))
    if not 1 <= multica.attempt_of(id_) <= len(attempts):
        raise NotFound("task", id_)
    return write(attempts[multica.attempt_of(id_) - 1])


async def shown_attempts(caller: Caller, tasks: Sequence[Task], words: Sequence[str]) -> list[Json]:
    """The attempts at these tasks that are in these states, latest first."""
    details = await caller.yard.tasks.details([stored_task(task)[0] for task in tasks])
    found = [attempt for task in details for attempt in reversed(multica.attempt_tasks(task))]
    return write([attempt for attempt in found if not words or attempt.status in words])


async def _attempts(caller: Caller, task: Task) -> list[AttemptTask]:
    return multica.attempt_tasks(await caller.yard.get(task.id))
