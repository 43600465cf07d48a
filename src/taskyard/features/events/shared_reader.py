"""Following events: one reader for everybody in this process who follows the same workspace.

Whoever is at the end waits for the same read of the store, and is answered from the events that it brought. A follower
that begins in the past, or falls behind what is kept in memory, reads pages of its own until it has caught up.
"""

from __future__ import annotations

import asyncio
from asyncio import Future
from bisect import bisect_right
from collections.abc import Awaitable, Iterable, Sequence
from functools import partial
from typing import Protocol

from taskyard.core.changes import StoredEvent

PAGE = 500  # events that are read at once
KEPT = 2 * PAGE  # events in memory, for those who come a little later
GATHER = 0.01  # seconds between two reads of which the first found less than a page: events come in many at a time
IDLE = 5.0  # seconds after which the store is read again without being woken


class Log(Protocol):
    """Where events are read: a yard, here or beyond a server."""

    def events(self, *, after: int, limit: int) -> Awaitable[Sequence[StoredEvent]]: ...
    def mark(self) -> Awaitable[str]: ...
    def changed(self, mark: str, timeout_sec: float) -> Awaitable[str]: ...


class EventFeed:
    """The newest events of one workspace, each read once however many follow them."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._events: list[Future[StoredEvent]] = []
        self._numbers: list[int] = []  # of these events
        self._start: int | None = None  # every event after this number is in memory, up to `_head`
        self._head = 0
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[Future[None], None] = {}  # those who wait for this read
        self._not_before = 0.0

    async def next(self, after: int) -> list[Future[StoredEvent]]:
        """The next events after a number, at most a page; none where nothing came for a while.

        Each is a future that is done, the same one for all who follow: who iterates over them awaits it (see `Tail`).
        """
        if self._start is None or (after > self._head and self._reading is None):
            self._begin(after)
        if self._start is None or after < self._start or after > self._head:
            page = await self._log.events(after=after, limit=PAGE)
            if page:
                return _done_futures(page)
            await self._read_with_others()
        elif after == self._head:
            await self._read_with_others()
        return self._known(after)

    async def close(self) -> None:
        if (reading := self._reading) is not None:
            reading.cancel()
            await asyncio.wait([reading])

    def _begin(self, after: int) -> None:
        self._forget()
        self._start = self._head = after

    def _forget(self) -> None:
        self._events, self._numbers, self._start = [], [], None

    def _known(self, after: int) -> list[Future[StoredEvent]]:
        """Nothing, where the feed has begun anew meanwhile: the next call looks where the follower stands."""
        if self._start is None or after < self._start:
            return []
        first = bisect_right(self._numbers, after)
        return self._events[first : first + PAGE]

    async def _read_with_others(self) -> None:
        """Wait for the read that is under way, or begin one. The last who goes away ends it."""
        # A read that has just ended is still here until its callbacks run. Who waited for it would be answered at once
        # with nothing, ask again, and never let the callbacks run.
        if self._reading is None or self._reading.done():
            self._waiting = {}
            self._reading = asyncio.create_task(self._read(), name="taskyard events")
            self._reading.add_done_callback(partial(self._done, self._waiting))
        reading, waiting = self._reading, self._waiting
        # A future for each who waits, and not `shield`, which takes two turns of the loop for each of them.
        turn: Future[None] = asyncio.get_running_loop().create_future()
        waiting[turn] = None
        try:
            await turn
        finally:
            del waiting[turn]
            if not waiting and not reading.done():
                self._reading = None  # whoever comes next begins another
                reading.cancel()

    def _done(self, waiting: Iterable[Future[None]], reading: asyncio.Task[None]) -> None:
        if self._reading is reading:
            self._reading = None
        error = None if reading.cancelled() else reading.exception()
        if error is not None:
            # Those who waited get the error. Where each of them stands, the store knows better than this feed.
            self._forget()
        for turn in waiting:
            if turn.done():
                continue  # its follower is on the way out
            if reading.cancelled():
                turn.cancel()
            elif error is None:
                turn.set_result(None)
            else:
                turn.set_exception(error)
                turn.exception()  # mark it as retrieved: a follower that is cancelled does not retrieve it

    async def _read(self) -> None:
        now = asyncio.get_running_loop().time
        await asyncio.sleep(self._not_before - now())
        mark = await self._log.mark()
        page = await self._log.events(after=self._head, limit=PAGE)
        if not page:
            await self._log.changed(mark, IDLE)
            return
        if len(page) < PAGE:
            self._not_before = now() + GATHER
        self._keep(page)

    def _keep(self, page: Sequence[StoredEvent]) -> None:
        if not self._head:
            self._start = page[0].seq - 1  # from 0 on, a reader gets what is kept
        self._events += _done_futures(page)
        self._numbers += [stored.seq for stored in page]
        self._head = self._numbers[-1]
        if len(self._events) > KEPT:
            gone = len(self._events) - KEPT
            self._start = self._numbers[gone - 1]
            del self._events[:gone], self._numbers[:gone]


def _done_futures(page: Sequence[StoredEvent]) -> list[Future[StoredEvent]]:
    loop = asyncio.get_running_loop()
    made: list[Future[StoredEvent]] = []
    for stored in page:
        future: Future[StoredEvent] = loop.create_future()
        future.set_result(stored)
        made.append(future)
    return made
