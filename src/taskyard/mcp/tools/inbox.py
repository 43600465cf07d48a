"""Tools for inboxes of agents."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from taskyard.api import calls, openapi
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.inbox.views import Dequeued, EnqueuedItem
from taskyard.mcp.desk import Desk
from taskyard.mcp.toolbox import ADDS, PRODUCER, SETS, WORKER, Answer, Toolbox

box = Toolbox()
Agent = Annotated[str, Field(description="Whose inbox it is.", max_length=255)]
Conversation = Annotated[str, Field(max_length=255)]
CONSUMED = openapi.answer("ConsumedBatch", batch_id=str, consumed=bool)


@box.add(calls.INBOX_ENQUEUE, model(EnqueuedItem), PRODUCER, WORKER, hints=ADDS)
async def inbox_send(
    desk: Desk,
    *,
    agent: Agent,
    content: Annotated[Any, Field(description="A text, or a list of parts of a turn.")],
    conversation: Conversation = "default",
    client_message_id: Annotated[str | None, Field(max_length=255)] = None,
) -> Answer:
    """Put a message into an agent's inbox."""
    sent = await desk.yard.inbox.put(agent, conversation, content, client_message_id=client_message_id, sent_by=desk.by)
    return write(sent)


@box.add(calls.INBOX_DEQUEUE, model(Dequeued), WORKER, hints=ADDS)
async def inbox_next(
    desk: Desk,
    *,
    agent: Agent,
    conversation: Conversation = "default",
    hold_sec: Annotated[float, Field(ge=0, le=3600, description="Not consumed by then, it comes back.")] = 300.0,
) -> Answer:
    """Take the next messages of an inbox. Consume the batch once it is dealt with."""
    return write(await desk.yard.inbox.take(agent, conversation, hold_sec=hold_sec))


@box.add(calls.INBOX_CONSUME, CONSUMED, WORKER, hints=SETS)
async def inbox_consume(
    desk: Desk, agent: Agent, batch_id: Annotated[str, Field(max_length=255)], conversation: Conversation = "default"
) -> Answer:
    """Say that a batch was dealt with: it never comes back."""
    await desk.yard.inbox.consume(agent, conversation, batch_id)
    return {"batch_id": batch_id, "consumed": True}
