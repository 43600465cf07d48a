"""Notifiers and notifications: which notices go to which target, when a notification is tried again, and its text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, NotRequired, TypedDict
from urllib.parse import urlsplit

from taskyard.core.changes import Outbox, Record
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.notice import UNDELIVERED, Notice, delivery_delay
from taskyard.core.record_kinds import RecordKind
from taskyard.core.task import DagId, TaskId
from taskyard.core.units import Micros, to_iso
from taskyard.features.notifications.quiet_hours import QuietHours

KIND = "notifier"  # of records: which events go where
PARKED = "parked"  # of records: given up, until a person says otherwise
TRIES = 8
UNASKED = frozenset({Notice.TEST, Notice.TASK_ENDED, Notice.TASK_UPDATE})  # what no notifier can be set for
# What somebody is to answer: it may be sent late, again, or to the next notifier, while nobody has.
ANSWERED = frozenset({Notice.APPROVAL_WANTED, Notice.DEAD_LETTER})
MOST_IN_CHAIN = 10  # notifiers that come one after the other
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
    after: Micros = _AT_ONCE  # what is to be answered is notified of when nobody has answered for so long
    every: Micros | None = None  # and again each time that so much has passed; None: once
    window: Micros | None = None  # notices of one cause are gathered for so long, and sent together; None: one by one
    quiet: QuietHours | None = None  # when it is left alone
    critical: tuple[Notice, ...] = ()  # what it is notified of in quiet hours too
    escalate_to: str | None = None  # the notifier that is sent when nobody has answered
    escalate_after: Micros = _AT_ONCE  # so long after this one

    @property
    def shown(self) -> str:
        """The target as it may be printed."""
        return redacted(self.target)

    @property
    def is_webhook(self) -> bool:
        return is_webhook(self.target)

    def due_at(self, notice: Notice, at: Micros) -> Micros:
        """When it may be notified of something that is due: then, or when its quiet hours are over."""
        return at if self.quiet is None or notice in self.critical else self.quiet.over_at(at)

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
            "window": self.window,
            "quiet": None if self.quiet is None else list[Json](self.quiet),
            "critical": [event.value for event in self.critical],
            "escalate_to": self.escalate_to,
            "escalate_after": self.escalate_after,
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
    unanswered: bool = False  # it is sent only while nobody has answered
    reminder: int = 0  # how often it was delivered before

    @property
    def sent_id(self) -> str:
        """What receivers know it by. They take the same one once, so that a reminder has one of its own."""
        return self.id if self.reminder == 0 else f"{self.id}~{self.reminder}"

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
            "unanswered": self.unanswered,
            "reminder": self.reminder,
        }

    def message(self, workspace: str) -> dict[str, Json]:
        """What a webhook gets."""
        return {
            "id": self.sent_id,
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
    window: NotRequired[Micros | None]
    quiet: NotRequired[list[Any] | None]  # the fields of `QuietHours`
    critical: NotRequired[list[str]]
    escalate_to: NotRequired[str | None]
    escalate_after: NotRequired[Micros]


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
    unanswered: NotRequired[bool]
    reminder: NotRequired[int]


NOTIFIER = RecordKind(KIND, NotifierBody)
NOTIFICATION = RecordKind(UNDELIVERED, NotificationBody, PARKED)


def notifier_of(record: Record) -> Notifier:
    body = NOTIFIER.of(record)
    quiet = body.get("quiet")
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
        window=body.get("window"),
        quiet=None if quiet is None else QuietHours(*quiet),
        critical=tuple(Notice(each) for each in body.get("critical", ())),
        escalate_to=body.get("escalate_to"),
        escalate_after=body.get("escalate_after", _AT_ONCE),
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
        unanswered=body.get("unanswered", False),
        reminder=body.get("reminder", 0),
    )


def tried(notification: Notification, now: Micros) -> Notification:
    """About to be sent once more: where nothing more is heard of that, it is tried again at that time."""
    tries = notification.tries + 1
    return replace(notification, tries=tries, next_at=Micros(now + delivery_delay(tries)))


def reminded(notification: Notification, every: Micros, now: Micros) -> Notification:
    """What was delivered, to be delivered again when so much has passed and nobody has answered."""
    return replace(
        notification,
        tries=0,
        error=None,
        next_at=Micros(now + every),
        unanswered=True,
        reminder=notification.reminder + 1,
    )


def chain(notification: Notification, notifiers: Mapping[str, Notifier]) -> list[tuple[Notifier, Micros]]:
    """Those who are sent after this one while nobody answers, each with how long after it. Nobody comes twice."""
    found: list[tuple[Notifier, Micros]] = []
    passed, after, here = {notification.notifier}, _AT_ONCE, notifiers.get(notification.notifier)
    while (
        notification.notice in ANSWERED
        and here is not None
        and here.escalate_to is not None
        and len(found) < MOST_IN_CHAIN
    ):
        after = Micros(after + here.escalate_after)
        here = notifiers.get(here.escalate_to)
        if here is None or here.name in passed:
            break
        passed.add(here.name)
        found.append((here, after))
    return found


def escalated(notification: Notification, notifier: Notifier, after: Micros) -> Notification:
    """The same for the next notifier, where nobody has answered so long after it was due."""
    return replace(
        notification,
        id=f"{notification.id.partition('-')[0]}-{notifier.name}",
        notifier=notifier.name,
        title=f"Nobody has answered: {notification.title}",
        facts={**notification.facts, "escalated_from": notification.notifier},
        next_at=notifier.due_at(notification.notice, Micros(notification.next_at + after)),
        unanswered=True,
    )


def tasks_of(notification: Notification) -> list[TaskId]:
    """The tasks that a notification is about: one, or those of a group as far as they are named."""
    if notification.task_id is not None:
        return [notification.task_id]
    named = notification.facts.get("tasks")
    return [TaskId(str(each)) for each in named] if isinstance(named, list) else []


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
    # Not by `urlsplit`, which raises on what is no URL at all: whether the rest of it is one is checked next.
    return target.partition(":")[0].lower() in ("http", "https")


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
