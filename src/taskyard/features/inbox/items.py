"""What the yard itself puts into inboxes: how subagents ended, and what becomes of a graph.

An item of the yard is stored by the very change that it is about, beside the inbox and not in it: it conflicts with
nobody who uses the inbox at that moment, and the next use takes it in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, NamedTuple, TypedDict

from taskyard.core.cached_tokens import CachedTokens
from taskyard.core.changes import Change, Event, Record, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact, is_mapping, is_sequence
from taskyard.core.record_kinds import DAG, SUBAGENT, RecordKind
from taskyard.core.task import Attempt, Status
from taskyard.core.units import Micros, MicroUsd, to_usd
from taskyard.definition import fields
from taskyard.definition.fields import LATEST
from taskyard.definition.view import CLOSED, About, Time
from taskyard.features.inbox.rules import Entry, Kind, Scope

MOST_RESULT = 16 * 1024  # characters of an output that a notification repeats
BY_THE_YARD = "yard"


class ItemSource(StrEnum):
    """Where an item came from."""

    USER = "user"
    SYSTEM = "system"
    HOOK = "hook"


class InboxTopic(StrEnum):
    """What the inbox of a graph can get items about."""

    ENDED = "ended"  # the graph itself: completed, failed or cancelled
    COMPLETED = "completed"
    DEAD_LETTERED = "dead_lettered"
    CANCELLED = "cancelled"
    ESCALATED = "escalated"


DEFAULT_TOPICS = (InboxTopic.ENDED, InboxTopic.DEAD_LETTERED, InboxTopic.ESCALATED)
_TOPIC_OF = {
    Status.COMPLETED: InboxTopic.COMPLETED,
    Status.DEAD_LETTERED: InboxTopic.DEAD_LETTERED,
    Status.CANCELLED: InboxTopic.CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something for a conversation."""

    id: str
    kind: Annotated[Kind, CLOSED]
    scope: Scope
    content: Json
    source: Annotated[ItemSource, CLOSED]
    sent_by: str
    at: Time
    client_message_id: str | None = None
    about: Annotated[str | None, About("The task or DAG that it tells of.")] = None

    @property
    def entry(self) -> Entry:
        return Entry(self.id, self.kind, self.scope)

    def body(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "kind": self.kind.value,
            "scope": list[Json](self.scope),
            "content": self.content,
            "source": self.source.value,
            "sent_by": self.sent_by,
            "at": self.at,
            "client_message_id": self.client_message_id,
            "about": self.about,
        }


class ItemBody(TypedDict):
    id: str
    kind: str
    scope: tuple[str, str]
    content: Json
    source: str
    sent_by: str
    at: Micros
    client_message_id: str | None
    about: str | None


class PostedBody(TypedDict):
    item: ItemBody


ITEM = RecordKind("inbox_item", ItemBody)
POSTED = RecordKind("inbox_letter", PostedBody)


def item_of(body: ItemBody) -> Item:
    return Item(
        id=body["id"],
        kind=Kind(body["kind"]),
        scope=Scope(*body["scope"]),
        content=body["content"],
        source=ItemSource(body["source"]),
        sent_by=body["sent_by"],
        at=body["at"],
        client_message_id=body["client_message_id"],
        about=body["about"],
    )


class Posted(NamedTuple):
    """An item for an inbox, and the event that says so."""

    record: RecordChange
    event: Event


class TaskEnd(NamedTuple):
    """How a task ended, in what its notification repeats."""

    result: str | None  # the output, as JSON text
    error: str | None


class Audience(NamedTuple):
    """The inbox that hears of a graph, and of what it hears."""

    whose: Scope
    topics: frozenset[InboxTopic]


def topic_of(change: Change) -> InboxTopic | None:
    """The topic of a step of a task, if it has one."""
    if change.event.event == "task.escalated":
        return InboxTopic.ESCALATED
    return None if change.before.status is change.after.status else _TOPIC_OF.get(change.after.status)


def of_subagent(record: Record, change: Change, ended: TaskEnd, attempts: Sequence[Attempt]) -> Posted | None:
    """The one notification of a subagent's end, with what all attempts together have used; None for a silent one."""
    facts, after = SUBAGENT.of(record), change.after
    if facts["silent"]:
        return None
    status = "failed" if after.status is Status.DEAD_LETTERED else after.status.value
    verb = "was cancelled" if after.status is Status.CANCELLED else status
    content: dict[str, Json] = {
        "task_id": after.id,
        "subagent_id": facts["subagent_id"],
        "tool_call_id": facts["tool_call_id"],
        "status": status,
        "summary": f'Agent "{facts["description"]}" {verb}',
        **_end_facts(ended),
        "usage": usage_of(attempts),
        "output_file": facts["output_file"],
    }
    whose = Scope(facts["parent"], facts["conversation"])
    return _post_about(change, whose, "subagent", content)


def usage_of(attempts: Sequence[Attempt]) -> dict[str, Json]:
    read, written = sum(each.tokens_in for each in attempts), sum(each.tokens_out for each in attempts)
    cached = CachedTokens.of(*(each.tokens_cached for each in attempts))
    return {
        "attempts": len(attempts),
        "cost_usd": to_usd(MicroUsd(sum(each.cost for each in attempts))),
        "tokens_used": {"input": read, "output": written, "cache_read": cached.read, "cache_write": cached.written},
        "total_tokens": read + written,
    }


def of_task(dag: Record, change: Change, type_: str, title: str, ended: TaskEnd) -> Posted | None:
    """The item about a task for the inbox of its graph, where that asks for it."""
    audience, topic, after = audience_of(dag.body), topic_of(change), change.after
    if audience is None or topic is None or topic not in audience.topics:
        return None
    content: dict[str, Json] = {
        "dag_id": dag.id,
        "task_id": after.id,
        "type": type_,
        "title": title,
        "news": topic.value,
        **_end_facts(ended),
    }
    return _post_about(change, audience.whose, topic.value, content)


def of_dag(dag: Record, status: str, now: Micros) -> Posted | None:
    """The item about a graph's end for its inbox."""
    audience = audience_of(dag.body)
    if audience is None or InboxTopic.ENDED not in audience.topics:
        return None
    content: dict[str, Json] = {
        "dag_id": dag.id,
        "title": dag.body["title"],
        "news": InboxTopic.ENDED.value,
        "status": status,
    }
    whose, word = audience.whose, InboxTopic.ENDED.value
    return post(dag.workspace, whose, about=dag.id, version=dag.version, word=word, content=content, at=now)


def audience_of(dag: Mapping[str, Json]) -> Audience | None:
    named = DAG.body(dag).get("inbox")
    if named is None:
        return None
    return Audience(Scope(named["agent"], named["conversation"]), frozenset(map(InboxTopic, named["about"])))


def audience_given(value: object) -> Json:
    """The inbox that a submitted graph names, as it is stored; None: it names none."""
    if value is None:
        return None
    if not is_mapping(value):
        raise InvalidInput("inbox", "must be an object with agent, conversation and, if wanted, about")
    if unknown := [name for name in value if name not in ("agent", "conversation", "about")]:
        raise InvalidInput("inbox", f"has {len(unknown)} unknown fields; those are agent, conversation and about")
    whose = {name: fields.name(value.get(name), f"inbox.{name}") for name in ("agent", "conversation")}
    about = value.get("about", DEFAULT_TOPICS)
    words = about if is_sequence(about) else ()
    wanted = [each.value for each in InboxTopic if each in words]
    if not wanted or any(word not in tuple(InboxTopic) for word in words):
        raise InvalidInput("inbox.about", f"must be a list of {', '.join(InboxTopic)}")
    return {**whose, "about": list[Json](wanted)}


def post(workspace: str, whose: Scope, *, about: str, version: int, word: str, content: Json, at: Micros) -> Posted:
    """A record for an inbox. The oldest has the highest id, since that is the order in which pages are read."""
    item_id = f"{about}.{version}.{word}"
    place = f"{LATEST - at:016d}{about}{LATEST - version:016d}"
    item = Item(
        id=item_id,
        kind=Kind.TASK_NOTIFICATION,
        scope=whose,
        content=content,
        source=ItemSource.SYSTEM,
        sent_by=BY_THE_YARD,
        at=at,
        about=about,
    )
    body: dict[str, Json] = {"agent": whose.agent, "conversation": whose.conversation, "item": item.body()}
    record = RecordChange("inbox_letter", workspace, f"{whose.id}{place}{word}", 0, body)
    return Posted(record, inbox_event("enqueued", workspace, whose, at, item=item.id, kind=item.kind.value))


def _post_about(change: Change, whose: Scope, word: str, content: Json) -> Posted:
    after, at = change.after, change.event.at
    return post(after.workspace, whose, about=after.id, version=after.version, word=word, content=content, at=at)


def inbox_event(word: str, workspace: str, whose: Scope, at: Micros, **facts: Json) -> Event:
    """What happened to an inbox. It belongs to no task and no graph, so that their readers are left alone."""
    data = compact({"agent": whose.agent, "conversation": whose.conversation, **facts})
    return Event(f"inbox.{word}", workspace, None, None, at, None, None, None, data)


def _end_facts(ended: TaskEnd) -> dict[str, Json]:
    """The output or the error, cut where it is long: the transcript has the whole of it."""
    if ended.result is None:
        return {"error": None if ended.error is None else ended.error[:MOST_RESULT]}
    is_long = len(ended.result) > MOST_RESULT
    return {"result": f"{ended.result[:MOST_RESULT]}…" if is_long else json.loads(ended.result)}
