"""Everybody who listens to this server process: their feeds, whether they still may, and how they are sent home."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Protocol

from taskyard.api.messages import Closing
from taskyard.core.errors import TaskyardError, TooManyListeners, Unauthorized, YardClosed
from taskyard.server.access.auth import Serving, caller_with
from taskyard.server.live.event_buffer import Recent
from taskyard.server.live.feed import LiveFeed
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.server")
EVERY = 0.25  # seconds between looks at the tokens of those who listen: half of what the guide to security promises
UNHEARD = 5.0  # seconds after which a feed that nobody listens to ends; a page that is loaded anew is back sooner


class LiveConnection(Protocol):
    """Somebody who listens, let in by a token."""

    token: str | None  # None: it has yet to show one

    @property
    def counted_as(self) -> str | None: ...

    @property
    def is_stuck(self) -> bool: ...

    def end(self, why: Closing) -> None: ...


class Live:
    """The feeds of one server process, one for each workspace that somebody listens to.

    A feed reads the store at every change of it, whatever workspace changed: it ends soon after its last listener left.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._feeds: dict[str, tuple[LiveFeed, asyncio.Task[None]]] = {}  # by workspace
        self._opening = asyncio.Lock()
        self._connections: set[LiveConnection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._is_warned = False

    @property
    def most_listeners(self) -> int:
        return self._serving.most_listeners

    async def feed_of(self, yard: Yard) -> LiveFeed:
        async with self._opening:
            if self._is_closed:
                raise YardClosed
            self._begin_watching()
            if yard.workspace not in self._feeds:
                feed = LiveFeed(yard, Recent(await yard.local.events.newest()))
                running = self._run(feed.run(), f"taskyard events of {yard.workspace}")
                self._feeds[yard.workspace] = feed, running
            return self._feeds[yard.workspace][0]

    def admit(self, connection: LiveConnection, most: int | None = None) -> None:
        """Count somebody among those who listen; where so many do under the same token, refuse: `TooManyListeners`."""
        if most is not None and connection not in self._connections and self._like(connection) >= most:
            raise TooManyListeners(most)
        self._connections.add(connection)
        self._begin_watching()

    def _begin_watching(self) -> None:
        if not self._tasks and not self._is_closed:
            self._run(self._watch(), "taskyard listeners")

    def _like(self, connection: LiveConnection) -> int:
        counted_as = connection.counted_as
        return 0 if counted_as is None else sum(each.counted_as == counted_as for each in self._connections)

    def dismiss(self, connection: LiveConnection) -> None:
        self._connections.discard(connection)

    async def close(self) -> None:
        """Send everybody home: a server that stops waits for nobody who listens for ever."""
        for connection in list(self._connections):
            connection.end(Closing.STOPPING)
        async with self._opening:
            self._is_closed = True
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(set(self._tasks))

    def _run(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            self._end_unheard()
            for connection in [connection for connection in self._connections if connection.is_stuck]:
                connection.end(Closing.TOO_SLOW)
            # At once, so that many tokens take no longer than the slowest of them.
            tokens = list({connection.token for connection in self._connections if connection.token is not None})
            for token, is_good in zip(tokens, await asyncio.gather(*map(self._is_good, tokens)), strict=True):
                if not is_good:
                    self._end_all(token)

    def _end_unheard(self) -> None:
        for workspace, (feed, running) in list(self._feeds.items()):
            if feed.unheard_for() > UNHEARD:
                running.cancel()
                del self._feeds[workspace]

    async def _is_good(self, token: str) -> bool:
        try:
            await caller_with(token, self._serving)
        except Unauthorized:
            return False
        except TaskyardError as error:
            self._warn(error)  # the next look finds what this one missed
        else:
            self._is_warned = False
        return True

    def _warn(self, error: TaskyardError) -> None:
        """Once for as long as the store is away: the next look is soon."""
        if not self._is_warned:
            logger.warning("the tokens of those who listen cannot be checked: %s", error)
        self._is_warned = True

    def _end_all(self, token: str) -> None:
        for connection in [connection for connection in self._connections if connection.token == token]:
            connection.end(Closing.NO_TOKEN)
