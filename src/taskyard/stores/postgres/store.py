"""A yard in a schema of a PostgreSQL database, shared by any number of processes and machines.

What is stored is decided in `landing`, `lifting` and `claims`, by the functions of the core; this module only passes
on, and tells others that something was written.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Concatenate, ParamSpec, TypeVar

from taskyard.core.changes import Beat, ChangeSet, Committed, Conflict, Taken, Touch
from taskyard.core.claiming import ClaimPlan, Pace
from taskyard.core.errors import StoreUnavailable, Unavailable, YardClosed
from taskyard.core.task import Hot, Lane, LaneId, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import Claimed, Clock, Extended, Stale
from taskyard.stores.postgres import claims, commits, queries, small_writes
from taskyard.stores.postgres.connection import schema, wakeups
from taskyard.stores.postgres.connection.address import address
from taskyard.stores.postgres.connection.notify_channel import Waking
from taskyard.stores.postgres.connection.pool import Pool
from taskyard.stores.postgres.connection.wakeups import News
from taskyard.stores.postgres.external_transaction import PostgresGuest
from taskyard.stores.postgres.fast import single_statement
from taskyard.stores.postgres.fast.claim_cursors import Floors, Place
from taskyard.stores.postgres.fast.optimistic_claim import PlainClaims
from taskyard.stores.postgres.queries import Reader
from taskyard.stores.postgres.statements import statements
from taskyard.stores.postgres.transaction import Transaction
from taskyard.stores.postgres.transaction_runner import Met, Transactions
from taskyard.stores.shared.commits.change_sets import add_counts, check_consistency, count_rows
from taskyard.stores.shared.migrations import State
from taskyard.stores.shared.read_batching import ReadBatcher
from taskyard.stores.shared.reads import Reads
from taskyard.stores.shared.store_clock import MEASURED_EVERY, StoreClock
from taskyard.stores.shared.timeouts import CALL_TIMEOUT, SLOW_CALL_TIMEOUT
from taskyard.stores.shared.waiters import ANYTHING

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class PostgresStore(Reads):
    secret: bytes
    pace = Pace(commits=2)

    def __init__(
        self,
        url: str,
        *,
        clock: Clock | None = None,
        schema: str = "taskyard",
        migrates: bool = True,
        call_timeout: float = CALL_TIMEOUT,
    ) -> None:
        self._url = url
        self._clock = clock
        self._migrates = migrates
        self._where = address(url, schema, call_timeout)
        self._sql = statements(self._where.schema)
        self._time = StoreClock(clock)
        self._pool: Pool | None = None
        self._transactions: Transactions | None = None
        self._waking: Waking | None = None
        self._measuring: asyncio.Task[None] | None = None
        self._writing: set[asyncio.Task[Any]] = set()
        self._loading = ReadBatcher[Hot](lambda task_ids: self._query("load", task_ids))
        self._floors = Floors()
        self._plain_claims: PlainClaims | None = None
        self._process = 0

    def twin(self) -> PostgresStore:
        return PostgresStore(
            self._url,
            clock=self._clock,
            schema=self._sql.schema,
            migrates=self._migrates,
            call_timeout=self._where.call_timeout,
        )

    def join(self, connection: Any) -> PostgresGuest:
        return PostgresGuest(connection, self._sql)

    async def schema(self) -> State:
        return await self._aside(self._schema)

    async def migrate(self) -> None:
        async def act(transactions: Transactions) -> bytes:
            return await self._prepare(transactions, migrates=True)

        await self._aside(act)

    async def _aside(self, act: Callable[[Transactions], Awaitable[Answer]]) -> Answer:
        """Do something to the database that needs no open yard."""
        pool = Pool(self._where)
        try:
            return await act(Transactions(self._where, pool, self._sql, self._time))
        finally:
            await pool.close()

    async def _schema(self, transactions: Transactions) -> State:
        return await transactions.read(lambda reader: schema.schema(reader.connection, self._sql))

    async def _prepare(self, transactions: Transactions, *, migrates: bool) -> bytes:
        # A migration may take long; a line that is silent is found out before it begins.
        state = await self._schema(transactions)
        return await transactions.read(
            lambda reader: schema.prepare(reader.connection, self._sql, migrates=migrates),
            within=SLOW_CALL_TIMEOUT if migrates and not state.is_too_new and state.outstanding() else None,
        )

    async def open(self) -> None:
        pool = Pool(self._where.for_all_else)
        transactions = Transactions(self._where, pool, self._sql, self._time)
        try:
            self.secret = await self._prepare(transactions, migrates=self._migrates)
            await self._measure(transactions)
            self._time.observe(await transactions.read(lambda reader: reader.value("last_told")))
            waking = Waking(
                self._where, self._sql, lambda name, values: self._value(transactions, name, values), self._floors
            )
            await waking.open()
        except BaseException:
            await pool.close()
            raise
        self._process = os.getpid()
        self._plain_claims = PlainClaims(self._where, self._sql, self._time, self._to_its_end)
        self._pool, self._transactions, self._waking = pool, transactions, waking
        if self._time.uses_server_clock:
            self._measuring = asyncio.create_task(self._keep_measuring(transactions))

    async def close(self) -> None:
        """Finish the writes that are under way. Afterwards every call is refused."""
        pool, waking, measuring, plain_claims = self._pool, self._waking, self._measuring, self._plain_claims
        self._pool = self._transactions = self._waking = self._measuring = self._plain_claims = None
        if measuring is not None:
            measuring.cancel()
            with suppress(asyncio.CancelledError):
                await measuring
        if pool is not None and waking is not None and plain_claims is not None:
            await asyncio.gather(*self._writing, return_exceptions=True)
            await self._loading.close()
            await waking.close()
            await plain_claims.close()
            await pool.close()

    def now(self) -> Micros:
        return self._time.now()

    # Writes.

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        for each in sets:
            check_consistency(each)
        answers: list[commits.Answer] = []
        counts: commits.Counts = {}
        while len(answers) < len(sets):
            landed, moved = await self._land(sets[len(answers) :])
            answers += landed
            counts |= moved
        return add_counts(sets, answers, counts)

    async def _land(self, sets: Sequence[ChangeSet]) -> tuple[list[commits.Answer], commits.Counts]:
        if self._where.prepared and single_statement.is_plain(sets):
            writing = self._open().write_at_once(lambda on: single_statement.land(on, sets), rows=count_rows(sets))
            at_once = await self._to_its_end(writing)
            if at_once is not None:
                answer, written = at_once
                self._wrote(written, tell=True)
                return answer

        async def work(transaction: Transaction, met: Met) -> tuple[list[commits.Answer], commits.Counts]:
            return await commits.land(transaction, sets, met.task_ids, wary=met.wary)

        return await self._transact(work, rows=count_rows(sets))

    async def claim(self, plan: ClaimPlan) -> Claimed | Stale:
        behind = self._floors.places(lane.id for lane in plan.lanes)
        mark = self._floors.mark

        answer = await self._claim_at_once(plan, behind) or await self._claim_carefully(plan, behind)
        if isinstance(answer, Claimed):
            self._floors.took(answer.tasks, behind, mark)
        if behind and self._waking is not None:
            self._waking.listen()
        return answer

    async def _claim_at_once(self, plan: ClaimPlan, behind: dict[LaneId, Place]) -> Claimed | Stale | None:
        self._open()
        assert self._plain_claims is not None
        made = await self._plain_claims.claim(plan, behind)
        if made is None:
            return None
        answer, written = made
        self._wrote(written, tell=True)
        return answer

    async def _claim_carefully(self, plan: ClaimPlan, behind: dict[LaneId, Place]) -> Claimed | Stale:
        async def work(transaction: Transaction, met: Met) -> Claimed | Stale:
            return await claims.claim(transaction, plan, met.limits, behind)

        return await self._transact(work, begin=self._sql.begin_claim(plan.workspace))

    async def extend(self, beats: Sequence[Beat]) -> list[Extended]:
        return await self._write(claims.extend, beats)

    async def touch(self, touches: Sequence[Touch]) -> None:
        await self._write(small_writes.touch, touches)

    async def pulse(self, names: Sequence[str]) -> None:
        await self._write(small_writes.pulse, names)

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        known: dict[Lane, LaneId] = await self._query("lane_ids", lanes)
        if any(lane not in known for lane in lanes):

            async def work(transaction: Transaction, _: Met) -> dict[Lane, LaneId]:
                return await small_writes.lanes(transaction, lanes)

            known = await self._transact(work)
        return [known[lane] for lane in lanes]

    async def take_duty(self, name: str, now: Micros, until: Micros) -> Micros | None:
        return await self._write(small_writes.take_duty, name, now, until)

    async def prune_events(self, before: Micros, after: int, limit: int) -> int | None:
        return await self._write(small_writes.prune_events, before, after, limit)

    async def settle(self, outbox_ids: Sequence[int]) -> None:
        await self._write(small_writes.settle, outbox_ids)

    # Reads.

    async def load(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
        self._open()
        return await self._loading.ask(task_ids)

    async def changed(self, mark: int, timeout: float, plan: ClaimPlan | None = None) -> int:
        self._open()
        waking = self._waking
        assert waking is not None
        if timeout > 0:
            await waking.wait(mark, timeout, ANYTHING if plan is None else wakeups.wanted_by(plan))
        self._open()
        return waking.mark

    # How.

    async def _transact(
        self, work: Callable[[Transaction, Met], Awaitable[Answer]], *, begin: str = "", rows: int = 0
    ) -> Answer:
        """Write, and have others hear of it."""
        answer, written = await self._to_its_end(self._open().write(work, begin=begin, rows=rows))
        self._wrote(written, tell=True)
        return answer

    async def _write(
        self,
        work: Callable[Concatenate[Transaction, Given], Awaitable[Answer]],
        *given: Given.args,
        **named: Given.kwargs,
    ) -> Answer:
        """Write what no other process waits for."""

        async def on(transaction: Transaction, _: Met) -> Answer:
            return await work(transaction, *given, **named)

        answer, written = await self._to_its_end(self._open().write(on))
        self._wrote(written, tell=False)
        return answer

    def _wrote(self, written: News | None, *, tell: bool) -> None:
        if written is not None and self._waking is not None:
            self._waking.wrote(written, tell=tell)

    async def _to_its_end(self, writing: Coroutine[Any, Any, Answer]) -> Answer:
        """A caller that goes away breaks nothing off: a commit that waits for a standby would be half done."""
        task = asyncio.create_task(writing)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return await asyncio.shield(task)

    async def _query(self, name: str, *given: object) -> Any:
        read = getattr(queries, name)
        within = SLOW_CALL_TIMEOUT if name == "checks" else None
        return await self._open().read(lambda reader: read(reader, *given), within=within)

    def _open(self) -> Transactions:
        if self._transactions is None:
            raise YardClosed
        if os.getpid() != self._process:
            raise StoreUnavailable("connections do not survive a fork, so connect again in this process")
        return self._transactions

    async def _value(self, transactions: Transactions, name: str, values: tuple[object, ...]) -> object:
        return await transactions.read(lambda reader: reader.value(name, *values))

    async def _measure(self, transactions: Transactions) -> None:
        async def measure(reader: Reader) -> None:
            await self._time.measure(lambda: reader.value("clock"))

        await transactions.read(measure)

    async def _keep_measuring(self, transactions: Transactions) -> None:
        while True:
            await asyncio.sleep(MEASURED_EVERY)
            with suppress(Unavailable):
                await self._measure(transactions)
