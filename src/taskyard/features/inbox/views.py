"""What an inbox answers with, as the documents that cross HTTP, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from taskyard.core.json_value import Json
from taskyard.core.units import Micros, from_iso, to_iso
from taskyard.features.inbox.items import Item, Source
from taskyard.features.inbox.rules import Blocked, Kind, Scope, merged_turn

Document = dict[str, Json]
Given = Mapping[str, Any]


class Enqueued(NamedTuple):
    """What became of an item: `item` is None where the inbox is full, and then nothing was stored."""

    item: Item | None
    dropped: str | None  # the id of the item that made room
    queue_len: int


class Batch(NamedTuple):
    """Items that go out together. They come back unless the batch is consumed in time."""

    batch_id: str
    items: tuple[Item, ...]
    queue_len_after: int

    @property
    def merged_count(self) -> int:
        return len(self.items)

    @property
    def turn(self) -> Json:
        """All of it as one turn: a text, or a list of parts."""
        return merged_turn([item.content for item in self.items])


class Dequeued(NamedTuple):
    batch: Batch | None
    blocked: Blocked | None = None  # the reason, where it is news


class InboxView(NamedTuple):
    """An inbox as it stands."""

    agent: str
    conversation: str
    queue_len: int
    held: int  # items in somebody's hands
    blocked: Blocked | None
    used_at: Micros | None


class Peeked(NamedTuple):
    inbox: InboxView
    items: tuple[Item, ...]  # what waits, in its order


# As documents


def item(found: Item) -> Document:
    return {
        **found.body(),
        "scope": {"agent": found.scope.agent, "conversation": found.scope.conversation},
        "at": to_iso(found.at),
    }


def enqueued(answer: Enqueued) -> Document:
    kept = None if answer.item is None else item(answer.item)
    return {"item": kept, "dropped": answer.dropped, "queue_len": answer.queue_len}


def batch(found: Batch) -> Document:
    return {
        "batch_id": found.batch_id,
        "items": [item(each) for each in found.items],
        "merged_count": found.merged_count,
        "queue_len_after": found.queue_len_after,
        "turn": found.turn,
    }


def dequeued(answer: Dequeued) -> Document:
    return {
        "batch": None if answer.batch is None else batch(answer.batch),
        "blocked": None if answer.blocked is None else answer.blocked.value,
    }


def inbox(view: InboxView) -> Document:
    return {
        "agent": view.agent,
        "conversation": view.conversation,
        "queue_len": view.queue_len,
        "held": view.held,
        "blocked": None if view.blocked is None else view.blocked.value,
        "used_at": None if view.used_at is None else to_iso(view.used_at),
    }


def peeked(answer: Peeked) -> Document:
    return {**inbox(answer.inbox), "items": [item(each) for each in answer.items]}


# And back


def item_from(document: Given) -> Item:
    return Item(
        id=document["id"],
        kind=Kind(document["kind"]),
        scope=Scope(**document["scope"]),
        content=document["content"],
        source=Source(document["source"]),
        sent_by=document["sent_by"],
        at=from_iso(document["at"]),
        client_message_id=document["client_message_id"],
        about=document["about"],
    )


def enqueued_from(document: Given) -> Enqueued:
    kept = None if document["item"] is None else item_from(document["item"])
    return Enqueued(kept, document["dropped"], document["queue_len"])


def dequeued_from(document: Given) -> Dequeued:
    found = document["batch"]
    blocked = None if document["blocked"] is None else Blocked(document["blocked"])
    if found is None:
        return Dequeued(None, blocked)
    items = tuple(item_from(each) for each in found["items"])
    return Dequeued(Batch(found["batch_id"], items, found["queue_len_after"]), blocked)


def inbox_from(document: Given) -> InboxView:
    return InboxView(
        agent=document["agent"],
        conversation=document["conversation"],
        queue_len=document["queue_len"],
        held=document["held"],
        blocked=None if document["blocked"] is None else Blocked(document["blocked"]),
        used_at=None if document["used_at"] is None else from_iso(document["used_at"]),
    )


def peeked_from(document: Given) -> Peeked:
    return Peeked(inbox_from(document), tuple(item_from(each) for each in document["items"]))
