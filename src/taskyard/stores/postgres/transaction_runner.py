"""Runs transactions on pooled connections, and repeats those that conflict with other transactions."""

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
from taskyard.stores.postgres.connection.address import PostgresAddress
from taskyard.stores.postgres.connection.driver_errors import CONNECTION_LOST, RETRYABLE, translate_error
from taskyard.stores.postgres.connection.pool import Pool
from taskyard.stores.postgres.connection.reader import PostgresReader
from taskyard.stores.postgres.connection.session import PostgresSession
from taskyard.stores.postgres.connection.wakeup import Wakeup
from taskyard.stores.postgres.statements import Statements
from taskyard.stores.postgres.transaction import CeilingsChanged, PostgresTransaction, RowsLocked
from taskyard.stores.shared.store_clock import StoreClock
from taskyard.stores.shared.timeouts import PER_ROW
from taskyard.stores.turns import in_haste

Answer = TypeVar("Answer")

_TRIES = 50  # of one transaction that conflicts with others
_CONNECTIONS = 3  # dead connections before the store counts as unavailable


@dataclass(slots=True)
class Obstacles:
    """What earlier tries of a transaction conflicted with: the next try begins by waiting for it."""

    task_ids: frozenset[TaskId] = frozenset()
    limits: frozenset[str] = frozenset()
    check_new_ids: bool = False  # an insert met an existing id or key


@dataclass(slots=True)
class WriteOutcome:
    """Whether the outcome of a write is known, if it takes too long."""

    is_unknown: bool = False  # its last statement was sent, so it may be stored


Work = Callable[[PostgresTransaction, Obstacles], Awaitable[Answer]]
Kind = TypeVar("Kind", bound=PostgresTransaction)


class TransactionRunner:
    def __init__(
        self, where: PostgresAddress, pool: Pool, sql: Statements, time: StoreClock, *, is_repeated: bool = True
    ) -> None:
        self._where = where
        # Work that its caller prepared on one connection is not repeated on another: the server may be another one.
        self._connections = _CONNECTIONS if is_repeated else 1
        self._pool = pool
        self._sql = sql
        self._time = time

    @property
    def unrepeated(self) -> TransactionRunner:
        return TransactionRunner(self._where, self._pool, self._sql, self._time, is_repeated=False)

    async def read(self, read: Callable[[PostgresReader], Awaitable[Answer]], *, within: float | None = None) -> Answer:
        async def on(connection: PostgresSession) -> Answer:
            return await read(PostgresReader(connection, self._sql))

        return await self._within(within or self._where.call_timeout, lambda _: self._on_connection(on))

    async def write(self, work: Work[Answer], *, begin: str = "", rows: int = 0) -> tuple[Answer, Wakeup | None]:
        """Run the work in a transaction, again after conflicts. Answers also the wake-up, if something was written."""
        within = self._where.call_timeout + rows * PER_ROW
        return await self._within(within, lambda outcome: self._write(work, begin, outcome))

    async def _write(self, work: Work[Answer], begin: str, outcome: WriteOutcome) -> tuple[Answer, Wakeup | None]:
        obstacles, begin = Obstacles(), f"{begin or self._sql['begin']}{self._where.settings_per_transaction}"

        async def on(connection: PostgresSession) -> tuple[Answer, Wakeup | None]:
            return await self._run_transaction(connection, begin, work, obstacles, outcome)

        for tried in range(_TRIES):
            try:
                return await self._on_connection(on)
            except RowsLocked as contended:
                obstacles.task_ids |= contended.task_ids
            except CeilingsChanged as moved:
                obstacles.limits |= moved.names
            except RETRYABLE as error:
                if tried == _TRIES - 1:
                    raise
                obstacles.check_new_ids = obstacles.check_new_ids or isinstance(error, asyncpg.UniqueViolationError)
                await asyncio.sleep(random.uniform(0, 0.001 * min(2**tried, 50)))
        raise StoreUnavailable(f"{self._where.name}: others were in the way {_TRIES} times")

    async def _within(self, within: float, work: Callable[[WriteOutcome], Awaitable[Answer]]) -> Answer:
        """End work that takes longer. Its connection and all idle ones are closed: the network may be dead."""
        outcome = WriteOutcome()
        try:
            async with asyncio.timeout(within):
                return await work(outcome)
        except TimeoutError as late:
            self._pool.lost_connection()
            silence = TimeoutError(f"no answer within {within:g} s")
            if outcome.is_unknown:
                raise self._outcome_unknown(silence) from late
            raise translate_error(silence, self._where) or silence from late

    async def _on_connection(self, use: Callable[[PostgresSession], Awaitable[Answer]]) -> Answer:
        """Use a connection. One that was lost while idle fails only now: then forget all open ones, and try another."""
        for tried in range(self._connections):
            try:
                return await self._pool.run(use)
            except OutcomeUnknown:
                self._pool.lost_connection()
                raise
            except (*CONNECTION_LOST, asyncpg.PostgresError) as error:
                if isinstance(error, RETRYABLE):
                    raise
                refusal = translate_error(error, self._where)
                if refusal is None:
                    raise
                if isinstance(refusal, StoreUnavailable):
                    self._pool.lost_connection()
                if not isinstance(refusal, StoreUnavailable) or tried == self._connections - 1:
                    raise refusal from error
        raise AssertionError("the last try raises")

    async def _run_transaction(
        self, connection: PostgresSession, begin: str, work: Work[Answer], obstacles: Obstacles, outcome: WriteOutcome
    ) -> tuple[Answer, Wakeup | None]:
        outcome.is_unknown = False
        await connection.execute(begin)
        transaction = await self._begin(connection, PostgresTransaction)
        try:
            with in_haste():  # others may wait for what it locks
                answer = await work(transaction, obstacles)
        except Exception:
            with suppress(*CONNECTION_LOST, asyncpg.PostgresError):
                await connection.execute(self._sql["rollback"])
            raise
        outcome.is_unknown = True
        try:
            await connection.execute(self._sql["commit"])
        except CONNECTION_LOST as error:
            raise self._outcome_unknown(error) from error
        self._time.observe(transaction.now)
        return answer, transaction.wakeup if transaction.has_written else None

    async def _begin(self, connection: PostgresSession, kind: type[Kind]) -> Kind:
        uses_server_clock = self._time.uses_server_clock
        if not uses_server_clock:
            # The given clocks of several processes may differ, so the last stored time counts too.
            self._time.observe(await connection.fetchval(self._sql["latest_time"]))
        return kind(connection, self._sql, self._time.now(), store_clock=uses_server_clock)

    def _outcome_unknown(self, error: Exception) -> OutcomeUnknown:
        """The write may be stored or not. Repeating it could store it twice."""
        return OutcomeUnknown(f"{self._where.name}: the answer to a commit was lost ({error})")
