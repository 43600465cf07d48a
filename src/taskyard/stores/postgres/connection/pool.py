"""Connections to the database, pooled.

No session state is kept where it is said that PgBouncer, in transaction mode, stands in between.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import asyncpg

from taskyard.core.errors import InvalidInput, StoreUnavailable, YardClosed
from taskyard.stores.postgres.connection.address import Address
from taskyard.stores.postgres.connection.driver_errors import GONE
from taskyard.stores.postgres.connection.session import Session
from taskyard.stores.shared import timeouts

Connection = Session

LISTENER = "taskyard, listening"  # how the connection that hints come by is called in pg_stat_activity

NOT_UNDERSTOOD = "must be one that PostgreSQL's client understands: look at its host, port, database and options"
_GOODBYE = 2.0  # seconds that a server may take to end a connection
_TRIES = 4  # to reach a server, with growing pauses: one may be taking over from another
_STATEMENTS_KEPT = 1000
_LONGEST_KEPT = 256 * 1024
# A client that is gone without a word must not keep its locks: the server gives it up as soon as we would the server.
_KEEPALIVE = {
    "tcp_keepalives_idle": str(timeouts.IDLE),
    "tcp_keepalives_interval": str(timeouts.BETWEEN),
    "tcp_keepalives_count": str(timeouts.PROBES),
    "tcp_user_timeout": str(timeouts.UNACKNOWLEDGED),
}


async def connect(where: Address, *, direct: bool = False) -> Connection:
    """One connection, tried a few times: a server that starts or takes over is worth waiting for."""
    try:
        async with asyncio.timeout(where.call_timeout):
            connection = await _tried(where, direct=direct)
    except TimeoutError as late:
        raise StoreUnavailable(f"{where.name}: no connection within {where.call_timeout:g} s") from late
    connection.keep_alive()
    return connection


async def _tried(where: Address, *, direct: bool) -> Connection:
    for tried in range(_TRIES):
        try:
            return await asyncpg.connect(
                where.direct_url if direct else where.url,
                timeout=where.call_timeout,
                connection_class=Session,
                statement_cache_size=_STATEMENTS_KEPT if where.prepared else 0,
                max_cached_statement_lifetime=0,
                max_cacheable_statement_size=_LONGEST_KEPT,
                server_settings=_settings_of(where, direct=direct),
            )
        except ValueError:  # of asyncpg: it repeats the URL, and with it the password
            raise InvalidInput("url", NOT_UNDERSTOOD) from None
        except (*GONE, asyncpg.TooManyConnectionsError, TimeoutError) as error:
            if tried == _TRIES - 1:
                raise StoreUnavailable(_complaint(where, error)) from error
            await asyncio.sleep(random.uniform(0.5, 1) * 0.1 * 3**tried)
        except asyncpg.PostgresError as error:
            raise StoreUnavailable(_complaint(where, error)) from error
    raise AssertionError("the last try raises")


def _settings_of(where: Address, *, direct: bool) -> dict[str, str] | None:
    if direct:
        return {"application_name": LISTENER, **_KEEPALIVE}
    return where.settings | _KEEPALIVE if where.prepared else None


def _complaint(where: Address, error: Exception) -> str:
    told = f"{where.name}: {error or type(error).__name__}"
    # A pooler takes no settings for a session that it does not keep.
    return f"{told} (through PgBouncer, say pgbouncer=true in the URL)" if "startup parameter" in told else told


class Pool:
    """As many connections as are in use at once, up to a number. The last one given back is the next one taken."""

    def __init__(self, where: Address) -> None:
        self._where = where
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(where.connections)
        self._closed = False

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[Connection]:
        async with self._free:
            if self._closed:
                raise YardClosed
            connection = self._known() or await connect(self._where)
            try:
                yield connection
            except (*GONE, asyncio.CancelledError, TimeoutError):
                # Whatever it was in the middle of, it is not to be met by the next one.
                connection.terminate()
                raise
            finally:
                await self._take_back(connection)

    def _known(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    async def _take_back(self, connection: Connection) -> None:
        if connection.is_closed():
            return
        if self._closed:
            await _end(connection)
        else:
            self._idle.append(connection)

    async def close(self) -> None:
        self._closed = True
        idle, self._idle = self._idle, []
        await asyncio.gather(*map(_end, idle))

    def forget_idle(self) -> None:
        """When one is found dead or silent, the others are likely to be: none of them is waited for."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.terminate()


async def _end(connection: Connection) -> None:
    with suppress(*GONE, TimeoutError, asyncpg.PostgresError):
        await connection.close(timeout=_GOODBYE)
