"""Who is told of what, as the yard answers and as it crosses HTTP. A target is shown without what may be a secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from taskyard.core.json_value import Json
from taskyard.core.notice import Notice
from taskyard.core.units import Micros, from_iso, to_iso
from taskyard.features.notifications.rules import Notification, Notifier

_LISTS = ("types", "queues", "tags")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierView:
    """Which events go to which target."""

    name: str
    events: tuple[Notice, ...]
    types: tuple[str, ...]
    queues: tuple[str, ...]
    tags: tuple[str, ...]
    target: str  # redacted
    created_at: Micros
    created_by: str


class NotifierMade(NamedTuple):
    """A notifier that was just made. What its webhooks are signed with is shown this once."""

    notifier: NotifierView
    secret: str | None  # None: it is no webhook


class ErrandsRun(NamedTuple):
    """What was done outside the store."""

    addressed: int = 0  # rows of the outbox that became notifications
    delivered: int = 0
    cleared: int = 0  # objects that nobody may see


def view(notifier: Notifier) -> NotifierView:
    return NotifierView(
        name=notifier.name,
        events=notifier.events,
        types=notifier.types,
        queues=notifier.queues,
        tags=notifier.tags,
        target=notifier.shown,
        created_at=notifier.created_at,
        created_by=notifier.created_by,
    )


def notifier(answer: NotifierView) -> dict[str, Json]:
    return {
        "name": answer.name,
        "events": [event.value for event in answer.events],
        "types": list[Json](answer.types),
        "queues": list[Json](answer.queues),
        "tags": list[Json](answer.tags),
        "target": answer.target,
        "created_at": to_iso(answer.created_at),
        "created_by": answer.created_by,
    }


def notifier_of(document: dict[str, Any]) -> NotifierView:
    return NotifierView(
        name=document["name"],
        events=tuple(Notice(event) for event in document["events"]),
        **{name: tuple(document[name]) for name in _LISTS},
        target=document["target"],
        created_at=from_iso(document["created_at"]),
        created_by=document["created_by"],
    )


def notification(answer: Notification) -> dict[str, Json]:
    return {
        "id": answer.id,
        "notifier": answer.notifier,
        "event": answer.notice.value,
        "title": answer.title,
        "text": answer.text,
        "task_id": answer.task_id,
        "dag_id": answer.dag_id,
        "data": dict(answer.facts),
        "at": to_iso(answer.at),
        "tries": answer.tries,
        "next_at": to_iso(answer.next_at),
        "error": answer.error,
    }


def notification_of(document: dict[str, Any]) -> Notification:
    same = ("id", "notifier", "title", "text", "task_id", "dag_id", "tries", "error")
    return Notification(
        **{name: document[name] for name in same},
        notice=Notice(document["event"]),
        facts=document["data"],
        at=from_iso(document["at"]),
        next_at=from_iso(document["next_at"]),
    )
