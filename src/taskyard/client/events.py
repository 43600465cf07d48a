"""Events of a yard that a server has."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Unpack

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.long_polling import until_changed
from taskyard.core.changes import StoredEvent
from taskyard.core.errors import NotFound
from taskyard.features.events.rules import EventFilter, Wanted
from taskyard.features.events.service import Events
from taskyard.features.events.shared_reader import EventFeed
from taskyard.features.events.views import EventView, stored_event

if TYPE_CHECKING:
    from taskyard.client.transport.connection import Connection


MOST_LISTED = 200

EVENTS_AT_ONCE = 500


class RemoteEvents(Remote, Events):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._feed = EventFeed(self)

    async def close(self) -> None:
        await self._feed.close()

    async def mark(self) -> str:
        """Where the yard stands: to be handed to `changed`, so that nothing written since is missed."""
        return await until_changed(self.connection, "", 0)

    async def changed(self, mark: str, timeout_sec: float) -> str:
        """Return when something may have been written since the mark, by any process, or at the time-out."""
        return await until_changed(self.connection, mark, timeout_sec)

    async def events(
        self, *, after: int = 0, limit: int = EVENTS_AT_ONCE, **wanted: Unpack[Wanted]
    ) -> list[StoredEvent]:
        """Events in order, from the oldest on after which none was pruned; those of one task all.

        Of a graph, a task, a word (`event`: `task.ready`, `task.*`), a `task_type`, an agent or a subject: then the log
        is read on until so many match, or it ends.
        """
        which = EventFilter(**wanted)
        if which.task_id is not None:
            return await self._events_of(which.task_id, after, limit, which)
        events: list[StoredEvent] = []
        while len(events) < limit:
            most = min(limit - len(events), MOST_LISTED)
            answer = await self.connection.ask(calls.EVENTS, query={**asdict(which), "after": after, "limit": most})
            events += map(stored_event, read(list[EventView], answer["events"]))
            # Where what is wanted is rare, the server answers with how far it looked before it has found enough.
            if answer["after"] == after or (len(answer["events"]) < most and not which.is_selective):
                break
            after = answer["after"]
        return events

    async def newest(self) -> int:
        """The number of the newest event that is kept; 0 where none is."""
        page = (await self.connection.ask(calls.EVENTS, query={"order": "newest", "limit": 1}))["events"]
        return page[0]["seq"] if page else 0

    tail = Events.tail  # it follows the feed

    async def _events_of(self, task_id: str, after: int, limit: int, which: EventFilter) -> list[StoredEvent]:
        events: list[StoredEvent] = []
        with suppress(NotFound):  # nothing has happened to what is not there
            while len(events) < limit:
                query = {"after": after, "limit": MOST_LISTED}
                page = (await self.connection.ask(calls.TASK_EVENTS, query=query, task_id=task_id))["events"]
                events += filter(which.matches, map(stored_event, read(list[EventView], page)))
                if len(page) < MOST_LISTED:
                    break
                after = page[-1]["seq"]
        return events[:limit]
