"""Inboxes and background subagents in the OpenAPI document: what is sent, and what is answered."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from taskyard.api.requests import Lease, Name, Request, Seconds
from taskyard.features.inbox.items import Source
from taskyard.features.inbox.rules import Blocked, Kind
from taskyard.wire.shapes import Response

# Sent


class EnqueueItem(Request):
    content: Any = Field(description="A text, or a list of parts of a turn.")
    kind: Literal["message", "task_notification", "approval_result", "overlay_action"] = Kind.MESSAGE.value
    scope_agent: Name | None = Field(None, description="With the next: another conversation than the inbox's own.")
    scope_conversation: Name | None = None
    source: Literal["user", "system", "hook"] = Source.USER.value
    client_message_id: Name | None = None
    item_id: Name | None = Field(None, description="Minted by the caller, it makes a repeated call harmless.")


class DequeueBatch(Request):
    blocked_reason: (
        Literal[
            "streaming",
            "pending_approvals",
            "overlay_open",
            "command_running",
            "interrupt_in_progress",
            "runtime_busy",
        ]
        | None
    ) = Field(None, description="Given: nothing is taken, and a change of the reason is an event.")
    hold_sec: Seconds = Field(300, description="Not consumed by then, the batch is handed out again; 0: consumed now.")
    batch_id: Name | None = Field(None, description="Minted by the caller: the same again gets the same batch.")


class ConsumeBatch(Request):
    batch_id: Name


class ClearInbox(Request):
    reason: Annotated[str, Field(max_length=1000)] = "cancelled"


class SubagentDraft(Request):
    """A subagent: what to do, and how."""

    type: Name = Field(description="What kind of subagent: explore, review, …")
    prompt: str = Field(description="What to do.")
    description: Annotated[str, Field(max_length=1000)] = ""
    model: Name | None = None
    max_turns: int | None = None
    silent: bool = Field(False, description="The parent is not told of the end.")
    agent_id: Name | None = Field(None, description="An existing agent that is to do it.")
    conversation_id: Name | None = Field(None, description="An existing conversation that it goes on with.")
    tool_call_id: Name | None = Field(None, description="The same tool call again gets the same subagent.")
    fields: dict[str, Any] = Field({}, description="Other fields of its task: priority, max_cost_usd, …")

    def given(self) -> dict[str, Any]:
        """What the caller said, without what only the route looks at."""
        return {name: value for name, value in self if name != "lease"}


class StartSubagent(SubagentDraft):
    parent: Name = Field(description="The agent whose inbox is told of the end.")
    conversation: Name = "default"
    task_id: Name | None = Field(None, description="Minted by the caller, it makes a repeated call harmless.")


class SpawnSubagent(SubagentDraft):
    lease: Lease
    name: Name = Field(description="What this task calls the subagent: the same again is the same one.")
    conversation: Name | None = Field(None, description="Of the holder's inbox; without it, the task's id.")


# Answered


class Scope(Response):
    agent: str
    conversation: str


class Item(Response):
    id: str
    kind: Kind
    scope: Scope
    content: Any
    source: Source
    sent_by: str
    at: str
    client_message_id: str | None
    about: str | None = Field(description="The task or DAG that it tells of.")


class Enqueued(Response):
    item: Item | None = Field(description="null: the inbox is full, and nothing was stored.")
    dropped: str | None = Field(description="The id of the item that had to make room.")
    queue_len: int


class Batch(Response):
    batch_id: str
    items: list[Item]
    merged_count: int
    queue_len_after: int
    turn: Any = Field(description="All of it as one turn: a text, or a list of parts.")


class Dequeued(Response):
    batch: Batch | None
    blocked: Blocked | None = Field(description="The reason, where it is news.")


class Cleared(Response):
    cleared: int


class Inbox(Response):
    agent: str
    conversation: str
    queue_len: int
    held: int = Field(description="Items in somebody's hands.")
    blocked: Blocked | None
    used_at: str | None


class Inboxes(Response):
    inboxes: list[Inbox]


class PeekedInbox(Inbox):
    items: list[Item]


class StartedSubagent(Response):
    task_id: str
    output_file: str = Field(description="The transcript, which grows while the subagent works.")
    subagent_id: str


class Subagent(Response):
    task_id: str
    subagent_id: str
    type: str
    description: str
    status: Literal["queued", "running", "completed", "failed", "cancelled"]
    parent: str
    conversation: str
    tool_call_id: str | None
    model: str | None
    max_turns: int | None
    silent: bool
    attempts: int
    cost_usd: str
    total_tokens: int
    progress: Any
    error: str | None
    created_at: str
    ended_at: str | None
    elapsed_sec: float
    output_file: str


class Subagents(Response):
    subagents: list[Subagent]


class TranscriptLine(Response):
    seq: int
    at: str | None = None
    event: str
    payload: dict[str, Any]
    output: Any = None


class Transcript(Response):
    lines: list[TranscriptLine]
