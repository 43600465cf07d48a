"""Inboxes. An agent's token reaches its own, and no others."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from taskyard.api import calls, openapi
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.features.inbox.views import Dequeued, EnqueuedItem, InboxView, Peeked
from taskyard.server.routes.tasks import Limit
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("inbox")
AgentAt = Annotated[str, Path(description="An agent, by id or by type.", max_length=255)]
INBOXES = openapi.answer("Inboxes", inboxes=list[InboxView])
CLEARED = openapi.answer("Cleared", cleared=int)
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


@routes.add(calls.INBOX_ENQUEUE, model(EnqueuedItem))
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
