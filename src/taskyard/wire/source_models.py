"""Schedules and triggers in the OpenAPI document: what callers send, and what they get."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from taskyard.api.requests import Request, Seconds
from taskyard.wire.shapes import Response

SourceId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Template = Annotated[
    dict[str, Any] | None,
    Field(description="A task or a DAG as it is put in; in its texts, {{ path.to.value }} is filled in."),
]


class ScheduleDraft(Request):
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


class TriggerDraft(Request):
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
    source: Literal["webhook", "files", "dag", "rule"]
    settings: dict[str, Any] = Field(default={}, description="What it listens to, in the words of its source.")
    only: dict[str, Any] | None = Field(None, description='path -> value, values, or {"exists": true}.')
    task: Template = None
    dag: Template = None
    ready_made: Literal["pull-request-opened", "json"] | None = None
    paused: bool = False
    replace: bool = False


class FireByHand(Request):
    data: dict[str, Any] = Field(description="What the template names.")
    key: str | None = Field(None, max_length=1000, description="The same key fires once.")
    dry_run: bool = False


class Rotate(Request):
    grace_sec: Seconds = Field(0, description="How long the secret before stays good.")


class Fire(Response):
    """A time, or an event, and what it made, or why it made nothing."""

    source: str
    key: str = Field(description="Sorts by time; that of the last one seen gives the next page.")
    outcome: Literal["fired", "skipped", "missed", "failed", "refused"]
    why: str
    at: str
    nominal: str | None = Field(description="Of a schedule: the time that it is about.")
    task_id: str | None
    dag_id: str | None
    chain: int = Field(description="How many fires led to it, one by the work of another.")


class Fires(Response):
    fires: list[Fire]


class Schedule(Response):
    id: str
    when: str
    cron: str | None
    every_sec: float | None
    timezone: str
    gap: str
    overlap: str
    starts_at: str
    ends_at: str | None
    template: dict[str, Any]
    misfire: str
    misfire_window_sec: float
    busy: str
    paused: bool
    created_at: str
    created_by: str
    seen: str = Field(description="The times up to here are decided.")
    next_at: str | None
    last_run: str | None = Field(description="The task or the DAG that the last fire made.")
    next_times: list[str]
    fires: list[Fire] = Field(description="The last ones, latest first; those of one schedule only.")


class Schedules(Response):
    schedules: list[Schedule]


class Watched(Response):
    mean: float | None
    attempts: int
    quiet_until: str | None


class Trigger(Response):
    id: str
    source: str
    settings: dict[str, Any]
    only: dict[str, Any]
    template: dict[str, Any]
    paused: bool
    path: str | None = Field(description="Of a hook: deliveries go to /api/hooks/PATH.")
    created_at: str
    created_by: str
    watched: Watched | None = Field(description="Of a rule: the attempts it has seen since it last fired.")
    passed_over: str | None = Field(description="The last thing that was none of its business, and why.")
    fires: list[Fire] = Field(description="The last ones, latest first; those of one trigger only.")


class Triggers(Response):
    triggers: list[Trigger]


class AddedTrigger(Response):
    trigger: Trigger
    secret: str | None = Field(description="Of a hook: what its deliveries are signed with. Shown this once.")


class Secret(Response):
    secret: str
