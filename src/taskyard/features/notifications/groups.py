"""Groups: notices of one cause, gathered for one notifier until their window is over, and sent in one message.

A group is one record. It is opened by the first notice, counts each row of the outbox once, and is closed by the change
that makes the notification of it: of several processes, one commits that. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import NamedTuple, TypedDict, cast

from taskyard.core.changes import Outbox, Record
from taskyard.core.json_value import Json, compact
from taskyard.core.notice import Notice
from taskyard.core.record_kinds import RecordKind
from taskyard.core.task import DagId, TaskId
from taskyard.core.units import Micros, to_iso
from taskyard.features.notifications.rules import Notification, Notifier, Subject

KIND = "notice_group"  # of records
# An approval is never one of many: each waits for an answer of its own, and may have a link of its own.
GROUPED = frozenset(
    {Notice.DEAD_LETTER, Notice.BREAKER_OPEN, Notice.BUDGET_GONE, Notice.DAG_FAILED, Notice.DAG_COMPLETED}
)
MOST_ROWS = 10_000  # of the outbox that one group remembers; a full one is sent at once
MOST_LISTED = 20  # that a message names
MOST_TASKS = 100  # whose ids go with it


class WordedNotice(NamedTuple):
    """A notice in words, and what it is about."""

    notice: Notice
    title: str
    text: str
    about: str
    subject: Subject
    dag_id: DagId | None
    facts: Mapping[str, Json]

    @property
    def cause(self) -> list[Json]:
        """What notices have in common that are sent together."""
        return [self.notice.value, self.subject.type, self.reason]

    @property
    def reason(self) -> str | None:
        """Why: tasks die of many things, and each of them is a matter of its own."""
        return str(self.facts.get("reason")) if self.notice is Notice.DEAD_LETTER else None


class FirstBody(TypedDict):
    title: str
    text: str
    task_id: TaskId | None
    dag_id: DagId | None
    facts: dict[str, Json]
    at: Micros


class GroupBody(TypedDict):
    notifier: str
    notice: str
    type: str | None
    reason: str | None
    rows: list[int]
    about: list[str]
    tasks: list[TaskId]
    latest: Micros
    closes_at: Micros
    first: FirstBody


GROUP = RecordKind(KIND, GroupBody)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeGroup:
    """What was gathered."""

    notifier: str
    notice: Notice
    type: str | None
    reason: str | None
    rows: tuple[int, ...]  # of the outbox, each counted once
    about: tuple[str, ...]
    tasks: tuple[TaskId, ...]
    latest: Micros
    closes_at: Micros
    first: FirstBody  # what is sent where it stays the only one

    def body(self) -> dict[str, Json]:
        return {
            "notifier": self.notifier,
            "notice": self.notice.value,
            "type": self.type,
            "reason": self.reason,
            "rows": list[Json](self.rows),
            "about": list[Json](self.about),
            "tasks": list[Json](self.tasks),
            "latest": self.latest,
            "closes_at": self.closes_at,
            "first": cast(dict[str, Json], dict(self.first)),
        }


def group_of(record: Record) -> NoticeGroup:
    body = GROUP.of(record)
    return NoticeGroup(
        notifier=body["notifier"],
        notice=Notice(body["notice"]),
        type=body["type"],
        reason=body["reason"],
        rows=tuple(body["rows"]),
        about=tuple(body["about"]),
        tasks=tuple(body["tasks"]),
        latest=body["latest"],
        closes_at=body["closes_at"],
        first=body["first"],
    )


def group_id(notifier: Notifier, worded: WordedNotice) -> str:
    """The same for one cause and notifier in every process: of two that open a group, one is refused."""
    return sha256(compact([notifier.name, notifier.nonce, *worded.cause]).encode()).hexdigest()[:40]


def opened(notifier: Notifier, worded: WordedNotice, row: Outbox, now: Micros) -> NoticeGroup:
    """An empty group; its first notice is still to be added."""
    return NoticeGroup(
        notifier=notifier.name,
        notice=worded.notice,
        type=worded.subject.type,
        reason=worded.reason,
        rows=(),
        about=(),
        tasks=(),
        latest=row.at,
        closes_at=notifier.due_at(worded.notice, Micros(now + (notifier.window or 0))),
        first={
            "title": worded.title,
            "text": worded.text,
            "task_id": row.task_id,
            "dag_id": worded.dag_id,
            "facts": dict(worded.facts),
            "at": row.at,
        },
    )


def joined(group: NoticeGroup, rows: Sequence[tuple[int, Outbox, WordedNotice]], now: Micros) -> NoticeGroup | None:
    """The group with these rows of the outbox; None where it has all of them already."""
    counted = set(group.rows)
    new = [each for each in rows if each[0] not in counted]
    if not new:
        return None
    tasks = (*group.tasks, *(row.task_id for _, row, _ in new if row.task_id is not None))
    whole = replace(
        group,
        rows=(*group.rows, *(number for number, _, _ in new)),
        about=(*group.about, *(worded.about for _, _, worded in new))[:MOST_LISTED],
        tasks=tasks[:MOST_TASKS],
        latest=max(group.latest, *(row.at for _, row, _ in new)),
    )
    return replace(whole, closes_at=now) if len(whole.rows) >= MOST_ROWS else whole


def notification_of_group(group: NoticeGroup, now: Micros) -> Notification:
    """One message for all of it; one notice alone is sent as it would be without a window."""
    first, number = group.first, len(group.rows)
    made = Notification(
        id=f"{min(group.rows):020}-{group.notifier}",
        notifier=group.notifier,
        notice=group.notice,
        title=first["title"],
        text=first["text"],
        task_id=first["task_id"],
        dag_id=first["dag_id"],
        facts=first["facts"],
        at=first["at"],
        next_at=now,
    )
    if number == 1:
        return made
    shown = [f"- {each}" for each in group.about]
    more = [f"- and {number - len(shown)} more"] if number > len(shown) else []
    facts: dict[str, Json] = {
        "count": number,
        "type": group.type,
        "reason": group.reason,
        "tasks": list[Json](group.tasks),
        "first_at": to_iso(first["at"]),
        "latest_at": to_iso(group.latest),
    }
    text = f"From {to_iso(first['at'])[:19]}Z to {to_iso(group.latest)[:19]}Z:\n" + "\n".join([*shown, *more])
    title = _title(group, number)
    return replace(made, title=title, text=text, task_id=None, dag_id=None, facts=facts)


def _title(group: NoticeGroup, number: int) -> str:
    match group.notice:
        case Notice.DEAD_LETTER:
            return f"{number} tasks of {group.type} died: {group.reason}"
        case Notice.BREAKER_OPEN:
            return f"Breaker open, {number} times: {group.type}"
        case Notice.BUDGET_GONE:
            return f"Budget gone, {number} times"
        case Notice.DAG_FAILED:
            return f"{number} DAGs failed"
        case _:
            return f"{number} DAGs completed"
