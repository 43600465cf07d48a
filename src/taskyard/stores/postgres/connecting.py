"""Connections to the database, pooled; and what its errors mean to a caller.

No session state is kept where it is said that PgBouncer, in transaction mode, stands in between.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from taskyard.core.errors import (
    InvalidInput,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreReplaced,
    StoreUnavailable,
    Unavailable,
    YardClosed,
)
from taskyard.stores.postgres.session import Session
from taskyard.stores.shared import patience

Connection = Session

LISTENER = "taskyard, listening"  # how the connection that hints come by is called in pg_stat_activity

NOT_UNDERSTOOD = "must be one that PostgreSQL's client understands: look at its host, port, database and options"
_GOODBYE = 2.0  # seconds that a server may take to end a connection
_TRIES = 4  # to reach a server, with growing pauses: one may be taking over from another
_MOST_CONNECTIONS = 10
_STATEMENTS_KEPT = 1000
_LONGEST_KEPT = 256 * 1024
# A statement is planned once, often while its tables are still small: without sequential scans. Where there is nothing
# but one, that makes it look so dear that it would be compiled, which takes longer than it runs. A session that stops
# in the middle of a transaction is ended: others wait for its rows, and the tail of events for its numbers.
_SETTINGS = {"enable_seqscan": "off", "jit": "off", "idle_in_transaction_session_timeout": "30s"}
# A client that is gone without a word must not keep its locks: the server gives it up as soon as we would the server.
_KEEPALIVE = {
    "tcp_keepalives_idle": str(patience.IDLE),
    "tcp_keepalives_interval": str(patience.BETWEEN),
    "tcp_keepalives_count": str(patience.PROBES),
    "tcp_user_timeout": str(patience.UNACKNOWLEDGED),
}
_FOR_CLAIMS = _SETTINGS | {"plan_cache_mode": "force_generic_plan"}  # as lock_plan has it

# Errors after which the same transaction may do better.
CONTENDED = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.UniqueViolationError,
    asyncpg.LockNotAvailableError,
)
# Errors after which it is not known what the server has done: it has not said.
UNHEARD = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the server said good-bye while nobody asked it anything
    OSError,
)
# Errors that say that the connection is of no use any more.
GONE = (
    *UNHEARD,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)


class Address(NamedTuple):
    """Where the database is, and how it may be spoken to."""

    url: str
    direct_url: str  # for LISTEN, which PgBouncer in transaction mode cannot pass on
    connections: int
    prepared: bool  # whether a session is kept between transactions: what was set in it, and statements prepared
    schema: str
    settings: dict[str, str] = _SETTINGS  # of a session
    call_timeout: float = patience.CALL_TIMEOUT  # seconds

    @property
    def spares_one(self) -> bool:
        """Whether one of the connections is for claims alone: a session that is kept, and not the only one."""
        return self.prepared and self.connections > 1

    @property
    def for_claims(self) -> Address:
        """That one: on it nothing is planned anew."""
        return self._replace(connections=1, settings=_FOR_CLAIMS)

    @property
    def for_all_else(self) -> Address:
        return self._replace(connections=self.connections - self.spares_one)

    @property
    def settings_each_time(self) -> str:
        """To begin a transaction with, where nothing can be set for a session."""
        return "" if self.prepared else "".join(f"; set local {name} = '{value}'" for name, value in _SETTINGS.items())

    @property
    def name(self) -> str:
        """For messages: without the password."""
        parts = urlsplit(self.url)
        return f"{parts.netloc.rpartition('@')[2] or 'the local socket'}{parts.path}"


def address(url: str, schema: str, call_timeout: float = patience.CALL_TIMEOUT) -> Address:
    """Take our own options out of the URL: schema, pool_size, pgbouncer=true, listen_url."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    given = options.pop("pool_size", str(_MOST_CONNECTIONS))
    if not (given.isascii() and given.isdigit() and len(given) < 5):
        raise InvalidInput("url", "must have a number as its pool_size")
    size = int(given)
    pooler = options.pop("pgbouncer", "false").lower() in ("true", "1", "yes")
    listen = options.pop("listen_url", "")
    schema = options.pop("schema", schema)
    if "," in parts.netloc or "," in options.get("host", ""):
        options.setdefault("target_session_attrs", "primary")  # of several servers, the one that takes writes
    plain = urlunsplit(parts._replace(scheme="postgresql", query=urlencode(options)))
    direct = listen or ("" if pooler else plain)
    return Address(plain, direct, max(size, 1), not pooler, schema, call_timeout=call_timeout)


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


def refusal_of(error: BaseException, where: Address) -> Unavailable | None:
    """What an error of the driver means to a caller; None where it is a mistake of this program."""
    detail = f"{where.name}: {error or type(error).__name__}"
    match error:
        case asyncpg.DataCorruptedError() | asyncpg.IndexCorruptedError():
            return StoreCorrupt(detail)
        case asyncpg.UndefinedTableError():  # of a yard that was open: its schema was dropped
            return StoreReplaced(where.name)
        case asyncpg.DiskFullError():
            return StoreFull(detail)
        case asyncpg.ReadOnlySQLTransactionError():
            return StoreReadOnly(detail)
        case asyncpg.InterfaceError() if "connection" not in str(error):
            return None
        case asyncpg.InsufficientResourcesError() | asyncpg.OperatorInterventionError() | asyncpg.PostgresIOError():
            return StoreUnavailable(detail)
        case asyncpg.IdleInTransactionSessionTimeoutError() | asyncpg.InternalClientError():
            return StoreUnavailable(detail)
        case asyncpg.PostgresConnectionError() | asyncpg.InterfaceError() | OSError() | TimeoutError():
            return StoreUnavailable(detail)
        case _:
            return None
