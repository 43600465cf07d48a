"""Beginning and ending transactions, and doing again what others were in the way of."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import asyncpg

from taskyard.core.errors import StoreUnavailable
from taskyard.core.task import TaskId
from taskyard.stores.contract import OutcomeUnknown
from taskyard.stores.postgres.connecting import CONTENDED, GONE, Address, Connection, Pool, refusal_of
from taskyard.stores.postgres.news import News
from taskyard.stores.postgres.reading import Reader
from taskyard.stores.postgres.statements import Statements
from taskyard.stores.postgres.transaction import CeilingsMoved, Contended, Transaction
from taskyard.stores.telling_time import StoreTime

Answer = TypeVar("Answer")

_TRIES = 50  # of one transaction that others are in the way of
_CONNECTIONS = 3  # that may be found dead before it is said that the store does not answer


@dataclass(slots=True)
class Met:
    """What earlier tries of a transaction found in their way: the next begins by waiting for it."""

    task_ids: frozenset[TaskId] = frozenset()
    limits: frozenset[str] = frozenset()
    wary: bool = False  # something was new that is there already


Work = Callable[[Transaction, Met], Awaitable[Answer]]


class Transactions:
    def __init__(self, where: Address, pool: Pool, sql: Statements, time: StoreTime) -> None:
        self._where = where
        self._pool = pool
        self._sql = sql
        self._time = time

    async def read(self, read: Callable[[Reader], Awaitable[Answer]]) -> Answer:
        async def on(connection: Connection) -> Answer:
            return await read(Reader(connection, self._sql))

        return await self._on_some_connection(on)

    async def write(self, work: Work[Answer], *, begin: str = "") -> tuple[Answer, News | None]:
        """Do the work in a transaction, again until nobody is in the way; and the news, where anything was written."""
        met, begin = Met(), begin or self._sql["begin"]
        for tried in range(_TRIES):
            try:
                return await self._on_some_connection(lambda connection: self._transact(connection, begin, work, met))
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
                await self._pool.forget_idle()
        raise AssertionError("the last try raises")

    async def _transact(
        self, connection: Connection, begin: str, work: Work[Answer], met: Met
    ) -> tuple[Answer, News | None]:
        await connection.execute(begin)
        if not self._time.is_the_stores:
            # Clocks of several processes may differ; that of the database is one for all.
            self._time.hear(await connection.fetchval(self._sql["last_told"]))
        transaction = Transaction(connection, self._sql, self._time.now(), store_clock=self._time.is_the_stores)
        try:
            answer = await work(transaction, met)
        except BaseException:
            with suppress(*GONE, asyncpg.PostgresError):
                await connection.execute(self._sql["rollback"])
            raise
        try:
            await connection.execute(self._sql["commit"])
        except GONE as error:
            # It may have been stored or not: to do it again would be to do it twice.
            raise OutcomeUnknown(f"{self._where.name}: the answer to a commit was lost ({error})") from error
        self._time.hear(transaction.now)
        return answer, transaction.news if transaction.wrote else None
