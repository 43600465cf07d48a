"""Finds the server that has the yard, sends commands to it, and translates its errors.

All keys of a yard are on one server: the one in the URL, the master that Sentinel names, or the node of a cluster that
has the yard's slot. One connection to that server is enough. If it is lost, or if the server answers that it is the
wrong one, the search begins again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import suppress
from time import monotonic

from taskyard.core.errors import StoreFull, StoreReadOnly, StoreUnavailable, YardClosed
from taskyard.stores.contract import OutcomeUnknown
from taskyard.stores.redis.connection.address import Endpoint, Login, RedisAddress
from taskyard.stores.redis.connection.aof_repair import repair_aof
from taskyard.stores.redis.connection.protocol import ConnectionLost, ErrorReply, RedisConnection, connect
from taskyard.stores.redis.encoding import Reply, Word
from taskyard.stores.redis.scripts import Script
from taskyard.stores.shared.timeouts import CALL_TIMEOUT

# As shares of the call timeout.
SILENCE = 0.4  # time without an answer, while one is due, after which a server counts as lost
REACHED_WITHIN = 0.2  # time to open one connection
ONE_TRIED_FOR = 0.2  # duration of the search for a lost server, if it is the only one
SEVERAL_TRIED_FOR = 1.5  # and with Sentinel or in a cluster: a replica may take over
_PAUSES = (0.01, 0.5)  # seconds between tries: the first pause, and the longest

# Error codes of commands that were not executed: another server can execute them, or this server can later.
_WRONG_SERVER = frozenset({"MOVED", "READONLY", "MASTERDOWN"})
_NOT_NOW = frozenset({"ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "BUSY"})
_UNREACHABLE = (ConnectionLost, OSError, TimeoutError)


class Retries:
    """The pauses between tries of one command, and their end.

    An asynchronous generator would read better, but closing an unfinished one takes longer than a command.
    """

    def __init__(self, name: str, duration: float) -> None:
        self._duration = duration  # seconds from the first failure to the last try
        self._until: float | None = None
        self._name = name
        self._pauses = _growing_pauses()
        self._error: Exception | None = None

    async def wait(self, error: Exception | None = None) -> None:
        """Wait before the next try; raise `StoreUnavailable` after the last."""
        self._error = error or self._error
        if self._until is None:
            self._until = monotonic() + self._duration
        if monotonic() > self._until:
            raise StoreUnavailable(f"{self._name}: {self._error or 'no server took the command'}")
        await asyncio.sleep(next(self._pauses))


class RedisServer:
    """The server that has the yard."""

    def __init__(self, where: RedisAddress, call_timeout: float = CALL_TIMEOUT) -> None:
        self._where = where
        self._call_timeout = call_timeout
        self._known_hosts: list[Endpoint] = list(where.hosts)  # hosts of the URL, and nodes of a cluster
        self._last_host: Endpoint | None = None  # the last host that had the yard
        self._connection: RedisConnection | None = None
        self._search: asyncio.Task[RedisConnection] | None = None  # one search, shared by all callers
        self._closed = False

    async def execute(self, *words: Word) -> Reply:
        """Execute an idempotent command, again if its answer is lost."""
        retries = self._retries()
        while True:
            connection = await self._connect_to_yard(retries)
            try:
                return await connection.execute(*words)
            except ConnectionLost as error:
                await retries.wait(error)
            except ErrorReply as error:
                await self._handle_error(connection, error)
                await retries.wait()

    async def run(self, script: Script, *words: Word, idempotent: bool = False) -> Reply:
        """Run a script. If its answer is lost, only an idempotent one runs again: the server may have executed it."""
        retries = self._retries()
        while True:
            connection = await self._connect_to_yard(retries)
            try:
                return await self._run_on(connection, script, words)
            except ConnectionLost as error:
                if not idempotent:
                    raise OutcomeUnknown(f"{self._where.name}: the answer to a write was lost ({error})") from error
                await retries.wait(error)
            except ErrorReply as error:
                await self._handle_error(connection, error)
                await retries.wait()

    def _retries(self) -> Retries:
        several = self._where.master is not None or len(self._known_hosts) > 1
        return Retries(self._where.name, (SEVERAL_TRIED_FOR if several else ONE_TRIED_FOR) * self._call_timeout)

    async def open_another(self) -> RedisConnection:
        """Open a connection for blocking commands of the caller."""
        await self.execute("PING")
        assert self._last_host is not None
        return await self._connect_to(self._last_host)

    async def close(self) -> None:
        self._closed = True
        if self._search is not None:
            self._search.cancel()
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.finish()

    async def _run_on(self, connection: RedisConnection, script: Script, words: tuple[Word, ...]) -> Reply:
        prefix = self._where.prefix
        try:
            return await connection.execute("EVALSHA", script.digest, 1, prefix, *words)
        except ErrorReply as error:
            if error.code != "NOSCRIPT":
                raise
        # A server that was restarted or has taken over does not know the script.
        return await connection.execute("EVAL", script.text, 1, prefix, *words)

    async def _handle_error(self, connection: RedisConnection, error: ErrorReply) -> None:
        """Return if the command can be tried again; raise otherwise."""
        if error.code == "MOVED":
            self._last_host = _host_of(error)
        is_lone_replica = error.code == "READONLY" and self._where.master is None and len(self._known_hosts) == 1
        if error.code in _WRONG_SERVER and not is_lone_replica:
            await self._drop(connection)
        elif error.code not in _NOT_NOW:
            raise translate_error(error, self._where) from error

    # Connections.

    async def _connect_to_yard(self, retries: Retries) -> RedisConnection:
        """The connection to the yard's server. It is searched for until the last try."""
        while (connection := self._connection) is None or connection.is_lost:
            try:
                return await self._share_search()
            except _UNREACHABLE as error:
                await retries.wait(error)
        return connection

    async def _share_search(self) -> RedisConnection:
        """Wait for the shared search: with a search for each caller, the last would wait for the timeouts of all."""
        if self._closed:
            raise YardClosed
        if self._search is None or self._search.done():
            self._search = asyncio.create_task(self._find_server())
            self._search.add_done_callback(_retrieve_error)
        try:
            return await asyncio.shield(self._search)
        except asyncio.CancelledError:
            if self._closed and self._search.cancelled():
                raise YardClosed from None
            raise

    async def _find_server(self) -> RedisConnection:
        last: Exception = ConnectionLost("there is no such server")
        for host in await self._candidates():
            try:
                self._connection = await self._follow_redirects(host)
                return self._connection
            except _UNREACHABLE as error:
                last = error
        self._last_host = None
        raise last

    async def _follow_redirects(self, host: Endpoint) -> RedisConnection:
        """Connect to this server, and follow the redirects of a cluster to the server that has the yard."""
        until = monotonic() + self._call_timeout
        while True:
            connection = await self._connect_to(host)
            try:
                await connection.execute("EXISTS", self._where.prefix)
                self._last_host = host
                await self._learn_nodes(connection)
                await repair_aof(connection, self._where.prefix)
                return connection
            except ErrorReply as error:
                await connection.end()
                if error.code != "MOVED" or monotonic() > until:
                    raise self._connection_error(error) from error
                host = _host_of(error)

    def _connection_error(self, error: ErrorReply) -> Exception:
        if error.code in _WRONG_SERVER | _NOT_NOW:
            return ConnectionLost(str(error))
        return translate_error(error, self._where)

    async def _candidates(self) -> list[Endpoint]:
        if self._where.master is not None:
            return [await self._find_master()]
        last = [] if self._last_host is None else [self._last_host]
        return [*last, *(host for host in self._known_hosts if host != self._last_host)]

    async def _find_master(self) -> Endpoint:
        """Ask the Sentinels in turn; the first answer decides."""
        last: Exception = ConnectionLost("there is no Sentinel")
        for host in self._where.hosts:
            try:
                return await self._ask_sentinel(host)
            except (*_UNREACHABLE, ErrorReply) as error:  # it is not reachable, or is no Sentinel
                last = ConnectionLost(f"{host}: {error}")
        raise last

    async def _ask_sentinel(self, sentinel: Endpoint) -> Endpoint:
        connection = await self._open(sentinel, self._where.sentinel_login, 0)
        try:
            async with asyncio.timeout(REACHED_WITHIN * self._call_timeout):
                found = await connection.execute("SENTINEL", "get-master-addr-by-name", self._where.master or "")
        finally:
            await connection.end()
        if not found:
            raise StoreUnavailable(f"{sentinel} knows no master that is called {self._where.master}")
        return Endpoint(found[0], int(found[1]))

    async def _connect_to(self, host: Endpoint) -> RedisConnection:
        return await self._open(host, self._where.login, self._where.database)

    async def _open(self, host: Endpoint, login: Login | None, database: int) -> RedisConnection:
        async with asyncio.timeout(REACHED_WITHIN * self._call_timeout):
            silence = SILENCE * self._call_timeout
            connection = await connect(host.name, host.port, self._where.tls, silence)
            try:
                if login is not None:
                    await connection.execute("AUTH", *(code for code in login if code is not None))
                if database:
                    await connection.execute("SELECT", database)
            except ErrorReply as error:
                await connection.end()
                raise self._connection_error(error) from error
            return connection

    async def _learn_nodes(self, connection: RedisConnection) -> None:
        """Remember the other nodes of a cluster: if this one is lost, they know which node took over."""
        with suppress(ErrorReply):  # the server is not part of a cluster
            slots = await connection.execute("CLUSTER", "SLOTS")
            nodes = {Endpoint(node[0], node[1]) for _, _, *nodes in slots for node in nodes if node[0]}
            self._known_hosts = [*self._where.hosts, *sorted(nodes - set(self._where.hosts))]

    async def _drop(self, connection: RedisConnection) -> None:
        if self._connection is connection:
            self._connection = None
            await connection.end()


def _retrieve_error(search: asyncio.Task[RedisConnection]) -> None:
    """Mark the error as retrieved: all callers may have been cancelled."""
    if not search.cancelled():
        search.exception()


def _host_of(moved: ErrorReply) -> Endpoint:
    name, _, port = str(moved).split(" ")[2].rpartition(":")
    return Endpoint(name, int(port))


def _growing_pauses() -> Iterator[float]:
    pause, longest = _PAUSES
    while True:
        yield random.uniform(0.5, 1) * pause
        pause = min(2 * pause, longest)


def translate_error(error: ErrorReply, where: RedisAddress) -> Exception:
    """The error that a caller gets for an error reply. A reply that shows a bug of this program stays as it is."""
    detail = f"{where.name}: {error}"
    match error.code:
        case "OOM":
            return StoreFull(f"{where.name} is at its maxmemory; prune, or raise it with CONFIG SET maxmemory BYTES")
        case "READONLY":
            return StoreReadOnly(detail)
        case "ERR" | "WRONGTYPE" | "EXECABORT":
            return error
        case _:
            return StoreUnavailable(detail)
