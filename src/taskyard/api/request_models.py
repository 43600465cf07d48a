"""What callers send about schedules, triggers, inboxes, subagents and notifiers, and over the WebSocket.

The rest is in `requests`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from taskyard.api.requests import Lease, Name, RequestBody, Seconds
from taskyard.features.inbox.items import ItemSource
from taskyard.features.inbox.rules import Kind

SourceId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Template = Annotated[
    dict[str, Any] | None,
    Field(description="A task or a DAG as it is put in; in its texts, {{ path.to.value }} is filled in."),
]

# Schedules and triggers


class ScheduleDraft(RequestBody):
    """When to make what. Either `task` or `dag` is given."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "audit",
                    "when": "every Monday at 09:00 Europe/Berlin",
                    "task": {"type": "audit", "prompt": "Audit the dependencies, week of {{ fire.date }}"},
                }
            ]
        }
    )

    id: SourceId
    when: str = Field(max_length=1000, description="A cron expression or words, with a time zone at the end or UTC.")
    task: Template = None
    dag: Template = None
    misfire: Literal["skip", "once", "all"] = Field("once", description="What becomes of times that were missed.")
    misfire_window_sec: Seconds = 86_400
    busy: Literal["allow", "skip", "replace"] = Field("allow", description="While the run before is still going.")
    gap: Literal["next", "skip"] | None = Field(None, description="Clock times that do not exist.")
    overlap: Literal["first", "second", "both"] | None = Field(None, description="Clock times that come twice.")
    starts_at: str | None = None
    ends_at: str | None = None
    paused: bool = False
    replace: bool = Field(False, description="In the place of one that has the id.")


class PreviewSchedule(RequestBody):
    """A time, as it would be given for a schedule."""

    when: str = Field(max_length=1000, description="A cron expression or words, with a time zone at the end or UTC.")
    gap: Literal["next", "skip"] | None = None
    overlap: Literal["first", "second", "both"] | None = None
    starts_at: str | None = None
    ends_at: str | None = None


class TriggerDraft(RequestBody):
    """What to make when something happens. Either `task`, `dag` or `ready_made` is given."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"id": "reviews", "source": "webhook", "settings": {"scheme": "github"}, "ready_made": "json"},
                {"id": "report", "source": "dag", "settings": {"tag": "etl"}, "task": {"type": "report"}},
            ]
        }
    )

    id: SourceId
    source: Annotated[str, Field(max_length=255, description="webhook, files, dag, rule, or an installed source.")]
    settings: dict[str, Any] = Field(default={}, description="What it listens to, in the words of its source.")
    only: dict[str, Any] | None = Field(None, description='path -> value, values, or {"exists": true}.')
    task: Template = None
    dag: Template = None
    ready_made: Literal["pull-request-opened", "json"] | None = None
    paused: bool = False
    replace: bool = False


class FireByHand(RequestBody):
    data: dict[str, Any] = Field(description="What the template names.")
    key: str | None = Field(None, max_length=1000, description="The same key fires once.")
    dry_run: bool = False


class Rotate(RequestBody):
    grace_sec: Seconds = Field(0, description="How long the secret before stays good.")


# Inboxes and background subagents


class EnqueueItem(RequestBody):
    content: Any = Field(description="A text, or a list of parts of a turn.")
    kind: Literal["message", "task_notification", "approval_result", "overlay_action"] = Kind.MESSAGE.value
    scope_agent: Name | None = Field(None, description="With the next: another conversation than the inbox's own.")
    scope_conversation: Name | None = None
    source: Literal["user", "system", "hook"] = ItemSource.USER.value
    client_message_id: Name | None = None
    item_id: Name | None = Field(None, description="Minted by the caller, it makes a repeated call harmless.")


class DequeueBatch(RequestBody):
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


class ConsumeBatch(RequestBody):
    batch_id: Name


class ClearInbox(RequestBody):
    reason: Annotated[str, Field(max_length=1000)] = "cancelled"


class SubagentDraft(RequestBody):
    """A subagent: what to do, and how."""

    type: Name = Field(description="What kind of subagent: explore, review, …")
    prompt: str = Field(description="What to do.")
    description: Annotated[str, Field(max_length=1000)] = ""
    model: Name | None = None
    max_turns: int | None = None
    silent: bool = Field(False, description="The parent's inbox gets no item for the end.")
    agent_id: Name | None = Field(None, description="An existing agent that is to do it.")
    conversation_id: Name | None = Field(None, description="An existing conversation that it goes on with.")
    tool_call_id: Name | None = Field(None, description="The same tool call again gets the same subagent.")
    fields: dict[str, Any] = Field({}, description="Other fields of its task: priority, max_cost_usd, …")

    def given(self) -> dict[str, Any]:
        """What the caller said, without what only the route looks at."""
        return {name: value for name, value in self if name != "lease"}


class StartSubagent(SubagentDraft):
    parent: Name = Field(description="The agent whose inbox gets an item for the end.")
    conversation: Name = "default"
    task_id: Name | None = Field(None, description="Minted by the caller, it makes a repeated call harmless.")


class SpawnSubagent(SubagentDraft):
    lease: Lease
    name: Name = Field(description="What this task calls the subagent: the same again is the same one.")
    conversation: Name | None = Field(None, description="Of the holder's inbox; without it, the task's id.")


# Cutovers


class StartCutover(RequestBody):
    days: Annotated[float, Field(ge=0, le=365, description="How long each phase is to last at least.")] = 7
    least: Annotated[int, Field(ge=0, description="How many calls each phase is to have at least.")] = 100


class MoveCutover(RequestBody):
    phase: Literal["dual_write", "shadow", "cutover", "finished"]
    force: bool = Field(False, description="Also where something stands in the way.")


class ReportedDifference(RequestBody):
    call: Name
    old: str = Field(max_length=10_000)
    new: str = Field(max_length=10_000)


class ReportCutover(RequestBody):
    """What a program has counted since its last report."""

    phase: Literal["dual_write", "shadow", "cutover", "finished"]
    calls: int = Field(0, ge=0)
    compared: int = Field(0, ge=0)
    differences: int = Field(0, ge=0)
    latest: list[ReportedDifference] = Field(default_factory=list[ReportedDifference], max_length=20)


# A2A


class PublishType(RequestBody):
    description: Annotated[str, Field(max_length=2000)] = ""
    examples: list[Annotated[str, Field(min_length=1, max_length=1000)]] = Field(default_factory=list[str])
    is_default: bool = False


class SendToTask(RequestBody):
    message_id: Annotated[str, Field(min_length=1, max_length=128, description="The sender's own.")]
    content: Any
    signal: Name | None = None


class SetPush(RequestBody):
    url: Annotated[str, Field(min_length=1, max_length=2000, description="Where to: https:// or http://.")]
    token: Annotated[str, Field(max_length=2000, description="Shown in the header X-A2A-Notification-Token.")] = ""
    scheme: Annotated[str, Field(max_length=100, description="Of the header Authorization: Bearer, ….")] = ""
    credentials: Annotated[str, Field(max_length=2000)] = ""


# Scores


class AddScore(RequestBody):
    """How good a task's result is."""

    task_id: Name
    name: Annotated[str, Field(min_length=1, max_length=100, description="What is judged.")]
    value: float | bool = Field(description="A number; true is 1 and false is 0.")
    note: str = Field("", max_length=2000, description="Why, for people.")


class SetVariants(RequestBody):
    """The variants of a task type, all of them."""

    variants: list[dict[str, Any]] = Field(
        max_length=20,
        description="Each with name, share, model_preferences, fallback_models, prompt and payload, all but the name "
        "optional. An empty list ends it.",
    )


# Notifications


class SetNotifier(RequestBody):
    target: Annotated[
        str,
        Field(
            min_length=1,
            max_length=2000,
            description="Where to: http:// and https:// are signed webhooks, others name a service: slack://, ….",
        ),
    ]
    events: list[Name]
    types: list[Name] = Field(default_factory=list[Name])
    queues: list[Name] = Field(default_factory=list[Name])
    tags: list[Name] = Field(default_factory=list[Name])
    after_sec: Seconds = Field(0, description="What is to be answered is notified of when nobody has for so long.")
    every_sec: Seconds | None = Field(None, description="And again each time that so much has passed.")
    group_sec: Seconds | None = Field(None, description="Notices of one cause within so long are sent together.")
    quiet_hours: Name | None = Field(None, description="When it is left alone, such as 22:00-07:00.")
    time_zone: Name | None = Field(None, description="Whose clocks these hours are on; null: UTC.")
    critical: list[Name] = Field(default_factory=list[Name], description="What it is notified of in quiet hours too.")
    escalate_to: Name | None = Field(None, description="The notifier that is sent when nobody has answered.")
    escalate_after_sec: Seconds | None = Field(None, description="So long after this one.")


# Saved views


class SavedViewDraft(RequestBody):
    """A list as somebody wants to see it again: a page of the dashboard, and what its address asks for."""

    page: Literal["tasks", "dags", "reports", "audit", "events", "board"]
    query: str = Field(max_length=2000, description="As in the address of the page: status=ready&sort=oldest.")
    description: Annotated[str, Field(max_length=1000)] = ""


# Throttles


class LiftThrottle(RequestBody):
    type: Name
    model: Name | None = Field(None, description="Where the throttle is of one model.")


# Audit


class SetAuditPolicy(RequestBody):
    days: float = Field(ge=1, le=36_500, description="How long entries are kept.")


# What goes over the WebSocket


class ShowToken(RequestBody):
    """The first message, from callers that can set no header."""

    token: Annotated[str, Field(max_length=255)]


class Subscribe(RequestBody):
    action: Literal["subscribe"]
    id: Annotated[str, Field(min_length=1, max_length=64, description="The caller's name for it.")]
    after: Annotated[int, Field(ge=0, le=2**53, description="From there on; without it, from now on.")] | None = None
    task_id: Name | None = None
    dag_id: Name | None = None
    type: Name | None = None
    event: Name | None = None
    task_type: Name | None = None
    agent: Name | None = None
    subject: Name | None = None
    view: Literal["multica"] | None = None


class Unsubscribe(RequestBody):
    action: Literal["unsubscribe"]
    id: Annotated[str, Field(min_length=1, max_length=64)]


class Ping(RequestBody):
    action: Literal["ping"]
