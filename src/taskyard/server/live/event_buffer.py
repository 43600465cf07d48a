"""The last events of a workspace, each put into words once, for however many who listen.

What they take is bounded, in number and in bytes: it grows neither with those who listen nor with how slow they are.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from taskyard.api.codec import write
from taskyard.core.changes import Labels, StoredEvent
from taskyard.core.json_value import compact
from taskyard.features.events.rules import EventFilter, wire_type
from taskyard.features.events.views import event_view
from taskyard.features.tasks.multica import event_views

MOST_EVENTS = 10_000
MOST_BYTES = 8 << 20


class BufferedEvent(NamedTuple):
    """An event, as it goes over the wire."""

    seq: int
    type: str
    event: str
    task_id: str | None
    dag_id: str | None
    labels: Labels
    text: str


def entry_of(stored: StoredEvent) -> BufferedEvent:
    seq, event, labels = stored
    text = compact(write(event_view(stored)))
    return BufferedEvent(seq, wire_type(event), event.event, event.task_id, event.dag_id, labels, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest(EventFilter):
    """Which events a listener wants, also by the words of preset multica, and in which view."""

    type: str | None = None  # a word of preset multica: task:queued
    view: str | None = None

    @property
    def key(self) -> str | None:
        """What a wanted event is of, for finding those who want it."""
        return self.task_id or self.dag_id

    def wants(self, entry: BufferedEvent) -> bool:
        matches = self.matches_facts(entry.event, entry.task_id, entry.dag_id, entry.labels)
        return matches and self._is_of_type(entry)

    def texts(self, entry: BufferedEvent) -> list[str]:
        """What there is to send of an event that is wanted: in a view, that may be more than one."""
        if self.view is None:
            return [entry.text]
        documents = event_views(json.loads(entry.text))
        return [compact(document) for document in documents if self.type in (None, document["type"])]

    def _is_of_type(self, entry: BufferedEvent) -> bool:
        return self.type in (None, entry.type) if self.view is None else bool(self.texts(entry))


class Recent:
    """Every event after `start` up to `head`, oldest first."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.head = start
        self._entries: list[BufferedEvent] = []
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return len(self._entries) >= MOST_EVENTS or self._bytes >= MOST_BYTES

    @property
    def edge(self) -> int:
        """The number of the newest event in the oldest quarter: what goes when room is made."""
        return self._entries[len(self._entries) // 4].seq

    def add(self, entry: BufferedEvent) -> None:
        self._entries.append(entry)
        self._bytes += len(entry.text)
        self.head = entry.seq

    def since(self, seq: int) -> Sequence[BufferedEvent]:
        """Those with this number or a higher one."""
        return self._entries[bisect_left(self._entries, seq, key=attrgetter("seq")) :]

    def forget(self, up_to: int) -> None:
        kept = self.since(up_to + 1)
        self._entries = list(kept)
        self._bytes = sum(len(entry.text) for entry in kept)
        self.start = up_to
