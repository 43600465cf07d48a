"""Notifiers and notifications: which notices go to which target, when a notification is tried again, and its text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, NotRequired, TypedDict
from urllib.parse import urlsplit

from taskyard.core.changes import Outbox, Record
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.notice import UNDELIVERED, Notice, delivery_delay
from taskyard.core.record_kinds import RecordKind
from taskyard.core.task import DagId, TaskId
from taskyard.core.units import Micros, to_iso

KIND = "notifier"  # of records: which events go where
PARKED = "parked"  # of records: given up, until a person says otherwise
TRIES = 8
UNASKED = frozenset({Notice.TEST, Notice.TASK_ENDED, Notice.TASK_UPDATE})  # what no notifier can be set for
CALLBACK = "callback"  # stands for the notifier of a notification that goes to the callback of its task
_AT_ONCE = Micros(0)


class Subject(NamedTuple):
    """What a notice is about, as far as notifiers choose by it."""

    type: str | None = None
    queue: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifier:
    """Which events go to which target."""

    name: str
    events: tuple[Notice, ...]
    types: tuple[str, ...]  # of these three, nothing said: any
    queues: tuple[str, ...]
    tags: tuple[str, ...]
    target: str = field(repr=False)  # a URL that may well have a secret in it: printed only as `shown`
    nonce: str  # what the signing secret is derived from, besides the yard's own
    created_at: Micros
    created_by: str
    after: Micros = _AT_ONCE  # an approval is notified of when nobody has given it for so long
    every: Micros | None = None  # and again each time that so much has passed; None: once

    @property
    def shown(self) -> str:
        """The target as it may be printed."""
        return redacted(self.target)

    @property
    def is_webhook(self) -> bool:
        return is_webhook(self.target)

    def wants(self, notice: Notice, subject: Subject) -> bool:
        return notice in self.events and (
            (not self.types or subject.type in self.types)
            and (not self.queues or subject.queue in self.queues)
            and (not self.tags or not set(self.tags).isdisjoint(subject.tags))
        )

    def body(self) -> dict[str, Json]:
        return {
            "events": [event.value for event in self.events],
            "types": list[Json](self.types),
            "queues": list[Json](self.queues),
            "tags": list[Json](self.tags),
            "target": self.target,
            "nonce": self.nonce,
            "created_at": self.created_at,
            "created_by": self.created_by,
            "after": self.after,
            "every": self.every,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One thing to tell, for one notifier."""

    id: str
    notifier: str
    notice: Notice
    title: str
    text: str
    task_id: TaskId | None
    dag_id: DagId | None
    facts: Mapping[str, Json]
    at: Micros
    tries: int = 0
    next_at: Micros = _AT_ONCE
    error: str | None = None

    def body(self) -> dict[str, Json]:
        return {
            "notifier": self.notifier,
            "notice": self.notice.value,
            "title": self.title,
            "text": self.text,
            "task_id": self.task_id,
            "dag_id": self.dag_id,
            "facts": dict(self.facts),
            "at": self.at,
            "tries": self.tries,
            "next_at": self.next_at,
            "error": self.error,
        }

    def message(self, workspace: str) -> dict[str, Json]:
        """What a webhook gets."""
        return {
            "id": self.id,
            "type": self.notice.value,
            "at": to_iso(self.at),
            "workspace": workspace,
            "title": self.title,
            "text": self.text,
            "task_id": self.task_id,
            "dag_id": self.dag_id,
            "data": dict(self.facts),
        }


def notice_of(posted: Outbox) -> tuple[Notice, dict[str, Json]]:
    facts: dict[str, Json] = json.loads(posted.data)
    return Notice(str(facts.pop("kind"))), facts


class NotifierBody(TypedDict):
    events: list[str]
    types: list[str]
    queues: list[str]
    tags: list[str]
    target: str
    nonce: str
    created_at: Micros
    created_by: str
    after: NotRequired[Micros]
    every: NotRequired[Micros | None]


class NotificationBody(TypedDict):
    notice: str
    notifier: str
    title: str
    text: str
    task_id: TaskId | None
    dag_id: DagId | None
    facts: dict[str, Json]
    at: Micros
    tries: int
    next_at: Micros
    error: str | None


NOTIFIER = RecordKind(KIND, NotifierBody)
NOTIFICATION = RecordKind(UNDELIVERED, NotificationBody, PARKED)


def notifier_of(record: Record) -> Notifier:
    body = NOTIFIER.of(record)
    return Notifier(
        name=record.id,
        events=tuple(Notice(each) for each in body["events"]),
        types=tuple(body["types"]),
        queues=tuple(body["queues"]),
        tags=tuple(body["tags"]),
        target=body["target"],
        nonce=body["nonce"],
        created_at=body["created_at"],
        created_by=body["created_by"],
        after=body.get("after", _AT_ONCE),
        every=body.get("every"),
    )


def notification_of(record: Record) -> Notification:
    body = NOTIFICATION.of(record)
    return Notification(
        id=record.id,
        notice=Notice(body["notice"]),
        notifier=body["notifier"],
        title=body["title"],
        text=body["text"],
        task_id=body["task_id"],
        dag_id=body["dag_id"],
        facts=body["facts"],
        at=body["at"],
        tries=body["tries"],
        next_at=body["next_at"],
        error=body["error"],
    )


def tried(notification: Notification, now: Micros) -> Notification:
    """About to be sent once more: where nothing more is heard of that, it is tried again at that time."""
    tries = notification.tries + 1
    return replace(notification, tries=tries, next_at=Micros(now + delivery_delay(tries)))


def reminded(notification: Notification, every: Micros, now: Micros) -> Notification:
    """What was delivered, to be delivered again when so much has passed and nobody has answered."""
    return replace(notification, tries=0, error=None, next_at=Micros(now + every))


def with_link(notification: Notification, link: str) -> Notification:
    """What goes out of the yard. The link is stored nowhere: it is made for each try."""
    text = f"{notification.text}\n\nAnswer here: {link}"
    return replace(notification, text=text, facts={**notification.facts, "link": link})


def is_spent(notification: Notification) -> bool:
    """Whether there is no try left."""
    return notification.tries >= TRIES


def events_of(words: Sequence[str], path: str = "events") -> tuple[Notice, ...]:
    known = [notice.value for notice in Notice if notice not in UNASKED]
    if not words or any(word not in known for word in words):
        raise InvalidInput(path, f"must be some of {', '.join(known)}")
    return tuple(dict.fromkeys(Notice(word) for word in words))


def is_webhook(target: str) -> bool:
    return urlsplit(target).scheme in ("http", "https")


def redacted(target: str) -> str:
    """A target without what may be a secret: of a webhook the host stays, of others only what they are."""
    parts = urlsplit(target)
    return f"{parts.scheme}://{_place(target)}***" if is_webhook(target) else f"{parts.scheme}://***"


def _place(target: str) -> str:
    return f"{urlsplit(target).netloc.rpartition('@')[2]}/"


def text_of(notice: Notice, facts: Mapping[str, Json], *, about: str) -> tuple[str, str]:
    """A title and a sentence or two for people. `about` is what they know the matter by."""
    match notice:
        case Notice.DEAD_LETTER:
            poison = " It is a poison pill: several agents failed at it." if facts.get("poison_pill") else ""
            why = f" {facts['error']}" if facts.get("error") else ""
            return f"Dead letter: {about}", f"It is out of attempts ({facts.get('reason')}).{poison}{why}"
        case Notice.BREAKER_OPEN:
            return f"Breaker open: {about}", f"Nothing of this type is handed out for a while: {facts.get('why')}."
        case Notice.BUDGET_GONE:
            return f"Budget gone: {about}", "Tasks wait until there is money again."
        case Notice.APPROVAL_WANTED:
            until = f" until {facts['until']}" if facts.get("until") else ""
            if facts.get("question") is not None:
                return f"Answer wanted: {about}", f"{facts['question']}\n\nIt waits for an answer{until}."
            return f"Approval wanted: {about}", f"It waits for the signal {facts.get('signal')}{until}."
        case Notice.DAG_FAILED:
            return f"DAG failed: {about}", "Nothing in it can proceed, and not all of it ended well."
        case Notice.DAG_COMPLETED:
            return f"DAG completed: {about}", "All of it is done."
        case Notice.TASK_ENDED:
            return f"Ended: {about}", f"It is {facts.get('status')}."
        case Notice.TEST:
            return "Test", "This notifier works."
        case Notice.TASK_UPDATE:
            return f"Task update: {about}", "For the agent that asked for the task over A2A."
