"""Inboxes and background subagents. An agent's token reaches its own inboxes, and no others."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Response

from taskyard.api import calls, openapi
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model, optional
from taskyard.core.errors import Forbidden
from taskyard.features.inbox.views import Dequeued, Enqueued, InboxView, Peeked
from taskyard.features.subagents.views import StartedSubagent, Subagent
from taskyard.features.tokens.rules import Role
from taskyard.server.routes.tasks import Limit, TaskAt
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("inboxes")
AgentAt = Annotated[str, Path(description="An agent, by id or by type.", max_length=255)]
INBOXES = openapi.answer("Inboxes", inboxes=list[InboxView])
CLEARED = openapi.answer("Cleared", cleared=int)
SUBAGENTS = openapi.answer("Subagents", subagents=list[Subagent])
LINE = openapi.answer(
    "TranscriptLine", seq=int, at=optional(str | None), event=str, payload=dict[str, Any], output=optional(Any)
)
TRANSCRIPT = openapi.answer("Transcript", lines=list[LINE])
ConversationAt = Annotated[str, Path(description="One of its conversations.", max_length=255)]


@routes.add(calls.INBOXES, INBOXES)
async def list_inboxes(caller: Calling, limit: Limit = 50) -> Response:
    """The inboxes that are in use."""
    return answer({"inboxes": write(await caller.yard.inbox.list(limit=limit))})


@routes.add(calls.INBOX, model(Peeked))
async def inbox_peek(caller: Calling, agent: AgentAt, conversation: ConversationAt) -> Response:
    """What waits in an inbox, in its order. Nothing is taken."""
    await caller.must_work_as(agent)
    return answer(write(await caller.yard.inbox.peek(agent, conversation)))


@routes.add(calls.INBOX_ENQUEUE, model(Enqueued))
async def inbox_enqueue(
    caller: Calling, agent: AgentAt, conversation: ConversationAt, asked: models.EnqueueItem
) -> Response:
    """Put something into an inbox. A full one refuses it: `item` is null."""
    await caller.must_work_as(agent)
    given = {name: value for name, value in asked if name != "content"}
    put = await caller.yard.inbox.put(agent, conversation, asked.content, **given, sent_by=caller.by)
    return answer(write(put))


@routes.add(calls.INBOX_DEQUEUE, model(Dequeued))
async def inbox_dequeue(
    caller: Calling, agent: AgentAt, conversation: ConversationAt, asked: models.DequeueBatch
) -> Response:
    """Take the next batch, unless something blocks the consumer. Consume it, or it is handed out again."""
    await caller.must_work_as(agent)
    taken = await caller.yard.inbox.take(
        agent, conversation, asked.blocked_reason, hold_sec=asked.hold_sec, batch_id=asked.batch_id
    )
    return answer(write(taken))


@routes.add(calls.INBOX_CONSUME, DONE)
async def inbox_consume(
    caller: Calling, agent: AgentAt, conversation: ConversationAt, asked: models.ConsumeBatch
) -> Response:
    """A batch was dealt with: it never comes back."""
    await caller.must_work_as(agent)
    await caller.yard.inbox.consume(agent, conversation, asked.batch_id)
    return answer({"ok": True})


@routes.add(calls.INBOX_CLEAR, CLEARED)
async def inbox_clear(
    caller: Calling, agent: AgentAt, conversation: ConversationAt, asked: models.ClearInbox
) -> Response:
    """Leave nothing in an inbox."""
    await caller.must_work_as(agent)
    return answer({"cleared": await caller.yard.inbox.clear(agent, conversation, asked.reason, by=caller.by)})


@routes.add(calls.START_SUBAGENT, model(StartedSubagent), status=201)
async def start_subagent(caller: Calling, asked: models.StartSubagent) -> Response:
    """Start a subagent in the background. The parent's inbox is told once how it ended."""
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
