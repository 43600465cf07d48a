"""Background subagents, and their transcripts."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from taskyard.api import calls, openapi
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import model, optional
from taskyard.core.errors import Forbidden
from taskyard.features.subagents.views import StartedSubagent, Subagent
from taskyard.features.tokens.rules import Role
from taskyard.server.routes.tasks import Limit, TaskAt
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("subagents")
SUBAGENTS = openapi.answer("Subagents", subagents=list[Subagent])
LINE = openapi.answer(
    "TranscriptLine", seq=int, at=optional(str | None), event=str, payload=dict[str, Any], output=optional(Any)
)
TRANSCRIPT = openapi.answer("Transcript", lines=list[LINE])


@routes.add(calls.START_SUBAGENT, model(StartedSubagent), status=201)
async def start_subagent(caller: Calling, asked: models.StartSubagent) -> Response:
    """Start a subagent in the background. The parent's inbox gets one item that says how it ended."""
    begun = await caller.yard.subagents.start(**asked.given(), created_by=caller.by)
    return answer(write(begun), 201)


@routes.add(calls.SPAWN_SUBAGENT, model(StartedSubagent), status=201)
async def spawn_subagent(caller: Calling, task_id: TaskAt, asked: models.SpawnSubagent) -> Response:
    """Start a subagent from the task at hand, in its graph."""
    begun = await caller.yard.subagents.spawn(task_id, asked.lease, **asked.given())
    return answer(write(begun), 201)


@routes.add(calls.SUBAGENTS, SUBAGENTS)
async def list_subagents(
    caller: Calling,
    parent: Annotated[str | None, Query(max_length=255)] = None,
    conversation: Annotated[str | None, Query(max_length=255)] = None,
    limit: Limit = 50,
    below: Annotated[str | None, Query(max_length=255, description="The task id of the last one seen.")] = None,
) -> Response:
    """Background subagents, newest first."""
    if parent is not None:
        await caller.must_work_as(parent)
    elif caller.token.role is Role.AGENT:
        raise Forbidden("an agent sees the subagents that it is the parent of, and has to name itself as `parent`")
    found = await caller.yard.subagents.list(parent=parent, conversation=conversation, limit=limit, below=below)
    return answer({"subagents": write(found)})


@routes.add(calls.SUBAGENT, model(Subagent))
async def get_subagent(caller: Calling, task_id: TaskAt) -> Response:
    """One background subagent, by its task."""
    return answer(write(await caller.yard.subagents.get(task_id)))


@routes.add(calls.TRANSCRIPT, TRANSCRIPT)
async def transcript(caller: Calling, task_id: TaskAt) -> Response:
    """What a subagent has said and done so far."""
    return answer({"lines": list(await caller.yard.subagents.transcript(task_id))})
