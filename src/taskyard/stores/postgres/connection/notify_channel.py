"""Who waits for a change is woken by one, of this process or another.

Other processes hear of it by NOTIFY, sent after the commit, at once where it has been quiet and otherwise gathered: see
decision 0020. It names the news, so that nobody looks for what cannot be there. It is a hint: what it missed, a look at
the number of the last event finds.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from secrets import token_hex

import asyncpg

from taskyard.core.errors import TaskyardError
from taskyard.core.task import LaneId
from taskyard.stores.postgres.connection.address import Address
from taskyard.stores.postgres.connection.driver_errors import GONE
from taskyard.stores.postgres.connection.pool import connect
from taskyard.stores.postgres.connection.wakeups import NONE, News
from taskyard.stores.postgres.fast.claim_cursors import Floors
from taskyard.stores.postgres.statements import Statements
from taskyard.stores.shared.waiters import ANYTHING, Waiters

_AFTER_A_HINT = 0.005  # seconds in which what is written is gathered for the next one: few, after a quiet while
_BETWEEN_HINTS = 0.05  # and so many at last, where there is no end of them: 20 a second from one process
_LONGEST_HINT = 7_900  # bytes: PostgreSQL takes less than 8,000
_LOOK = 2.0  # seconds between looks where hints come
_LOOK_UNHINTED = 0.25  # and where they cannot
_LOOKS_UNHINTED = 40  # before it is tried again whether hints come, where they did not
_PATIENCE = 3.0  # seconds that a listening connection may take to answer before it is thought dead

Ask = Callable[[str, tuple[object, ...]], Awaitable[object]]


class Waking:
    def __init__(self, where: Address, sql: Statements, ask: Ask, floors: Floors) -> None:
        self._where = where
        self._sql = sql
        self._query = ask  # a statement by its name, on some pooled connection
        self._floors = floors
        self._name = token_hex(8)  # to know our own hints by
        self._channel = f"taskyard_{sql.schema}"
        self._seen: object = None
        self._waiting = Waiters()
        self._unsent: News | None = None
        self._heard_ourselves = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None
        self._listener: asyncio.Task[None] | None = None

    @property
    def mark(self) -> int:
        return self._waiting.mark

    async def open(self) -> None:
        self._seen = await self._query("event_count", ())

    async def close(self) -> None:
        self._waiting.wake()  # nobody waits for a write that cannot come
        if self._sender is not None:
            with suppress(asyncio.CancelledError):
                await self._sender  # others wait for what was written last
        if self._listener is not None:
            self._listener.cancel()
            with suppress(asyncio.CancelledError):
                await self._listener
        self._sender = self._listener = None

    def wrote(self, news: News, *, tell: bool) -> None:
        """This process has written. Heartbeats are nothing to tell the others of."""
        self._floors.hear(news.fronts)
        self._waiting.wake(news.names)
        if tell:
            self._unsent = news | (self._unsent or NONE)
            if self._sender is None or self._sender.done():
                self._sender = asyncio.create_task(self._send())

    def listen(self) -> None:
        """From now on, if not yet."""
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._listen())

    async def wait(self, mark: int, timeout: float, wanted: frozenset[str] | None) -> None:
        self.listen()
        await self._waiting.wait(mark, timeout, wanted)

    async def _send(self) -> None:
        pause = _AFTER_A_HINT
        if self._unsent is not None and not self._unsent.names:
            await asyncio.sleep(pause)  # such as a claim: nobody takes anything because of it
        while self._unsent is not None:
            news, self._unsent = self._unsent, None
            with suppress(TaskyardError):  # a hint: the others look by themselves too
                await self._hint(news)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _BETWEEN_HINTS)

    async def _hint(self, news: News) -> None:
        hint = json.dumps([self._name, news.fronts, sorted(news.rest)])
        if len(hint) > _LONGEST_HINT:
            hint = json.dumps([self._name, ANYTHING, ANYTHING])
        await self._query("notify", (self._channel, hint))

    async def _listen(self) -> None:
        """For as long as the store is open: listen, and begin again when the connection is lost."""
        while True:
            if not self._where.direct_url:
                await self._look(_LOOK_UNHINTED)
                continue
            try:
                await self._listen_once()
            except TimeoutError:
                for _ in range(_LOOKS_UNHINTED):
                    await self._look(_LOOK_UNHINTED)
            except (*GONE, TaskyardError, asyncpg.PostgresError):
                await self._look(random.uniform(0.5, 1.5) * _LOOK_UNHINTED)

    async def _listen_once(self) -> None:
        connection = await connect(self._where, direct=True)
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        try:
            async with asyncio.timeout(_PATIENCE):
                await connection.add_listener(self._channel, self._heard)
                await self._hear_ourselves()
            self._anything()  # what came before we listened, and left no event
            while not lost.is_set():
                # What a hint missed; and whether the connection is alive, which silence does not tell.
                async with asyncio.timeout(_PATIENCE):
                    self._compare(await connection.fetchval(self._sql["event_count"]))
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK):
                        await lost.wait()
        finally:
            connection.terminate()
        raise ConnectionResetError

    async def _hear_ourselves(self) -> None:
        """A pooler may take a LISTEN and pass nothing on."""
        self._heard_ourselves.clear()
        await self._hint(NONE)
        await self._heard_ourselves.wait()

    async def _look(self, pause: float) -> None:
        with suppress(TaskyardError):
            self._compare(await self._query("event_count", ()))
        await asyncio.sleep(pause)

    def _compare(self, count: object) -> None:
        if count != self._seen:
            self._seen = count
            self._waiting.wake()

    def _anything(self) -> None:
        self._floors.forget()
        self._waiting.wake(ANYTHING)

    def _heard(self, _connection: asyncpg.Connection, _pid: int, _channel: str, hint: object) -> None:
        name, fronts, rest = json.loads(str(hint))
        if name == self._name:
            self._heard_ourselves.set()
        elif fronts is None:
            self._anything()
        else:
            news = News({LaneId(int(lane)): (rank, seq) for lane, (rank, seq) in fronts.items()}, frozenset(rest))
            self._floors.hear(news.fronts)
            self._waiting.wake(news.names)
