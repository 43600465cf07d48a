"""What is answered about notifiers and notifications. A target is shown without what may be a secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from taskyard.core.json_value import Json
from taskyard.core.notice import Notice
from taskyard.core.task import DagId, TaskId
from taskyard.definition.view import FLAT, About, Length, Time, view
from taskyard.features.notifications.rules import Notification, Notifier


@view
class NotifierView:
    """Which events go to which target."""

    name: str
    events: tuple[Notice, ...]
    types: tuple[str, ...]
    queues: tuple[str, ...]
    tags: tuple[str, ...]
    target: str  # redacted
    created_at: Time
    created_by: str
    after: Annotated[Length, About("An approval is notified of when nobody has given it for so long.")]
    every: Annotated[Length | None, About("And again each time that so much has passed; null: once.")]


class NotifierMade(NamedTuple):
    """A notifier that was just made. What its webhooks are signed with is shown this once."""

    notifier: Annotated[NotifierView, FLAT]
    secret: Annotated[str | None, About("What webhooks are signed with, shown this once.")]  # None: it is no webhook


class OutboxRun(NamedTuple):
    """What was done outside the store."""

    addressed: int = 0  # rows of the outbox that became notifications
    delivered: int = 0
    cleared: int = 0  # objects that nobody may see


def notifier_view(notifier: Notifier) -> NotifierView:
    return NotifierView(
        name=notifier.name,
        events=notifier.events,
        types=notifier.types,
        queues=notifier.queues,
        tags=notifier.tags,
        target=notifier.shown,
        created_at=notifier.created_at,
        created_by=notifier.created_by,
        after=notifier.after,
        every=notifier.every,
    )


@view
class NotificationView:
    """One thing to tell, for one notifier."""

    id: str
    notifier: str
    event: Notice
    title: str
    text: str
    task_id: TaskId | None
    dag_id: DagId | None
    data: Mapping[str, Json]
    at: Time
    tries: int
    next_at: Time
    error: str | None


def notification_view(notification: Notification) -> NotificationView:
    return NotificationView(
        id=notification.id,
        notifier=notification.notifier,
        event=notification.notice,
        title=notification.title,
        text=notification.text,
        task_id=notification.task_id,
        dag_id=notification.dag_id,
        data=notification.facts,
        at=notification.at,
        tries=notification.tries,
        next_at=notification.next_at,
        error=notification.error,
    )


@view
class CallbackSecret:
    secret: Annotated[str, About("What callbacks are signed with, as other webhooks of the yard.")]
