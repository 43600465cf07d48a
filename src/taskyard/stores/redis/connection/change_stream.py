"""Who waits for a change is woken by one, of this process or another.

Every commit and claim adds an entry to one stream of the yard, which says what of it is news. While somebody waits, a
connection of its own stands at the end of that stream; who waits with a plan also stands at the streams of its lanes
(see `hints`). These are hints: what they missed is found when the stream is read on, and the last ones are kept. Nobody
stands there while nobody waits: the server would tell him of a claim before it answers whoever has made it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

from taskyard.core.claiming import ClaimPlan, own_ceilings
from taskyard.core.errors import TaskyardError
from taskyard.stores.redis.connection.hints import HintStreams
from taskyard.stores.redis.connection.protocol import Connection, Lost, Refusal
from taskyard.stores.redis.connection.server import Server
from taskyard.stores.redis.encoding import NONE
from taskyard.stores.shared.waiters import ANYTHING, Waiters

_BLOCK = 5000  # milliseconds that one read waits at most, so that a dead connection is found out
_PAUSE = 0.25  # seconds before a connection that was soon lost is made again
_SHORT = 1.0  # seconds; one that was idle for longer may have been hung up on


class Waking:
    def __init__(self, server: Server, prefix: str) -> None:
        self._server = server
        self._stream = f"{prefix}changed"
        self._seen = 0
        self._waiting = Waiters()
        self._listener: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()  # somebody waits
        self.hints = HintStreams(server, prefix)

    @property
    def mark(self) -> int:
        return self._waiting.mark

    async def open(self) -> None:
        last = await self._server.ask("XREVRANGE", self._stream, "+", "-", "COUNT", 1)
        if last:
            self._seen = _number(last[0][0])

    async def close(self) -> None:
        self._waiting.wake()  # nobody waits for a write that cannot come
        listener, self._listener = self._listener, None
        if listener is not None:
            await _cancelled(listener)
        await self.hints.close()

    def wrote(self, announced: Sequence[str]) -> None:
        """This process has written: the number of that change, and what of it is news."""
        if announced:
            number, *news = announced
            if int(number) == self._seen + 1:
                self._seen += 1  # it need not be told to us again
            self._waiting.wake(frozenset(news))

    def moved(self) -> None:
        """This process has written what is no news to others."""
        self._waiting.wake(frozenset())

    async def wait(self, mark: int, timeout: float, plan: ClaimPlan | None) -> None:
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._listen())
        self._wanted.set()
        if plan is None:
            await self._waiting.wait(mark, timeout)
        else:
            await self._wait_for_work(mark, timeout, plan)

    async def _wait_for_work(self, mark: int, timeout: float, plan: ClaimPlan) -> None:
        standing = asyncio.create_task(self._stand(plan, timeout)) if plan.lanes else None
        try:
            await self._waiting.wait(mark, timeout, _wanted_by(plan))
        finally:
            if standing is not None:
                await _cancelled(standing)

    async def _stand(self, plan: ClaimPlan, timeout: float) -> None:
        """Where a connection is lost, whoever waits looks again, and stands there anew."""
        with suppress(Lost, OSError, TimeoutError, TaskyardError):
            await self.hints.wait(plan, timeout)
        self._waiting.wake(frozenset(str(lane.id) for lane in plan.lanes))

    async def _listen(self) -> None:
        """For as long as the store is open: listen, and begin again when the connection is lost."""
        while True:
            began = monotonic()
            with suppress(Lost, Refusal, OSError, TimeoutError, TaskyardError):
                await self._listen_once(await self._server.open_another())
            if monotonic() - began < _SHORT:
                await asyncio.sleep(random.uniform(0.5, 1.5) * _PAUSE)

    async def _listen_once(self, connection: Connection) -> None:
        try:
            while True:
                if not self._waiting.is_awaited:
                    self._wanted.clear()
                    await self._wanted.wait()
                asked = ("XREAD", "BLOCK", _BLOCK, "STREAMS", self._stream, f"{self._seen}-0")
                found = await connection.ask(*asked, waits=_BLOCK / 1000)
                for number, (_, news) in found[0][1] if found else ():
                    self._hear(_number(number), news)
        finally:
            await connection.end()

    def _hear(self, number: int, news: str) -> None:
        """Of entries that are gone by now, nobody knows what they said."""
        if number > self._seen:
            missed = number > self._seen + 1
            self._seen = number
            self._waiting.wake(ANYTHING if missed else frozenset(news.split(NONE)))


def _number(entry: str) -> int:
    return int(entry.partition("-")[0])


def _wanted_by(plan: ClaimPlan) -> frozenset[str]:
    """What may change the answer to the claim: ready tasks of its lanes, its plan, and the agent's own ceilings."""
    own = (f"{plan.workspace}/{name}" for name in own_ceilings(plan))
    return frozenset((f"{plan.workspace}/", *own, *(str(lane.id) for lane in plan.lanes)))


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
