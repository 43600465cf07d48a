"""Beginning and ending transactions, and doing again what others were in the way of."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

import asyncpg

from taskyard.core.errors import StoreUnavailable
from taskyard.core.task import TaskId
from taskyard.stores.contract import OutcomeUnknown
from taskyard.stores.postgres.connection.address import Address
from taskyard.stores.postgres.connection.driver_errors import CONTENDED, GONE, UNHEARD, refusal_of
from taskyard.stores.postgres.connection.pool import Connection, Pool
from taskyard.stores.postgres.connection.wakeups import News
from taskyard.stores.postgres.queries import Reader
from taskyard.stores.postgres.statements import Statements
from taskyard.stores.postgres.transaction import CeilingsMoved, Contended, Transaction
from taskyard.stores.shared.store_clock import StoreClock
from taskyard.stores.shared.timeouts import PER_ROW

Answer = TypeVar("Answer")

_TRIES = 50  # of one transaction that others are in the way of
_CONNECTIONS = 3  # that may be found dead before it is said that the store does not answer


@dataclass(slots=True)
class Met:
    """What earlier tries of a transaction found in their way: the next begins by waiting for it."""

    task_ids: frozenset[TaskId] = frozenset()
    limits: frozenset[str] = frozenset()
    wary: bool = False  # something was new that is there already


@dataclass(slots=True)
class Fate:
    """What is known of a write that takes too long."""

    is_unknown: bool = False  # it may be stored: its last statement was sent


Work = Callable[[Transaction, Met], Awaitable[Answer]]
Statement = Callable[[Transaction], Awaitable[Answer]]


class Transactions:
    def __init__(self, where: Address, pool: Pool, sql: Statements, time: StoreClock) -> None:
        self._where = where
        self._pool = pool
        self._sql = sql
        self._time = time

    async def read(self, read: Callable[[Reader], Awaitable[Answer]], *, within: float | None = None) -> Answer:
        async def on(connection: Connection) -> Answer:
            return await read(Reader(connection, self._sql))

        async with self._in_time(within or self._where.call_timeout):
            return await self._on_some_connection(on)

    async def write(self, work: Work[Answer], *, begin: str = "", rows: int = 0) -> tuple[Answer, News | None]:
        """Do the work in a transaction, again until nobody is in the way; and the news, where anything was written."""
        async with self._in_time(self._where.call_timeout + rows * PER_ROW) as fate:
            return await self._write(work, begin, fate)

    async def _write(self, work: Work[Answer], begin: str, fate: Fate) -> tuple[Answer, News | None]:
        met, begin = Met(), f"{begin or self._sql['begin']}{self._where.settings_each_time}"

        async def on(connection: Connection) -> tuple[Answer, News | None]:
            return await self._transact(connection, begin, work, met, fate)

        for tried in range(_TRIES):
            try:
                return await self._on_some_connection(on)
            except Contended as contended:
                met.task_ids |= contended.task_ids
            except CeilingsMoved as moved:
                met.limits |= moved.names
            except CONTENDED as error:
                if tried == _TRIES - 1:
                    raise
                met.wary = met.wary or isinstance(error, asyncpg.UniqueViolationError)
                await asyncio.sleep(random.uniform(0, 0.001 * min(2**tried, 50)))
        raise StoreUnavailable(f"{self._where.name}: others were in the way {_TRIES} times")

    async def look(self, work: Statement[Answer]) -> Answer:
        """Read what is to be written in one statement later."""

        async def on(connection: Connection) -> Answer:
            return await work(await self._begun(connection, whole=True))

        async with self._in_time(self._where.call_timeout):
            return await self._on_some_connection(on)

    async def write_at_once(self, work: Statement[Answer], *, rows: int = 0) -> tuple[Answer, News | None] | None:
        """Do the work in one statement, a transaction by itself. None: something is in the way, nothing was written."""
        try:
            async with self._in_time(self._where.call_timeout + rows * PER_ROW) as fate:
                return await self._on_some_connection(lambda connection: self._state(connection, work, fate))
        except (asyncpg.DivisionByZeroError, *CONTENDED):
            return None

    @asynccontextmanager
    async def _in_time(self, within: float) -> AsyncGenerator[Fate]:
        """End what takes longer. Its connection is given up with those that are idle: the line may be silent."""
        fate = Fate()
        try:
            async with asyncio.timeout(within):
                yield fate
        except TimeoutError as late:
            self._pool.forget_idle()
            silence = TimeoutError(f"no answer within {within:g} s")
            if fate.is_unknown:
                raise self._unknown(silence) from late
            raise refusal_of(silence, self._where) or silence from late

    async def _on_some_connection(self, use: Callable[[Connection], Awaitable[Answer]]) -> Answer:
        """One that was lost while idle is noticed only when it is used: then all that are idle are given up."""
        for tried in range(_CONNECTIONS):
            try:
                async with self._pool.connection() as connection:
                    return await use(connection)
            except (*GONE, asyncpg.PostgresError) as error:
                if isinstance(error, CONTENDED):
                    raise
                refusal = refusal_of(error, self._where)
                if refusal is None:
                    raise
                if not isinstance(refusal, StoreUnavailable) or tried == _CONNECTIONS - 1:
                    raise refusal from error
                self._pool.forget_idle()
        raise AssertionError("the last try raises")

    async def _state(self, connection: Connection, work: Statement[Answer], fate: Fate) -> tuple[Answer, News | None]:
        transaction = await self._begun(connection, whole=True)
        fate.is_unknown = True
        try:
            answer = await work(transaction)
        except UNHEARD as error:
            raise self._unknown(error) from error
        self._time.observe(transaction.now)
        return answer, transaction.news if transaction.wrote else None

    async def _transact(
        self, connection: Connection, begin: str, work: Work[Answer], met: Met, fate: Fate
    ) -> tuple[Answer, News | None]:
        fate.is_unknown = False
        await connection.execute(begin)
        transaction = await self._begun(connection)
        try:
            answer = await work(transaction, met)
        except Exception:
            with suppress(*GONE, asyncpg.PostgresError):
                await connection.execute(self._sql["rollback"])
            raise
        fate.is_unknown = True
        try:
            await connection.execute(self._sql["commit"])
        except GONE as error:
            raise self._unknown(error) from error
        self._time.observe(transaction.now)
        return answer, transaction.news if transaction.wrote else None

    async def _begun(self, connection: Connection, *, whole: bool = False) -> Transaction:
        uses_server_clock = self._time.uses_server_clock
        if not uses_server_clock:
            # Clocks of several processes may differ; that of the database is one for all.
            self._time.observe(await connection.fetchval(self._sql["last_told"]))
        return Transaction(connection, self._sql, self._time.now(), store_clock=uses_server_clock, whole=whole)

    def _unknown(self, error: Exception) -> OutcomeUnknown:
        """It may have been stored or not: to do it again would be to do it twice."""
        return OutcomeUnknown(f"{self._where.name}: the answer to a commit was lost ({error})")
