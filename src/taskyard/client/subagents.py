"""Subagents of a yard that a server has."""

from __future__ import annotations

from collections.abc import Mapping

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.body import body, draft
from taskyard.core.json_value import Json
from taskyard.features.subagents.service import Subagents
from taskyard.features.subagents.views import StartedSubagent, Subagent
from taskyard.ledger.ids import mint
from taskyard.ledger.options import LOCAL
from taskyard.ledger.tracing import continued, enqueue_span

DEFAULT_LISTED = 50


class RemoteSubagents(Remote, Subagents):
    async def start(
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
        """Start a subagent in the background, and go on at once. The parent's inbox gets one item for its end."""
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
        return read(StartedSubagent, await self._connection.ask(calls.START_SUBAGENT, request))

    async def spawn(
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
        return read(StartedSubagent, await self._connection.ask_about(calls.SPAWN_SUBAGENT, task_id, request))

    async def list(
        self,
        *,
        parent: str | None = None,
        conversation: str | None = None,
        limit: int = DEFAULT_LISTED,
        below: str | None = None,
    ) -> list[Subagent]:
        """Background subagents, newest first; the next page is that below the last task id of this one."""
        query = {"parent": parent, "conversation": conversation, "limit": limit, "below": below}
        answer = await self._connection.ask(calls.SUBAGENTS, query=query)
        return read(list[Subagent], answer["subagents"])

    async def get(self, task_id: str) -> Subagent:
        """One background subagent, by its task's id."""
        return read(Subagent, await self._connection.ask_about(calls.SUBAGENT, task_id))

    async def transcript(self, task_id: str) -> list[dict[str, Json]]:
        """The lines of a subagent's transcript, as they are stored, wherever its file is."""
        return (await self._connection.ask_about(calls.TRANSCRIPT, task_id))["lines"]


def _traced(type: str, fields: Mapping[str, object]) -> object:
    """The further fields of a subagent's task, which carry the trace too."""
    with enqueue_span([{"type": type, **fields}]):
        return continued(draft(fields))
