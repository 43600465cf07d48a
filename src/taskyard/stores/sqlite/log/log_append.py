"""The events of one transaction, which get their numbers as the rows of their tasks are written.

The row of a task says which numbers of the log have its events, so a number is given before all events of the commit
are known. What is known is how many events each change set has at most: sets are therefore given sections of the log in
their order, and each event is added to the section of its set, whenever that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum, auto
from itertools import repeat
from operator import itemgetter
from typing import NamedTuple

import apsw

from taskyard.core.changes import Event
from taskyard.core.units import Micros
from taskyard.stores.shared.log_rows import Chunk, LogRow, event_number, remember_rows, rows_of
from taskyard.stores.shared.rows import Row
from taskyard.stores.sqlite.statements import SQL

_MOST_EVENTS, _MOST_TEXT = 512, 64_000  # of a chunk; at most what `chunk_events` leaves in one


class LastNumbers(NamedTuple):
    """What the last commit left."""

    number: int  # of the log
    clock: Micros
    task_seq: int


def last_numbers(connection: apsw.Connection) -> LastNumbers:
    """A commit without events leaves its numbers in `meta`: of equal numbers of the log, those are the later ones."""
    number, clock, task_seq, logged, *of_log = connection.execute(SQL["numbers"]).get
    if logged is None or logged <= number:
        return LastNumbers(number, clock, task_seq)
    return LastNumbers(logged, *of_log)


class Part(IntEnum):
    """The order of the events of one change set."""

    CHANGES = auto()
    TASKS = auto()
    UNBLOCKED = auto()
    EVENTS = auto()


class Size(NamedTuple):
    """How many events there are at most, and how long their texts are together."""

    events: int
    text: int


def size_of(events: Iterable[Event]) -> Size:
    lengths = [len(event.data or "") for event in events]
    return Size(len(lengths), sum(lengths))


class Section:
    """Events that share a number of the log, or those of one large set, which take several numbers in turn."""

    def __init__(self, number: int, numbers: int) -> None:
        self.last = number + numbers - 1
        self._is_one_chunk = numbers == 1
        self._number = number
        self._placed: list[tuple[int, Event]] = []
        self._length = 0
        self._reserved = Size(0, 0)
        self.chunks = [(number, self._placed)]

    def reserve(self, size: Size) -> bool:
        """Make room for so many events. False: there is none."""
        events, text = self._reserved.events + size.events, self._reserved.text + size.text
        has_room = self._is_one_chunk and events <= _MOST_EVENTS and text <= _MOST_TEXT
        if has_room:
            self._reserved = Size(events, text)
        return has_room

    def add(self, order: int, event: Event) -> int:
        """Add an event. Answers its number of the log."""
        if not self._is_one_chunk:
            self._go_on(len(event.data or ""))
        self._placed.append((order, event))
        return self._number

    def _go_on(self, length: int) -> None:
        """Begin the next chunk of a large set if the event does not fit into this one. They come in their order."""
        if len(self._placed) == _MOST_EVENTS or (self._placed and self._length + length > _MOST_TEXT):
            self._number += 1
            self._placed, self._length = [], 0
            self.chunks.append((self._number, self._placed))
        self._length += length


class SetPlace(NamedTuple):
    """Where the events of a change set go."""

    section: Section
    order: int  # of the set in the transaction


def add_events(part: Part, places: Iterable[SetPlace], events: Iterable[Event]) -> list[int]:
    """Add each event at the place of its set. Answers their numbers of the log."""
    return [section.add(order + part, event) for (section, order), event in zip(places, events, strict=True)]


class LogAppender:
    def __init__(self, number: int) -> None:
        self.number = number  # the last one that may be given
        self._sections: list[Section] = []
        self._order = 0

    def place_sets(self, sizes: Iterable[Size]) -> list[SetPlace]:
        """Where the events of change sets go, which come one after the other."""
        return [self._place(size) for size in sizes]

    def append(self, events: Sequence[Event]) -> list[int]:
        """Add events after all others. Answers their numbers of the log."""
        if not events:
            return []
        return add_events(Part.CHANGES, repeat(self._place(size_of(events)), len(events)), events)

    def _place(self, size: Size) -> SetPlace:
        self._order += len(Part) + 1
        if not self._sections or not self._sections[-1].reserve(size):
            self._sections.append(self._begin(size))
        return SetPlace(self._sections[-1], self._order)

    def _begin(self, size: Size) -> Section:
        is_one_chunk = size.events <= _MOST_EVENTS and size.text <= _MOST_TEXT
        # Two chunks in a row hold more than the most of one, by number or by text.
        numbers = 1 if is_one_chunk else 2 * (size.events // _MOST_EVENTS + size.text // _MOST_TEXT + 1)
        section = Section(self.number + 1, numbers)
        section.reserve(size)
        self.number = section.last
        return section

    def take_rows(self, clock: Micros, task_seq: int) -> list[Row]:
        """The rows of the events since the last call. Events that follow get another number."""
        sections, self._sections = self._sections, []
        return [
            (first, row.workspace, row.at, clock, task_seq, *row[2:])
            for section in sections
            for number, placed in section.chunks
            if placed
            for first, row in _rows_of(number, placed)
        ]


def _rows_of(number: int, placed: list[tuple[int, Event]]) -> list[tuple[int, LogRow]]:
    """The rows of a chunk, each with the number of its first event: rows of several workspaces share a number."""
    placed.sort(key=_order)
    events = [event for _, event in placed]
    rows = rows_of(events)
    remember_rows(Chunk(events, rows))
    if len(rows) == 1:
        return [(event_number(number, 0), rows[0])]
    places = [event.workspace for event in events]
    return [(event_number(number, places.index(row.workspace)), row) for row in rows]


_order: Callable[[tuple[int, Event]], int] = itemgetter(0)
