"""Artifacts and notifications as the OpenAPI document shows them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from taskyard.api.requests import Name, Request
from taskyard.wire.shapes import Response


class Artifact(Response):
    id: str
    ref: str
    name: str
    size: int
    sha256: str
    media_type: str
    task_id: str | None
    attempt: int | None
    created_at: str
    created_by: str


class Artifacts(Response):
    artifacts: list[Artifact]


class SetNotifier(Request):
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


class Notifier(Response):
    """Who is told of what. The target is shown without what may be a secret."""

    name: str
    events: list[str]
    types: list[str]
    queues: list[str]
    tags: list[str]
    target: str
    created_at: str
    created_by: str


class NotifierMade(Notifier):
    secret: str | None = Field(description="What webhooks are signed with, shown this once.")


class Notifiers(Response):
    notifiers: list[Notifier]


class Notification(Response):
    id: str
    notifier: str
    event: str
    title: str
    text: str
    task_id: str | None
    dag_id: str | None
    data: dict[str, Any]
    at: str
    tries: int
    next_at: str
    error: str | None


class Notifications(Response):
    notifications: list[Notification]
