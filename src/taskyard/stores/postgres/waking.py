"""Who waits for a change is woken by one, of this process or another.

Other processes hear of it by NOTIFY, sent after the commit, at once where it has been quiet and otherwise gathered. It
is a hint: what it missed, a look at the number of the last event finds.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from secrets import token_hex

import asyncpg

from taskyard.core.errors import TaskyardError
from taskyard.stores.postgres.connecting import GONE, Address, Connection, connect
from taskyard.stores.postgres.statements import Statements

_BETWEEN_HINTS = 0.05  # seconds: at most 20 a second from one process
_LOOK = 2.0  # seconds between looks where hints come
_LOOK_UNHINTED = 0.25  # and where they cannot
_PATIENCE = 10.0  # seconds that a listening connection may take to answer before it is thought dead

Ask = Callable[[str, tuple[object, ...]], Awaitable[object]]


class Waking:
    def __init__(self, where: Address, sql: Statements, ask: Ask) -> None:
        self._where = where
        self._sql = sql
        self._ask = ask  # a statement by its name, on some pooled connection
        self._name = token_hex(8)  # to know our own hints by
        self._channel = f"taskyard_{sql.schema}"
        self._mark = 1
        self._seen: object = None
        self._waiting: set[asyncio.Future[None]] = set()
        self._unsent = False
        self._sender: asyncio.Task[None] | None = None
        self._listener: asyncio.Task[None] | None = None

    @property
    def mark(self) -> int:
        return self._mark

    async def open(self) -> None:
        self._seen = await self._ask("event_count", ())

    async def close(self) -> None:
        self._wake()  # nobody waits for a write that cannot come
        if self._sender is not None:
            with suppress(asyncio.CancelledError):
                await self._sender  # others wait for what was written last
        if self._listener is not None:
            self._listener.cancel()
            with suppress(asyncio.CancelledError):
                await self._listener
        self._sender = self._listener = None

    def wrote(self, *, tell: bool) -> None:
        """This process has written. Heartbeats are nothing to tell the others of."""
        self._wake()
        if tell:
            self._unsent = True
            if self._sender is None or self._sender.done():
                self._sender = asyncio.create_task(self._send())

    async def wait(self, timeout: float) -> None:
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._listen())
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await waiting
        finally:
            self._waiting.discard(waiting)

    def _wake(self) -> None:
        self._mark += 1
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def _send(self) -> None:
        while self._unsent:
            self._unsent = False
            with suppress(TaskyardError):  # a hint: the others look by themselves too
                await self._ask("notify", (self._channel, self._name))
            await asyncio.sleep(_BETWEEN_HINTS)

    async def _listen(self) -> None:
        """For as long as the store is open: listen, and begin again when the connection is lost."""
        while True:
            if not self._where.direct_url:
                await self._look(_LOOK_UNHINTED)
                continue
            try:
                await self._listen_once()
            except (*GONE, TaskyardError, TimeoutError, asyncpg.PostgresError):
                await self._look(random.uniform(0.5, 1.5) * _LOOK_UNHINTED)

    async def _listen_once(self) -> None:
        connection = await connect(self._where, direct=True)
        try:
            async with asyncio.timeout(_PATIENCE):
                await connection.add_listener(self._channel, self._heard)
            while True:
                # What came before we listened; and whether the connection is alive, which silence does not tell.
                async with asyncio.timeout(_PATIENCE):
                    self._compare(await connection.fetchval(self._sql["event_count"]))
                await asyncio.sleep(_LOOK)
        finally:
            connection.terminate()

    async def _look(self, pause: float) -> None:
        with suppress(TaskyardError):
            self._compare(await self._ask("event_count", ()))
        await asyncio.sleep(pause)

    def _compare(self, count: object) -> None:
        if count != self._seen:
            self._seen = count
            self._wake()

    def _heard(self, _connection: Connection, _pid: int, _channel: str, payload: object) -> None:
        if payload != self._name:
            self._wake()
