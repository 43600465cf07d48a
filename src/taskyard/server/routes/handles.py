"""Handles: random names of tasks, for those who are not to guess the next one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from taskyard.api import calls
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.handles.views import HandleView
from taskyard.server.routes.tasks import TaskAt
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("handles")


@routes.add(calls.CREATE_HANDLE, model(HandleView), status=201)
async def create_handle(caller: Calling, task_id: TaskAt) -> Response:
    """A new handle for a task."""
    return answer(write(await caller.yard.handles.create(task_id)), 201)


@routes.add(calls.HANDLE, model(HandleView))
async def handle(
    caller: Calling, handle: Annotated[str, Path(description="As it was given.", max_length=255)]
) -> Response:
    """The task that a handle stands for."""
    return answer(write(await caller.yard.handles.get(handle)))
