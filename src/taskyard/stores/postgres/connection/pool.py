"""Connections to the database, pooled.

Through PgBouncer in transaction mode (`pgbouncer=true`), no session state is kept.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import asyncpg

from taskyard.core.errors import InvalidInput, StoreUnavailable, YardClosed
from taskyard.stores.postgres.connection.address import PostgresAddress
from taskyard.stores.postgres.connection.driver_errors import CONNECTION_LOST
from taskyard.stores.postgres.connection.session import PostgresSession
from taskyard.stores.shared import timeouts

Answer = TypeVar("Answer")

LISTENER = "taskyard, listening"  # application_name of the listening connection, in pg_stat_activity

NOT_UNDERSTOOD = "must be one that PostgreSQL's client understands: look at its host, port, database and options"
_GOODBYE = 2.0  # seconds for closing a connection
_TRIES = 4  # with growing pauses: a standby may be taking over
_STATEMENTS_KEPT = 1000
_LONGEST_KEPT = 256 * 1024
# A client that vanishes must not keep its locks: the server gives it up as soon as the client would give up the server.
_KEEPALIVE = {
    "tcp_keepalives_idle": str(timeouts.IDLE),
    "tcp_keepalives_interval": str(timeouts.BETWEEN),
    "tcp_keepalives_count": str(timeouts.PROBES),
    "tcp_user_timeout": str(timeouts.UNACKNOWLEDGED),
}


async def connect(where: PostgresAddress, *, direct: bool = False) -> PostgresSession:
    """Open one connection, with a few tries: the server may be starting, or a standby taking over."""
    try:
        async with asyncio.timeout(where.call_timeout):
            connection = await _connect_with_retries(where, direct=direct)
    except TimeoutError as late:
        raise StoreUnavailable(f"{where.name}: no connection within {where.call_timeout:g} s") from late
    connection.keep_alive()
    return connection


async def _connect_with_retries(where: PostgresAddress, *, direct: bool) -> PostgresSession:
    for attempt in range(_TRIES):
        try:
            return await asyncpg.connect(
                where.direct_url if direct else where.url,
                timeout=where.call_timeout,
                connection_class=PostgresSession,
                statement_cache_size=_STATEMENTS_KEPT if where.prepared else 0,
                max_cached_statement_lifetime=0,
                max_cacheable_statement_size=_LONGEST_KEPT,
                server_settings=_settings_of(where, direct=direct),
            )
        except ValueError:  # asyncpg's message repeats the URL with the password
            raise InvalidInput("url", NOT_UNDERSTOOD) from None
        except (*CONNECTION_LOST, asyncpg.TooManyConnectionsError, TimeoutError) as error:
            if attempt == _TRIES - 1:
                raise StoreUnavailable(_describe(where, error)) from error
            await asyncio.sleep(random.uniform(0.5, 1) * 0.1 * 3**attempt)
        except asyncpg.PostgresError as error:
            raise StoreUnavailable(_describe(where, error)) from error
    raise AssertionError("the last try raises")


def _settings_of(where: PostgresAddress, *, direct: bool) -> dict[str, str] | None:
    if direct:
        return {"application_name": LISTENER, **_KEEPALIVE}
    return where.settings | _KEEPALIVE if where.prepared else None


def _describe(where: PostgresAddress, error: Exception) -> str:
    text = f"{where.name}: {error or type(error).__name__}"
    # A pooler without session state refuses settings of a session.
    return f"{text} (through PgBouncer, say pgbouncer=true in the URL)" if "startup parameter" in text else text


class Pool:
    """Opens connections as needed, up to a number. The connection returned last is reused first.

    Pools of one store stand beside each other: what one learns about the server holds for all.
    """

    def __init__(self, where: PostgresAddress, *, beside: Pool | None = None) -> None:
        self._where = where
        self._group: list[Pool] = [] if beside is None else beside._group
        self._group.append(self)
        self._idle: list[PostgresSession] = []
        self._trusted: set[PostgresSession] = set()  # opened since a connection was last lost
        self._free = asyncio.Semaphore(where.connections)
        self._closed = False
        self.changes = 0  # connections that were opened, and times that all were given up: the server may be another

    async def run(self, use: Callable[[PostgresSession], Awaitable[Answer]]) -> Answer:
        """Use a connection that nobody else uses meanwhile."""
        async with self._free:
            if self._closed:
                raise YardClosed
            connection = self._take_idle() or await self._open()
            try:
                return await use(connection)
            except (*CONNECTION_LOST, asyncio.CancelledError, TimeoutError):
                # An unfinished statement must not reach the next user of the connection.
                connection.terminate()
                raise
            finally:
                await self._give_back(connection)

    async def _open(self) -> PostgresSession:
        connection = await connect(self._where)
        self.changes += 1
        self._trusted.add(connection)
        return connection

    def _take_idle(self) -> PostgresSession | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._trusted.discard(connection)
        return None

    async def _give_back(self, connection: PostgresSession) -> None:
        if connection.is_closed():
            self._trusted.discard(connection)
        elif self._closed:
            await _close(connection)
        elif connection not in self._trusted:
            connection.terminate()
        else:
            self._idle.append(connection)

    async def close(self) -> None:
        self._closed = True
        self._group.remove(self)
        idle, self._idle = self._idle, []
        await asyncio.gather(*map(_close, idle))

    def lost_connection(self) -> None:
        """Use no connection again that is open now, in any pool of the store: if one is dead, others probably are.

        And a server that dies may go on answering on others for a moment, without the writes that wait for its standby.
        """
        for pool in self._group:
            pool._drop()

    def _drop(self) -> None:
        idle, self._idle = self._idle, []
        self.changes += 1
        self._trusted.clear()
        for connection in idle:
            connection.terminate()


async def _close(connection: PostgresSession) -> None:
    with suppress(*CONNECTION_LOST, TimeoutError, asyncpg.PostgresError):
        await connection.close(timeout=_GOODBYE)
