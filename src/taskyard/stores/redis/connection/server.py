"""Finding the server that has the yard, and asking it; and what its errors mean to a caller.

All keys of a yard are on one server, whichever it is at the time: the one the URL names, the one that Sentinel says is
the master, or the node of a cluster that has the yard's slot. So one connection is enough, to that server; when it goes
away or says that it is the wrong one, the right one is looked for again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import suppress
from time import monotonic

from taskyard.core.errors import StoreFull, StoreReadOnly, StoreUnavailable, YardClosed
from taskyard.stores.contract import OutcomeUnknown
from taskyard.stores.redis.connection.address import Address, Host, Login
from taskyard.stores.redis.connection.aof_repair import heal
from taskyard.stores.redis.connection.protocol import Connection, Lost, Refusal, connect
from taskyard.stores.redis.encoding import Reply, Word
from taskyard.stores.redis.scripts import Script
from taskyard.stores.shared.timeouts import CALL_TIMEOUT

# Shares of the time that a call may take.
SILENCE = 0.4  # without any answer, while one is due, after which a server counts as gone
REACHED_WITHIN = 0.2  # to make one connection
ONE_TRIED_FOR = 0.2  # that a server is looked for, once it is gone, where there is only this one
SEVERAL_TRIED_FOR = 1.5  # and where there are several: a replica may be about to take over
_PAUSES = (0.01, 0.5)  # seconds between tries: the first, and the longest

# The command was not carried out, and will be by another server, or by this one soon.
_WRONG_SERVER = frozenset({"MOVED", "READONLY", "MASTERDOWN"})
_NOT_NOW = frozenset({"ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "BUSY"})
_ELSEWHERE = (Lost, OSError, TimeoutError)


class _Tries:
    """How often one command was tried, and for how long there is hope.

    An asynchronous generator would read better, but one that is left in its middle is closed by a task of its own: that
    took longer than a command.
    """

    def __init__(self, name: str, tried_for: float) -> None:
        self._tried_for = tried_for  # from when it is first met with silence
        self._until: float | None = None
        self._name = name
        self._pauses = _growing()
        self._why: Exception | None = None

    async def again(self, why: Exception | None = None) -> None:
        """Wait until it is worth another try; `StoreUnavailable` where it is not any more."""
        self._why = why or self._why
        if self._until is None:
            self._until = monotonic() + self._tried_for
        if monotonic() > self._until:
            raise StoreUnavailable(f"{self._name}: {self._why or 'no server took the command'}")
        await asyncio.sleep(next(self._pauses))


class Server:
    """The server that has the yard."""

    def __init__(self, where: Address, call_timeout: float = CALL_TIMEOUT) -> None:
        self._where = where
        self._call_timeout = call_timeout
        self._known: list[Host] = list(where.hosts)  # those of the URL, and the nodes of a cluster that were heard of
        self._last: Host | None = None  # where the yard was found last
        self._connection: Connection | None = None
        self._search: asyncio.Task[Connection] | None = None  # for the server, shared by all who want it
        self._closed = False

    async def ask(self, *words: Word) -> Reply:
        """A command that may as well be carried out twice."""
        tries = self._tries()
        while True:
            connection = await self._connected(tries)
            try:
                return await connection.ask(*words)
            except Lost as lost:
                await tries.again(lost)
            except Refusal as refusal:
                await self._weigh(connection, refusal)
                await tries.again()

    async def run(self, script: Script, *words: Word, twice: bool = False) -> Reply:
        """A script. Where its answer is lost, it may have been carried out: to do it again might be to do it twice."""
        tries = self._tries()
        while True:
            connection = await self._connected(tries)
            try:
                return await self._run_on(connection, script, words)
            except Lost as lost:
                if not twice:
                    raise OutcomeUnknown(f"{self._where.name}: the answer to a write was lost ({lost})") from lost
                await tries.again(lost)
            except Refusal as refusal:
                await self._weigh(connection, refusal)
                await tries.again()

    def _tries(self) -> _Tries:
        several = self._where.master is not None or len(self._known) > 1
        return _Tries(self._where.name, (SEVERAL_TRIED_FOR if several else ONE_TRIED_FOR) * self._call_timeout)

    async def open_another(self) -> Connection:
        """A connection of the caller's own, to wait on."""
        await self.ask("PING")
        assert self._last is not None
        return await self._greet(self._last)

    async def close(self) -> None:
        self._closed = True
        if self._search is not None:
            self._search.cancel()
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.finish()

    async def _run_on(self, connection: Connection, script: Script, words: tuple[Word, ...]) -> Reply:
        prefix = self._where.prefix
        try:
            return await connection.ask("EVALSHA", script.digest, 1, prefix, *words)
        except Refusal as refusal:
            if refusal.word != "NOSCRIPT":
                raise
        # A server that was restarted, or has taken over, knows no scripts.
        return await connection.ask("EVAL", script.text, 1, prefix, *words)

    async def _weigh(self, connection: Connection, refusal: Refusal) -> None:
        """Return where the command is worth another try."""
        if refusal.word == "MOVED":
            self._last = _host_of(refusal)
        alone = refusal.word == "READONLY" and self._where.master is None and len(self._known) == 1
        if refusal.word in _WRONG_SERVER and not alone:
            await self._give_up(connection)
        elif refusal.word not in _NOT_NOW:
            raise meaning(refusal, self._where) from refusal

    # Connections.

    async def _connected(self, tries: _Tries) -> Connection:
        """The connection to the yard's server, which is looked for as long as there is hope."""
        while (connection := self._connection) is None or connection.is_lost:
            try:
                return await self._found()
            except _ELSEWHERE as error:
                await tries.again(error)
        return connection

    async def _found(self) -> Connection:
        """One search serves all who wait: one after the other, the last would wait for all the others' time-outs."""
        if self._closed:
            raise YardClosed
        if self._search is None or self._search.done():
            self._search = asyncio.create_task(self._find())
            self._search.add_done_callback(_heard)
        try:
            return await asyncio.shield(self._search)
        except asyncio.CancelledError:
            if self._closed and self._search.cancelled():
                raise YardClosed from None
            raise

    async def _find(self) -> Connection:
        why: Exception = Lost("there is no such server")
        for host in await self._candidates():
            try:
                self._connection = await self._settle_on(host)
                return self._connection
            except _ELSEWHERE as error:
                why = error
        self._last = None
        raise why

    async def _settle_on(self, host: Host) -> Connection:
        """From this server to the one that has the yard, as it says itself where it is part of a cluster."""
        until = monotonic() + self._call_timeout
        while True:
            connection = await self._greet(host)
            try:
                await connection.ask("EXISTS", self._where.prefix)
                self._last = host
                await self._learn_nodes(connection)
                await heal(connection, self._where.prefix)
                return connection
            except Refusal as refusal:
                await connection.end()
                if refusal.word != "MOVED" or monotonic() > until:
                    raise self._unusable(refusal) from refusal
                host = _host_of(refusal)

    def _unusable(self, refusal: Refusal) -> Exception:
        if refusal.word in _WRONG_SERVER | _NOT_NOW:
            return Lost(str(refusal))
        return meaning(refusal, self._where)

    async def _candidates(self) -> list[Host]:
        if self._where.master is not None:
            return [await self._master()]
        last = [] if self._last is None else [self._last]
        return [*last, *(host for host in self._known if host != self._last)]

    async def _master(self) -> Host:
        """What the first Sentinel that answers says."""
        why: Exception = Lost("there is no Sentinel")
        for host in self._where.hosts:
            try:
                return await self._asked_of(host)
            except (*_ELSEWHERE, Refusal) as error:  # it is not there, or is no Sentinel
                why = Lost(f"{host}: {error}")
        raise why

    async def _asked_of(self, sentinel: Host) -> Host:
        connection = await self._open(sentinel, self._where.sentinel_login, 0)
        try:
            async with asyncio.timeout(REACHED_WITHIN * self._call_timeout):
                found = await connection.ask("SENTINEL", "get-master-addr-by-name", self._where.master or "")
        finally:
            await connection.end()
        if not found:
            raise StoreUnavailable(f"{sentinel} knows no master that is called {self._where.master}")
        return Host(found[0], int(found[1]))

    async def _greet(self, host: Host) -> Connection:
        return await self._open(host, self._where.login, self._where.database)

    async def _open(self, host: Host, login: Login | None, database: int) -> Connection:
        async with asyncio.timeout(REACHED_WITHIN * self._call_timeout):
            silence = SILENCE * self._call_timeout
            connection = await connect(host.name, host.port, self._where.tls, silence)
            try:
                if login is not None:
                    await connection.ask("AUTH", *(word for word in login if word is not None))
                if database:
                    await connection.ask("SELECT", database)
            except Refusal as refusal:
                await connection.end()
                raise self._unusable(refusal) from refusal
            return connection

    async def _learn_nodes(self, connection: Connection) -> None:
        """The other nodes of a cluster: when this one is gone, they know which has taken over."""
        with suppress(Refusal):  # it is no cluster
            slots = await connection.ask("CLUSTER", "SLOTS")
            nodes = {Host(node[0], node[1]) for _, _, *nodes in slots for node in nodes if node[0]}
            self._known = [*self._where.hosts, *sorted(nodes - set(self._where.hosts))]

    async def _give_up(self, connection: Connection) -> None:
        if self._connection is connection:
            self._connection = None
            await connection.end()


def _heard(search: asyncio.Task[Connection]) -> None:
    """Whoever waited for it may have gone away: its error is no unheard one."""
    if not search.cancelled():
        search.exception()


def _host_of(moved: Refusal) -> Host:
    name, _, port = str(moved).split(" ")[2].rpartition(":")
    return Host(name, int(port))


def _growing() -> Iterator[float]:
    pause, longest = _PAUSES
    while True:
        yield random.uniform(0.5, 1) * pause
        pause = min(2 * pause, longest)


def meaning(refusal: Refusal, where: Address) -> Exception:
    """What an error of the server means to a caller; one that is a mistake of this program stays as it is."""
    detail = f"{where.name}: {refusal}"
    match refusal.word:
        case "OOM":
            return StoreFull(f"{where.name} is at its maxmemory; prune, or raise it with CONFIG SET maxmemory BYTES")
        case "READONLY":
            return StoreReadOnly(detail)
        case "ERR" | "WRONGTYPE" | "EXECABORT":
            return refusal
        case _:
            return StoreUnavailable(detail)
