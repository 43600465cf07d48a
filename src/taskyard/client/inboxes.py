"""Inboxes and background subagents, over HTTP. Ids are minted here: a call whose answer was lost can be made again.

Who did it is said by the token: `by`, `sent_by` and `created_by` are there because the local yard has them.
"""

from __future__ import annotations

from collections.abc import Mapping

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.body import body, draft
from taskyard.client.long_poll import Calling
from taskyard.core.json_value import Json
from taskyard.features.inbox.items import Source
from taskyard.features.inbox.rules import Kind
from taskyard.features.inbox.views import Dequeued, Enqueued, InboxView, Peeked
from taskyard.features.subagents.views import StartedSubagent, Subagent
from taskyard.ledger.ids import mint
from taskyard.ledger.tracing import continued, enqueue_span

LOCAL = "human:local"
HOLD_SEC = 300.0
MOST_LISTED = 200
DEFAULT_LISTED = 50


class Inboxes(Calling):
    async def inbox_enqueue(
        self,
        agent: str,
        conversation: str,
        content: Json,
        *,
        kind: str = Kind.MESSAGE,
        scope_agent: str | None = None,
        scope_conversation: str | None = None,
        source: str = Source.USER,
        client_message_id: str | None = None,
        item_id: str | None = None,
        sent_by: str = LOCAL,
    ) -> Enqueued:
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
        answer = await self._ask(calls.INBOX_ENQUEUE, request, agent=agent, conversation=conversation)
        return read(Enqueued, answer)

    async def inbox_dequeue(
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
        answer = await self._ask(calls.INBOX_DEQUEUE, request, agent=agent, conversation=conversation)
        return read(Dequeued, answer)

    async def inbox_consume(self, agent: str, conversation: str, batch_id: str) -> None:
        """A batch was dealt with: it never comes back. One that is in other hands by now is `not_found`."""
        await self._ask(calls.INBOX_CONSUME, body(batch_id=batch_id), agent=agent, conversation=conversation)

    async def inbox_clear(self, agent: str, conversation: str, reason: str = "cancelled", *, by: str = LOCAL) -> int:
        """Leave nothing, neither what waits nor what is in anybody's hands, and say how many items that were."""
        answer = await self._ask(calls.INBOX_CLEAR, body(reason=reason), agent=agent, conversation=conversation)
        return answer["cleared"]

    async def inbox_peek(self, agent: str, conversation: str) -> Peeked:
        """What waits in an inbox, in its order. Nothing is taken."""
        return read(Peeked, await self._ask(calls.INBOX, agent=agent, conversation=conversation))

    async def inboxes(self, *, limit: int = MOST_LISTED) -> list[InboxView]:
        """The inboxes that are in use, by agent and conversation."""
        answer = await self._ask(calls.INBOXES, query={"limit": limit})
        return read(list[InboxView], answer["inboxes"])

    # Background subagents

    async def start_subagent(
        self,
        type: str,
        prompt: str,
        *,
        parent: str,
        conversation: str = "default",
        description: str = "",
        model: str | None = None,
        max_turns: int | None = None,
        silent: bool = False,
        agent_id: str | None = None,
        conversation_id: str | None = None,
        tool_call_id: str | None = None,
        fields: Mapping[str, object] | None = None,
        task_id: str | None = None,
        created_by: str = LOCAL,
    ) -> StartedSubagent:
        """Start a subagent in the background, and go on at once. The parent's inbox is told once how it ended."""
        request = body(
            type=type,
            prompt=prompt,
            parent=parent,
            conversation=conversation,
            description=description,
            model=model,
            max_turns=max_turns,
            silent=silent,
            agent_id=agent_id,
            conversation_id=conversation_id,
            tool_call_id=tool_call_id,
            fields=_traced(type, fields or {}),
            task_id=f"task_{mint()}" if task_id is None else task_id,
        )
        return read(StartedSubagent, await self._ask(calls.START_SUBAGENT, request))

    async def spawn_subagent(
        self,
        task_id: str,
        lease: str,
        type: str,
        prompt: str,
        *,
        name: str,
        conversation: str | None = None,
        description: str = "",
        model: str | None = None,
        max_turns: int | None = None,
        silent: bool = False,
        agent_id: str | None = None,
        conversation_id: str | None = None,
        tool_call_id: str | None = None,
        fields: Mapping[str, object] | None = None,
    ) -> StartedSubagent:
        """Start a subagent from the task at hand, in its graph. Asked again under the same name, it is the same one."""
        request = body(
            lease=lease,
            type=type,
            prompt=prompt,
            name=name,
            conversation=conversation,
            description=description,
            model=model,
            max_turns=max_turns,
            silent=silent,
            agent_id=agent_id,
            conversation_id=conversation_id,
            tool_call_id=tool_call_id,
            fields=_traced(type, fields or {}),
        )
        return read(StartedSubagent, await self._ask_about(calls.SPAWN_SUBAGENT, task_id, request))

    async def subagents(
        self,
        *,
        parent: str | None = None,
        conversation: str | None = None,
        limit: int = DEFAULT_LISTED,
        below: str | None = None,
    ) -> list[Subagent]:
        """Background subagents, newest first; the next page is that below the last task id of this one."""
        query = {"parent": parent, "conversation": conversation, "limit": limit, "below": below}
        answer = await self._ask(calls.SUBAGENTS, query=query)
        return read(list[Subagent], answer["subagents"])

    async def subagent(self, task_id: str) -> Subagent:
        """One background subagent, by its task's id."""
        return read(Subagent, await self._ask_about(calls.SUBAGENT, task_id))

    async def transcript(self, task_id: str) -> list[dict[str, Json]]:
        """The lines of a subagent's transcript, as they are stored, wherever its file is."""
        return (await self._ask_about(calls.TRANSCRIPT, task_id))["lines"]


def _traced(type: str, fields: Mapping[str, object]) -> object:
    """The further fields of a subagent's task, which carry the trace too."""
    with enqueue_span([{"type": type, **fields}]):
        return continued(draft(fields))
