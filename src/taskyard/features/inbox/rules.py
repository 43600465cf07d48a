"""The rules of an inbox: what waits, what goes out together, what is dropped, and what comes back.

An inbox belongs to one conversation of one agent. What is taken out of it is in somebody's hands until it is consumed,
and comes back when that takes too long. Nothing here knows what a message says, or where it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from itertools import takewhile
from typing import NamedTuple, TypedDict

from taskyard.core.json_value import Json, compact
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import Micros

SOFT_LIMIT = 100  # waiting, from which on the oldest that coalesces makes room for the next
HARD_LIMIT = 300  # waiting and in somebody's hands, from which on nothing more is taken
REMEMBERED = 100  # ids of what has left, so that a call whose answer was lost can be made again
MOST_BYTES = 64 * 1024  # of what one item says; bigger things are artifacts


class Kind(StrEnum):
    MESSAGE = "message"
    TASK_NOTIFICATION = "task_notification"
    APPROVAL_RESULT = "approval_result"
    OVERLAY_ACTION = "overlay_action"

    @property
    def coalesces(self) -> bool:
        """Whether it goes out with its neighbours. What does not is a barrier, and goes out alone."""
        return self in _COALESCING


_COALESCING = frozenset({Kind.MESSAGE, Kind.TASK_NOTIFICATION})


class Blocked(StrEnum):
    """Why a consumer takes nothing now."""

    STREAMING = "streaming"
    PENDING_APPROVALS = "pending_approvals"
    OVERLAY_OPEN = "overlay_open"
    COMMAND_RUNNING = "command_running"
    INTERRUPT_IN_PROGRESS = "interrupt_in_progress"
    RUNTIME_BUSY = "runtime_busy"


class Scope(NamedTuple):
    """Whose conversation something is for."""

    agent: str
    conversation: str

    @property
    def id(self) -> str:
        """One text for both, short enough for the index of any store, whatever they are called."""
        return sha256(compact(list(self)).encode()).hexdigest()[:32]


class Entry(NamedTuple):
    """An item, as far as the rules look at it."""

    id: str
    kind: Kind
    scope: Scope


class TakenBatch(NamedTuple):
    """A batch in somebody's hands."""

    id: str
    until: Micros  # not consumed by then, it comes back
    entries: tuple[Entry, ...]


class Box(NamedTuple):
    waiting: tuple[Entry, ...] = ()
    taken: tuple[TakenBatch, ...] = ()
    blocked: Blocked | None = None  # the reason that was reported last, while it lasts
    gone: tuple[str, ...] = ()  # items and batches that have left, latest last

    @property
    def length(self) -> int:
        """How many items are kept."""
        return len(self.waiting) + sum(len(batch.entries) for batch in self.taken)


class Put(NamedTuple):
    box: Box
    accepted: bool
    dropped: Entry | None = None  # what made room


class Took(NamedTuple):
    box: Box
    entries: tuple[Entry, ...]


def put(box: Box, entry: Entry) -> Put:
    """Add an item at the end. At the hard limit it is refused; at the soft limit the oldest that coalesces goes.

    A barrier makes nothing go: it is one of few, and a message that waits may be what it is about.
    """
    if box.length >= HARD_LIMIT:
        return Put(box, accepted=False)
    dropped = None
    if len(box.waiting) >= SOFT_LIMIT and entry.kind.coalesces:
        dropped = next((each for each in box.waiting if each.kind.coalesces), None)
    kept = tuple(each for each in box.waiting if each is not dropped)
    after = box._replace(waiting=(*kept, entry))
    return Put(after if dropped is None else _gone(after, [dropped.id]), accepted=True, dropped=dropped)


def has_room(box: Box) -> bool:
    """Whether one more can be added without anything else having to go."""
    return len(box.waiting) < SOFT_LIMIT and box.length < HARD_LIMIT


def take(box: Box, batch_id: str, until: Micros) -> Took:
    """Hand out what comes first: a barrier alone, or all up to the next barrier or change of scope."""
    entries = _first_batch(box.waiting)
    free = box._replace(blocked=None)
    if not entries:
        return Took(free, ())
    taken = (*box.taken, TakenBatch(batch_id, until, entries))
    return Took(free._replace(waiting=box.waiting[len(entries) :], taken=taken), entries)


def block(box: Box, reason: Blocked) -> Box:
    """Nothing is taken. The reason is reported where something waits and it is not the one reported last."""
    return box._replace(blocked=reason) if box.waiting else box


def consume(box: Box, batch_id: str) -> Box:
    """A batch was dealt with, and never comes back."""
    mine = [batch for batch in box.taken if batch.id == batch_id]
    ids = [entry.id for batch in mine for entry in batch.entries]
    rest = tuple(batch for batch in box.taken if batch.id != batch_id)
    return _gone(box._replace(taken=rest), [*ids, batch_id])


def clear(box: Box) -> Box:
    """Nothing is left, neither waiting nor in anybody's hands."""
    ids = [entry.id for entry in kept(box)]
    return _gone(Box(gone=box.gone), [*ids, *(batch.id for batch in box.taken)])


def come_back(box: Box, now: Micros) -> Box:
    """What was not consumed in time is first again, in the order in which it was taken."""
    late = [batch for batch in box.taken if batch.until <= now]
    if not late:
        return box
    returned = tuple(entry for batch in late for entry in batch.entries)
    rest = tuple(batch for batch in box.taken if batch.until > now)
    return box._replace(waiting=returned + box.waiting, taken=rest)


def kept(box: Box) -> tuple[Entry, ...]:
    """Every item there is, those in somebody's hands first."""
    return (*(entry for batch in box.taken for entry in batch.entries), *box.waiting)


def knows(box: Box, item_id: str) -> bool:
    """Whether this very item has been put in before."""
    return item_id in box.gone or any(entry.id == item_id for entry in kept(box))


def merged_turn(contents: Sequence[Json]) -> Json:
    """A batch as one turn: a text where every item is one, else a list of parts, with a line between two items."""
    texts = [content for content in contents if isinstance(content, str)]
    if len(texts) == len(contents):
        return "\n".join(texts)
    turn: list[Json] = []
    for content in contents:
        turn += [_part("\n")] if turn else []
        turn += _parts(content)
    return turn


def _parts(content: Json) -> list[Json]:
    """What an item says, as parts of a turn: what is no text and no list of parts is quoted as JSON."""
    if isinstance(content, list):
        return content
    return [_part(content if isinstance(content, str) else compact(content))]


def _part(text: str) -> Json:
    return {"type": "text", "text": text}


def _first_batch(waiting: tuple[Entry, ...]) -> tuple[Entry, ...]:
    if not waiting or not waiting[0].kind.coalesces:
        return waiting[:1]
    scope = waiting[0].scope
    return tuple(takewhile(lambda entry: entry.kind.coalesces and entry.scope == scope, waiting))


def _gone(box: Box, ids: Sequence[str]) -> Box:
    return box._replace(gone=(*box.gone, *ids)[-REMEMBERED:])


# How a box is kept


def body(box: Box, whose: Scope, used_at: Micros) -> dict[str, Json]:
    return {
        "agent": whose.agent,
        "conversation": whose.conversation,
        "waiting": _entries(box.waiting),
        "taken": [[batch.id, batch.until, _entries(batch.entries)] for batch in box.taken],
        "blocked": None if box.blocked is None else box.blocked.value,
        "gone": list[Json](box.gone),
        "used_at": used_at,
    }


EntryBody = tuple[str, str, str, str]  # its item's id and kind, and its scope


class InboxBody(TypedDict):
    agent: str
    conversation: str
    waiting: list[EntryBody]
    taken: list[tuple[str, Micros, list[EntryBody]]]
    blocked: str | None
    gone: list[str]
    used_at: Micros


INBOX = RecordKind("inbox", InboxBody)


def box_of(stored: Mapping[str, Json]) -> Box:
    body = INBOX.body(stored)
    return Box(
        waiting=_read(body["waiting"]),
        taken=tuple(TakenBatch(batch, until, _read(entries)) for batch, until, entries in body["taken"]),
        blocked=None if body["blocked"] is None else Blocked(body["blocked"]),
        gone=tuple(body["gone"]),
    )


def _entries(entries: Sequence[Entry]) -> list[Json]:
    return [[entry.id, entry.kind.value, *entry.scope] for entry in entries]


def _read(rows: Sequence[EntryBody]) -> tuple[Entry, ...]:
    return tuple(Entry(item, Kind(kind), Scope(agent, conversation)) for item, kind, agent, conversation in rows)
