"""Runs a fast path's single statement, which is a transaction by itself: no begin, no commit, no second try."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from taskyard.stores.postgres.connection.driver_errors import ANSWER_LOST, RETRYABLE
from taskyard.stores.postgres.connection.session import PostgresSession
from taskyard.stores.postgres.connection.wakeup import Wakeup
from taskyard.stores.postgres.fast.guarded_statements import OneStatement
from taskyard.stores.postgres.transaction_runner import TransactionRunner, WriteOutcome
from taskyard.stores.shared.timeouts import PER_ROW

Answer = TypeVar("Answer")
Work = Callable[[OneStatement], Awaitable[Answer]]


class StatementRunner(TransactionRunner):
    async def read_unlocked(self, work: Work[Answer]) -> Answer:
        """Read, without locks, what a later statement writes."""

        async def on(connection: PostgresSession) -> Answer:
            return await work(await self._begin(connection, OneStatement))

        return await self._within(self._where.call_timeout, lambda _: self._on_connection(on))

    async def write_once(self, work: Work[Answer], *, rows: int = 0) -> tuple[Answer, Wakeup | None] | None:
        """Run the statement. None: it was refused or met another transaction, and nothing was written."""

        def run(outcome: WriteOutcome) -> Awaitable[tuple[Answer, Wakeup | None]]:
            return self._on_connection(lambda connection: self._run_once(connection, work, outcome))

        try:
            return await self._within(self._where.call_timeout + rows * PER_ROW, run)
        except (asyncpg.DivisionByZeroError, *RETRYABLE):
            return None

    async def _run_once(
        self, connection: PostgresSession, work: Work[Answer], outcome: WriteOutcome
    ) -> tuple[Answer, Wakeup | None]:
        transaction = await self._begin(connection, OneStatement)
        outcome.is_unknown = True
        try:
            answer = await work(transaction)
        except ANSWER_LOST as error:
            raise self._outcome_unknown(error) from error
        self._time.observe(transaction.now)
        return answer, transaction.wakeup if transaction.has_written else None
