"""The log: read in pages, or followed as it grows."""

from __future__ import annotations

from typing import Unpack

from taskyard.core.changes import StoredEvent
from taskyard.core.task import TaskId
from taskyard.features.events.labels import FollowedLabels, with_labels
from taskyard.features.events.rules import EventFilter, Wanted
from taskyard.features.events.shared_reader import EventFeed
from taskyard.features.events.tail import Tail
from taskyard.ledger.ledger import Ledger

EVENTS_AT_ONCE = 500


class Events:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._feed = EventFeed(self)
        self._labels = FollowedLabels()

    async def close(self) -> None:
        await self._feed.close()

    async def events(
        self, *, after: int = 0, limit: int = EVENTS_AT_ONCE, **wanted: Unpack[Wanted]
    ) -> list[StoredEvent]:
        """Events in order, from the oldest on after which none was pruned; those of one task all.

        Of a graph, a task, a word (`event`: `task.ready`, `task.*`), a `task_type`, an agent or a subject: then the log
        is read on until so many match, or it ends.
        """
        which = EventFilter(**wanted)
        at_once = max(limit, EVENTS_AT_ONCE) if which.is_selective else limit
        found: list[StoredEvent] = []
        while page := await self._page(after, at_once, which.task_id):
            found += filter(which.matches, page) if which.is_selective else page
            if len(found) >= limit or len(page) < at_once:
                break
            after = page[-1].seq
        return found[:limit]

    async def _page(self, after: int, limit: int, task_id: str | None) -> list[StoredEvent]:
        of = None if task_id is None else TaskId(task_id)
        # Some older ones may be left of work that is still there: who read them could not read on.
        first = after if of is not None or after else await self._store.pruned(self._workspace)
        page = await self._store.events(after=first, limit=limit, workspace=self._workspace, task_id=of)
        return await (self._labels.add(self._store, page, after) if of is None else with_labels(self._store, page))

    async def newest(self) -> int:
        """The number of the newest event, also where it was pruned."""
        newest = await self._store.newest_events(limit=1, workspace=self._workspace)
        return max([await self._store.pruned(self._workspace), *(stored.seq for stored in newest)])

    def tail(self, *, after: int = 0, **wanted: Unpack[Wanted]) -> Tail:
        """Every event from a sequence number on, and each new one as it comes; none is skipped. Filters as in `events`.

        Any number may follow in one process: the newest events are read once for all of them.
        """
        return Tail(self._feed, after, EventFilter(**wanted))

    async def mark(self) -> str:
        """Where the yard stands: to be handed to `changed`, so that nothing written since is missed."""
        return await self._ledger.mark()

    async def changed(self, mark: str, timeout_sec: float) -> str:
        """Return when something may have been written since the mark, by any process, or at the time-out."""
        return await self._ledger.changed(mark, timeout_sec)
