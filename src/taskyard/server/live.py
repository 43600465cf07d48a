"""Everybody who listens to this server process: their feeds, whether they still may, and how they are sent home."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Protocol

from taskyard.core.errors import TaskyardError, Unauthorized, YardClosed
from taskyard.server.feeds import Feed
from taskyard.server.guarding import Serving, caller_with
from taskyard.server.recent import Recent
from taskyard.service.yard import Yard
from taskyard.wire.messages import Closing

logger = logging.getLogger("taskyard.server")
EVERY = 2.0  # seconds between looks at the tokens of those who listen


class Guest(Protocol):
    """Somebody who listens, let in by a token."""

    token: str

    @property
    def is_stuck(self) -> bool: ...

    def end(self, why: Closing) -> None: ...


class Live:
    """The feeds of one server process, one for each workspace that somebody listens to."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._feeds: dict[str, Feed] = {}
        self._opening = asyncio.Lock()
        self._guests: set[Guest] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_closed = False

    async def feed_of(self, yard: Yard) -> Feed:
        async with self._opening:
            if self._is_closed:
                raise YardClosed
            if not self._tasks:
                self._run(self._watch(), "taskyard listeners")
            if yard.workspace not in self._feeds:
                feed = self._feeds[yard.workspace] = Feed(yard, Recent(await latest(yard)))
                self._run(feed.run(), f"taskyard events of {yard.workspace}")
            return self._feeds[yard.workspace]

    def admit(self, guest: Guest) -> None:
        self._guests.add(guest)

    def dismiss(self, guest: Guest) -> None:
        self._guests.discard(guest)

    async def close(self) -> None:
        """Send everybody home: a server that stops waits for nobody who listens for ever."""
        for guest in list(self._guests):
            guest.end(Closing.STOPPING)
        async with self._opening:
            self._is_closed = True
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    def _run(self, work: Coroutine[None, None, None], name: str) -> None:
        self._tasks.append(asyncio.create_task(work, name=name))

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            for guest in [guest for guest in self._guests if guest.is_stuck]:
                guest.end(Closing.TOO_SLOW)
            for token in {guest.token for guest in self._guests}:
                if not await self._is_good(token):
                    self._end_all(token)

    async def _is_good(self, token: str) -> bool:
        try:
            await caller_with(token, self._serving)
        except Unauthorized:
            return False
        except TaskyardError as error:
            logger.warning(
                "a listener's token cannot be checked: %s", error
            )  # the next look finds what this one missed
        return True

    def _end_all(self, token: str) -> None:
        for guest in [guest for guest in self._guests if guest.token == token]:
            guest.end(Closing.NO_TOKEN)


async def latest(yard: Yard) -> int:
    """The number of the newest event, found by halving: a store is asked for events, not for how many there are."""
    low, step = await yard.store.pruned(yard.workspace), 1
    while found := await yard.events(after=low + step, limit=1):
        low, step = found[0].seq, step * 2
    high = low + step  # none comes after it
    while low < high:
        middle = (low + high) // 2
        if found := await yard.events(after=middle, limit=1):
            low = found[0].seq
        else:
            high = middle
    return low
