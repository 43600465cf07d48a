"""What is answered about inboxes."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.core.json_value import Json
from taskyard.definition.view import CLOSED, FLAT, About, Time, shown
from taskyard.features.inbox.items import Item
from taskyard.features.inbox.rules import Blocked, merged_turn


class EnqueuedItem(NamedTuple):
    """What became of an item: `item` is None where the inbox is full, and then nothing was stored."""

    item: Annotated[Item | None, About("null: the inbox is full, and nothing was stored.")]
    dropped: Annotated[str | None, About("The id of the item that had to make room.")]
    queue_len: int


class ItemBatch(NamedTuple):
    """Items that go out together. They come back unless the batch is consumed in time."""

    batch_id: str
    items: tuple[Item, ...]
    queue_len_after: int

    @shown
    def merged_count(self) -> int:
        return len(self.items)

    @shown
    def turn(self) -> Annotated[Json, About("All of it as one turn: a text, or a list of parts.")]:
        return merged_turn([item.content for item in self.items])


class Dequeued(NamedTuple):
    batch: ItemBatch | None
    blocked: Annotated[Blocked | None, CLOSED, About("The reason, where it is not the one reported last.")] = None


class InboxView(NamedTuple):
    """An inbox as it stands."""

    agent: str
    conversation: str
    queue_len: int
    held: Annotated[int, About("Items in somebody's hands.")]
    blocked: Annotated[Blocked | None, CLOSED]
    used_at: Time | None


class Peeked(NamedTuple):
    SCHEMA = "PeekedInbox"

    inbox: Annotated[InboxView, FLAT]
    items: tuple[Item, ...]  # what waits, in its order
