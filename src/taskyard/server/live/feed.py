"""Live events: one reader of the store for each workspace, and everybody who listens served from what it read.

A subscription that begins in the past reads pages of its own from the store until it reaches what the feed still has,
and is live from there on: the two overlap in numbers, so nothing is left out in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from weakref import WeakSet

from taskyard.api.messages import Closing
from taskyard.core.changes import StoredEvent
from taskyard.core.errors import EventsGone, TaskyardError
from taskyard.server.live.event_buffer import BufferedEvent, Interest, Recent, entry_of
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.server")
PAGE = 100  # events that are read at once
IDLE = 5.0  # seconds after which the store is read again although no wake-up came
GATHER = 0.01  # seconds that events gather, so that a thousand listeners wake for many at once
MOMENT = 0.005  # seconds that listeners who are not done yet are given
AGAIN = 1.0  # seconds until a store that was away is asked again
CATCHING_UP = 8  # subscriptions that read from the store at the same time
CAUGHT_UP_AT_ONCE = 50  # events that each of them reads at once, since it keeps them while its reader takes them
TURN = 16  # events after which a subscription lets others have a turn
STUCK = 60.0  # seconds that one batch may take


class LiveFeed:
    """The events of one workspace as they come."""

    def __init__(self, yard: Yard, recent: Recent) -> None:
        self.yard = yard
        self.recent = recent
        self.catching_up = asyncio.Semaphore(CATCHING_UP)
        self._subscriptions: dict[str | None, set[Subscription]] = {}  # by what their events are of
        # Those above, and those that still read pages of their own. One that was refused before it began is let go of.
        self._listeners: WeakSet[Subscription] = WeakSet()
        self._heard_at = asyncio.get_running_loop().time()

    def unheard_for(self) -> float:
        """The seconds since somebody was last seen to listen, by whoever asks for this."""
        now = asyncio.get_running_loop().time()
        if self._listeners:
            self._heard_at = now
        return now - self._heard_at

    async def run(self) -> None:
        while True:
            try:
                await self._read_on()
            except EventsGone as gone:
                # The store was away for longer than it keeps events. The store says so to a reader that resumes.
                self._start_over(gone.oldest_seq)
            except TaskyardError as error:
                logger.warning("events cannot be read: %s", error)
                await asyncio.sleep(AGAIN)
            except Exception:
                logger.exception("events cannot be read")
                self._send_home()
                await asyncio.sleep(AGAIN)

    def everyone(self) -> Iterator[Subscription]:
        return (each for those in list(self._subscriptions.values()) for each in list(those))

    def expect(self, subscription: Subscription) -> None:
        self._listeners.add(subscription)

    def join(self, subscription: Subscription) -> None:
        self._subscriptions.setdefault(subscription.interest.key, set()).add(subscription)

    def leave(self, subscription: Subscription) -> None:
        self._listeners.discard(subscription)
        those = self._subscriptions.get(subscription.interest.key, set())
        those.discard(subscription)
        if not those:
            self._subscriptions.pop(subscription.interest.key, None)

    async def _read_on(self) -> None:
        mark = await self.yard.mark()
        page = await self.yard.events(after=self.recent.head, limit=PAGE)
        for stored in page:
            await self._make_room()
            self._publish(entry_of(stored))
        if len(page) < PAGE:
            await asyncio.sleep(GATHER)
            await self.yard.changed(mark, IDLE)

    def _publish(self, entry: BufferedEvent) -> None:
        self.recent.add(entry)
        for key in {entry.task_id, entry.dag_id, None}:
            for subscription in self._subscriptions.get(key, ()):
                subscription.consider(entry)

    async def _make_room(self) -> None:
        """Forget the oldest quarter. Who has not got it yet, because its reader does not read, is cut off."""
        while self.recent.is_full:
            edge = self.recent.edge
            late = [each for each in self.everyone() if each.missing is not None and each.missing <= edge]
            for subscription in late:
                if subscription.is_blocked:
                    subscription.end(Closing.TOO_SLOW)
            if all(each.is_blocked for each in late):
                self.recent.forget(edge)
            else:
                await asyncio.sleep(MOMENT)  # it is this server that is behind: nobody is to blame

    def _start_over(self, oldest_seq: int) -> None:
        self._send_home()
        self.recent = Recent(oldest_seq - 1)

    def _send_home(self) -> None:
        for subscription in self.everyone():
            subscription.end(Closing.FAILED)


class Subscription:
    """The events that one listener wants, in order, from a number on."""

    __slots__ = (
        *("__weakref__", "_blocked_since", "_feed", "_is_live", "_on_end", "_read_to", "_waiting"),
        *("ended", "interest", "missing", "passed_on"),
    )

    def __init__(
        self, feed: LiveFeed, interest: Interest, after: int | None, on_end: Callable[[Subscription, Closing], None]
    ) -> None:
        self.interest = interest
        self.missing: int | None = None  # the first in the feed that is wanted and was not taken
        self.ended: Closing | None = None
        self._feed = feed
        self._on_end = on_end
        self._read_to = feed.recent.head if after is None else after
        self.passed_on = self._read_to  # the last that was sent, of the batch that is being sent
        self._blocked_since: float | None = None
        self._is_live = False
        self._waiting: asyncio.Future[None] | None = None
        feed.expect(self)

    @property
    def is_blocked(self) -> bool:
        """Whether the reader has taken nothing for a moment.

        A batch is passed on without a pause where the network takes it, so nobody else sees it under way.
        """
        return self._blocked_since is not None

    @property
    def is_stuck(self) -> bool:
        return self._blocked_since is not None and self._now() - self._blocked_since > STUCK

    @property
    def resume_after(self) -> int:
        """The number up to which everything that is wanted was passed on."""
        if self.is_blocked:
            return self.passed_on
        return max(self._read_to, self._feed.recent.head) if self._is_live and self.missing is None else self._read_to

    async def check(self) -> None:
        """Refuse a beginning that is no longer kept: `EventsGone`."""
        if self._read_to < self._feed.recent.start:
            await self._stored(limit=1)

    async def next(self, idle: float | None = None) -> list[BufferedEvent] | None:
        """What comes next; nothing, where that takes longer than so many seconds; None: it is over."""
        if not self._is_live and self._read_to < self._feed.recent.start:
            return await self._page()
        self._join()
        await asyncio.sleep(0)
        if self.missing is None and self.ended is None:
            self._waiting = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._waiting], timeout=idle)
        return self._take() if self.ended is None else None

    @contextmanager
    def passing_on(self, batch: Sequence[BufferedEvent]) -> Generator[None]:
        """While these are sent. Who sends them one by one says which were, with `passed_on`."""
        self.passed_on = batch[0].seq - 1
        self._blocked_since = self._now()
        yield
        self.passed_on = batch[-1].seq
        self._blocked_since = None

    def consider(self, entry: BufferedEvent) -> None:
        if self.missing is None and entry.seq > self._read_to and self.interest.wants(entry):
            self.missing = entry.seq
            self._wake()

    def end(self, why: Closing) -> None:
        if self.ended is None:
            self.ended = why
            self.leave()
            self._wake()
            self._on_end(self, why)

    def leave(self) -> None:
        self._feed.leave(self)

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _join(self) -> None:
        if not self._is_live:
            self._is_live = True
            self._feed.join(self)
            for entry in self._feed.recent.since(self._read_to + 1):
                self.consider(entry)

    def _take(self) -> list[BufferedEvent]:
        if self.missing is None:
            return []
        wanted = (entry for entry in self._feed.recent.since(self.missing) if self.interest.wants(entry))
        batch = list(islice(wanted, TURN))
        self._read_to = batch[-1].seq
        beyond = next(wanted, None)
        self.missing = beyond.seq if beyond else None
        return batch

    async def _page(self) -> list[BufferedEvent]:
        """The next of what the feed no longer has, out of the store."""
        head = self._feed.recent.head
        page = await self._stored(limit=CAUGHT_UP_AT_ONCE)
        last = page[-1].seq if page else 0
        # After a short one there is nothing more, up to where the feed was before it was read.
        self._read_to = last if len(page) == CAUGHT_UP_AT_ONCE else max(head, last)
        return [entry for entry in map(entry_of, page) if self.interest.wants(entry)]

    async def _stored(self, limit: int) -> list[StoredEvent]:
        async with self._feed.catching_up:
            return await self._feed.yard.events(after=self._read_to, limit=limit, task_id=self.interest.task_id)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
