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
    after: Annotated[Length, About("What is to be answered is notified of when nobody has for so long.")]
    every: Annotated[Length | None, About("And again each time that so much has passed; null: once.")]
    group: Annotated[Length | None, About("Notices of one cause are sent together after so long; null: one by one.")]
    quiet_hours: Annotated[str | None, About("When it is left alone, such as 22:00-07:00; null: never.")]
    time_zone: Annotated[str | None, About("Whose clocks these hours are on.")]
    critical: Annotated[tuple[Notice, ...], About("What it is notified of in quiet hours too.")]
    escalate_to: Annotated[str | None, About("The notifier that is sent when nobody has answered.")]
    escalate_after: Annotated[Length | None, About("So long after this one.")]


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
        group=notifier.window,
        quiet_hours=None if notifier.quiet is None else notifier.quiet.text,
        time_zone=None if notifier.quiet is None else notifier.quiet.zone,
        critical=notifier.critical,
        escalate_to=notifier.escalate_to,
        escalate_after=None if notifier.escalate_to is None else notifier.escalate_after,
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
    unanswered: Annotated[bool, About("It is sent only while nobody has answered.")]


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
        unanswered=notification.unanswered,
    )


@view
class CallbackSecret:
    secret: Annotated[str, About("What callbacks are signed with, as other webhooks of the yard.")]
