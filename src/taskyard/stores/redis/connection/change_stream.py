"""Wakes coroutines that wait for changes, of this process or another.

Every commit and claim adds an entry with its topics to one Redis stream of the yard. While a coroutine waits, another
connection blocks at the end of that stream; a coroutine that waits with a claim plan also blocks at the streams of the
plan's lanes (see `hints`). A missed entry is found later, since the stream keeps the last entries. While no coroutine
waits, nothing blocks at the stream: the server would report a claim to it before it answers the claimer.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

from taskyard.core.claiming import ClaimPlan
from taskyard.core.errors import TaskyardError
from taskyard.stores.redis.connection.hints import HintStreams
from taskyard.stores.redis.connection.protocol import ConnectionLost, ErrorReply, RedisConnection
from taskyard.stores.redis.connection.server import RedisServer
from taskyard.stores.redis.encoding import NONE
from taskyard.stores.shared.waiters import ANYTHING, Waiters, lane_topic, wanted_topics

_BLOCK = 5000  # milliseconds of one blocking read, so that a dead connection is detected
_PAUSE = 0.25  # seconds before the next connection, if one was lost soon
_SHORT = 1.0  # seconds; the server may close a connection that was idle for longer


class AnnouncedWrites:
    """The entries of one Redis stream of the yard, and the coroutines of this process that wait for them."""

    def __init__(self, server: RedisServer, key: str) -> None:
        self._server = server
        self._key = key
        self._seen = 0
        self._waiters = Waiters()
        self._listener: asyncio.Task[None] | None = None
        self._has_waiters = asyncio.Event()  # set while a coroutine waits

    @property
    def mark(self) -> int:
        return self._waiters.mark

    async def open(self) -> None:
        last = await self._server.execute("XREVRANGE", self._key, "+", "-", "COUNT", 1)
        if last:
            self._seen = _number(last[0][0])

    async def close(self) -> None:
        self._waiters.wake()  # no write can follow, so wake all waiters
        listener, self._listener = self._listener, None
        if listener is not None:
            await _cancel(listener)

    def written(self, announcement: Sequence[str]) -> None:
        """This process has written. The announcement is the number of the entry and its topics."""
        if announcement:
            number, *topics = announcement
            if int(number) == self._seen + 1:
                self._seen += 1  # the listener does not need to read it
            self._waiters.wake(frozenset(topics))

    def wake(self, topics: frozenset[str]) -> None:
        self._waiters.wake(topics)

    async def wait(self, mark: int, timeout: float, wanted: frozenset[str] | None) -> None:
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._listen())
        self._has_waiters.set()
        await self._waiters.wait(mark, timeout, wanted)

    async def _listen(self) -> None:
        """Listen while the store is open, on a new connection when one is lost."""
        while True:
            began = monotonic()
            with suppress(ConnectionLost, ErrorReply, OSError, TimeoutError, TaskyardError):
                await self._listen_once(await self._server.open_another())
            if monotonic() - began < _SHORT:
                await asyncio.sleep(random.uniform(0.5, 1.5) * _PAUSE)

    async def _listen_once(self, connection: RedisConnection) -> None:
        try:
            while True:
                if not self._waiters.is_awaited:
                    self._has_waiters.clear()
                    await self._has_waiters.wait()
                asked = ("XREAD", "BLOCK", _BLOCK, "STREAMS", self._key, f"{self._seen}-0")
                found = await connection.execute(*asked, waits=_BLOCK / 1000)
                for number, (_, topics) in found[0][1] if found else ():
                    self._read_entry(_number(number), topics)
        finally:
            await connection.end()

    def _read_entry(self, number: int, topics: str) -> None:
        """Wake the waiters of the entry's topics. After a gap in the numbers, entries are gone: wake all waiters."""
        if number > self._seen:
            is_gap = number > self._seen + 1
            self._seen = number
            self._waiters.wake(ANYTHING if is_gap else frozenset(topics.split(NONE)))


class ChangeStream(AnnouncedWrites):
    """Commits and claims. Chunks of streams are announced apart, so that they wake nobody else."""

    def __init__(self, server: RedisServer, prefix: str) -> None:
        super().__init__(server, f"{prefix}changed")
        self.hints = HintStreams(server, prefix)
        self.streams = AnnouncedWrites(server, f"{prefix}streamed")

    async def open(self) -> None:
        await super().open()
        await self.streams.open()

    async def close(self) -> None:
        await super().close()
        await self.streams.close()
        await self.hints.close()

    def wake_local(self) -> None:
        """This process has written something that other processes do not wait for."""
        self.wake(frozenset())

    async def wait_for_work(self, mark: int, timeout: float, plan: ClaimPlan, *, took_all: bool) -> None:
        hinted = asyncio.create_task(self._wait_for_hint(plan, timeout)) if plan.lanes else None
        try:
            await self.wait(mark, timeout, wanted_topics(plan, took_all=took_all))
        finally:
            if hinted is not None:
                await _cancel(hinted)

    async def _wait_for_hint(self, plan: ClaimPlan, timeout: float) -> None:
        """Wait for a hint and wake the waiters, also if the connection is lost: they claim and wait again."""
        with suppress(ConnectionLost, OSError, TimeoutError, TaskyardError):
            await self.hints.wait(plan, timeout)
        self.wake(frozenset(lane_topic(lane.id) for lane in plan.lanes))


def _number(entry: str) -> int:
    return int(entry.partition("-")[0])


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
