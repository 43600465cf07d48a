"""What agents elsewhere may ask for over A2A, what they asked for, and whom it is pushed to."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Response

from taskyard.api import calls, openapi
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.features.a2a.views import AgentTask, AgentTaskPage, PublishedTypeView, PushView
from taskyard.server.routes.tasks import TaskAt
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("a2a")
TypeAt = Annotated[str, Path(description="A type of tasks.", max_length=255)]
HandleAt = Annotated[str, Path(description="As it was given.", max_length=255)]
PushAt = Annotated[str, Path(description="The caller's own name for it.", max_length=100)]
TYPES = openapi.answer("PublishedTypes", types=list[PublishedTypeView])
PUSHES = openapi.answer("Pushes", pushes=list[PushView])


@routes.add(calls.PUBLISH_TYPE, model(PublishedTypeView))
async def publish_type(caller: Calling, type: TypeAt, asked: models.PublishType) -> Response:
    """Let agents elsewhere ask for tasks of a type."""
    return answer(write(await caller.yard.a2a.publish(type, **asked.model_dump(), by=caller.by)))


@routes.add(calls.PUBLISHED_TYPES, TYPES)
async def published_types(caller: Calling) -> Response:
    """The types that agents elsewhere may ask for."""
    return answer({"types": write(await caller.yard.a2a.list())})


@routes.add(calls.UNPUBLISH_TYPE, DONE)
async def unpublish_type(caller: Calling, type: TypeAt) -> Response:
    """Take no more tasks of a type from agents elsewhere."""
    await caller.yard.a2a.unpublish(type, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.SHARE_TASK, model(AgentTask))
async def share_task(caller: Calling, task_id: TaskAt) -> Response:
    """Let a task be followed over A2A, by the handle in the answer."""
    return answer(write(await caller.yard.a2a.share(task_id)))


@routes.add(calls.AGENT_TASKS, model(AgentTaskPage))
async def agent_tasks(
    caller: Calling,
    *,
    context_id: Annotated[str | None, Query(description="Of this context.", max_length=255)] = None,
    state: Annotated[str | None, Query(description="In this state.", max_length=255)] = None,
    after: Annotated[int | None, Query(description="In it since then or later, in microseconds.", ge=0)] = None,
    limit: Annotated[int, Query(description="How many at most.", ge=1, le=100)] = 50,
    cursor: Annotated[str | None, Query(description="Of the page before.", max_length=300)] = None,
) -> Response:
    """Tasks that were asked for over A2A, the latest state first."""
    page = await caller.yard.a2a.tasks(context_id=context_id, state=state, after=after, limit=limit, cursor=cursor)
    return answer(write(page))


@routes.add(calls.AGENT_TASK, model(AgentTask))
async def agent_task(caller: Calling, handle: HandleAt) -> Response:
    """A task that was asked for over A2A."""
    return answer(write(await caller.yard.a2a.task(handle)))


@routes.add(calls.MESSAGE_AGENT_TASK, model(AgentTask))
async def message_agent_task(caller: Calling, handle: HandleAt, asked: models.SendToTask) -> Response:
    """Send something to a task: the answer to its question, or something for its inbox."""
    return answer(write(await caller.yard.a2a.send(handle, **asked.model_dump(), sent_by=caller.person)))


@routes.add(calls.SET_PUSH, model(PushView))
async def set_push(caller: Calling, handle: HandleAt, push_id: PushAt, asked: models.SetPush) -> Response:
    """Tell a URL about each state that the task comes to."""
    return answer(write(await caller.yard.a2a.set_push(handle, push_id, **asked.model_dump())))


@routes.add(calls.PUSHES, PUSHES)
async def pushes(caller: Calling, handle: HandleAt) -> Response:
    """Whom to tell about a task, without their secrets."""
    return answer({"pushes": write(await caller.yard.a2a.pushes(handle))})


@routes.add(calls.REMOVE_PUSH, DONE)
async def remove_push(caller: Calling, handle: HandleAt, push_id: PushAt) -> Response:
    """Tell this one no more."""
    await caller.yard.a2a.remove_push(handle, push_id)
    return answer({"ok": True})
