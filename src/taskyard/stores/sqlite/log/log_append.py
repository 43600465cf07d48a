"""The events of one transaction, which get their numbers as the rows of their tasks are written.

The row of a task says which numbers of the log have its events, so a number is given before all events of the commit
are known. Within a chunk, events are in the order of the change sets: they are sorted when the chunk is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import NamedTuple

import apsw

from taskyard.core.changes import Event
from taskyard.core.units import Micros
from taskyard.stores.shared.log_rows import LogRow, event_number, split_events
from taskyard.stores.shared.rows import Row
from taskyard.stores.sqlite.statements import SQL

_MOST_EVENTS, _MOST_TEXT = 512, 64_000  # of a chunk; at most what `split_events` leaves in one


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


PlacedEvent = tuple[int, Event]  # its order in the commit, and the event


class _Chunk(NamedTuple):
    number: int
    events: list[PlacedEvent]


class LogAppender:
    def __init__(self, number: int) -> None:
        self.number = number  # the last one that was given
        self._chunks: list[_Chunk] = []
        self._open: list[PlacedEvent] = []
        self._length = 0

    def add(self, events: Sequence[PlacedEvent]) -> list[int]:
        """Give each event a number of the log. Events that fit into one chunk are not split."""
        if not events:
            return []
        lengths = [len(event.data or "") for _, event in events]
        if len(events) <= _MOST_EVENTS and sum(lengths) <= _MOST_TEXT:
            return self._add_together(events, sum(lengths))
        return [
            number
            for placed, length in zip(events, lengths, strict=True)
            for number in self._add_together([placed], length)
        ]

    def _add_together(self, events: Sequence[PlacedEvent], length: int) -> list[int]:
        if not self._has_room(len(events), length):
            self.number += 1
            self._open, self._length = [], 0
            self._chunks.append(_Chunk(self.number, self._open))
        self._open += events
        self._length += length
        return [self.number] * len(events)

    def _has_room(self, number: int, length: int) -> bool:
        return 0 < len(self._open) <= _MOST_EVENTS - number and self._length + length <= _MOST_TEXT

    def take_rows(self, clock: Micros, task_seq: int) -> list[Row]:
        """The rows of the events since the last call. Events that follow get another number."""
        chunks, self._chunks, self._open = self._chunks, [], []
        return [
            (first, row.workspace, row.at, clock, task_seq, *row[2:])
            for number, placed in chunks
            for first, row in _rows_of(number, placed)
        ]


def _rows_of(number: int, placed: list[PlacedEvent]) -> list[tuple[int, LogRow]]:
    """The rows of a chunk, each with the number of its first event: rows of several workspaces share a number."""
    placed.sort(key=_order)
    events = [event for _, event in placed]
    (chunk,) = split_events(events)
    if len(chunk.rows) == 1:
        return [(event_number(number, 0), chunk.rows[0])]
    places = [event.workspace for event in events]
    return [(event_number(number, places.index(row.workspace)), row) for row in chunk.rows]


_order: Callable[[PlacedEvent], int] = itemgetter(0)
