"""Inbox of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.body import body
from taskyard.core.json_value import Json
from taskyard.features.inbox.items import ItemSource
from taskyard.features.inbox.rules import Kind
from taskyard.features.inbox.service import Inboxes
from taskyard.features.inbox.views import Dequeued, EnqueuedItem, InboxView, Peeked
from taskyard.ledger.ids import mint
from taskyard.ledger.options import LOCAL

HOLD_SEC = 300.0

MOST_LISTED = 200


class RemoteInbox(Remote, Inboxes):
    async def put(
        self,
        agent: str,
        conversation: str,
        content: Json,
        *,
        kind: str = Kind.MESSAGE,
        scope_agent: str | None = None,
        scope_conversation: str | None = None,
        source: str = ItemSource.USER,
        client_message_id: str | None = None,
        item_id: str | None = None,
        sent_by: str = LOCAL,
    ) -> EnqueuedItem:
        """Put something into an inbox: a text, or a list of parts. A full one refuses it, and says so."""
        request = body(
            content=content,
            kind=kind,
            scope_agent=scope_agent,
            scope_conversation=scope_conversation,
            source=source,
            client_message_id=client_message_id,
            item_id=f"item_{mint()}" if item_id is None else item_id,
        )
        answer = await self._connection.ask(calls.INBOX_ENQUEUE, request, agent=agent, conversation=conversation)
        return read(EnqueuedItem, answer)

    async def take(
        self,
        agent: str,
        conversation: str,
        blocked_reason: str | None = None,
        *,
        hold_sec: float = HOLD_SEC,
        batch_id: str | None = None,
    ) -> Dequeued:
        """Take the next batch, unless something blocks the consumer. Consume it, or it is handed out again."""
        chosen = f"batch_{mint()}" if batch_id is None else batch_id
        request = body(blocked_reason=blocked_reason, hold_sec=hold_sec, batch_id=chosen)
        answer = await self._connection.ask(calls.INBOX_DEQUEUE, request, agent=agent, conversation=conversation)
        return read(Dequeued, answer)

    async def consume(self, agent: str, conversation: str, batch_id: str) -> None:
        """A batch was dealt with: it never comes back. One that is in other hands by now is `not_found`."""
        await self._connection.ask(calls.INBOX_CONSUME, body(batch_id=batch_id), agent=agent, conversation=conversation)

    async def clear(self, agent: str, conversation: str, reason: str = "cancelled", *, by: str = LOCAL) -> int:
        """Leave nothing, neither what waits nor what is in anybody's hands, and say how many items that were."""
        answer = await self._connection.ask(
            calls.INBOX_CLEAR, body(reason=reason), agent=agent, conversation=conversation
        )
        return answer["cleared"]

    async def peek(self, agent: str, conversation: str) -> Peeked:
        """What waits in an inbox, in its order. Nothing is taken."""
        return read(Peeked, await self._connection.ask(calls.INBOX, agent=agent, conversation=conversation))

    async def list(self, *, limit: int = MOST_LISTED) -> list[InboxView]:
        """The inboxes that are in use, by agent and conversation."""
        answer = await self._connection.ask(calls.INBOXES, query={"limit": limit})
        return read(list[InboxView], answer["inboxes"])
