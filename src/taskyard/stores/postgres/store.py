"""A yard in a schema of a PostgreSQL database, shared by any number of processes and machines.

This module delegates, and wakes the coroutines that wait for writes: `commits`, `blockers` and `claims` decide what is
written, by the functions of the core. The modules of `fast` come first where they apply.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Concatenate, ParamSpec, TypeVar

from taskyard.core.attempt_stream import StreamAppend, StreamAppended
from taskyard.core.changes import Beat, ChangeSet, Committed, Conflict, RecordChange, Taken, Touch
from taskyard.core.claiming import ClaimPlan, Pace
from taskyard.core.errors import StoreUnavailable, Unavailable, YardClosed
from taskyard.core.task import Hot, Lane, LaneId, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import Claimed, Clock, Embedding, Extended, Near, Stale, VectorQuery
from taskyard.stores.copies import Copy, CopyPlace, YardPart
from taskyard.stores.postgres import claims, commits, queries, small_writes
from taskyard.stores.postgres.connection import schema
from taskyard.stores.postgres.connection.address import parse_address
from taskyard.stores.postgres.connection.notify_channel import NotifyChannel
from taskyard.stores.postgres.connection.pool import Pool
from taskyard.stores.postgres.connection.reader import PostgresReader
from taskyard.stores.postgres.connection.wakeup import Wakeup
from taskyard.stores.postgres.external_transaction import PostgresExternalTransaction
from taskyard.stores.postgres.fast import single_statement, vector_search
from taskyard.stores.postgres.fast.claim_cursors import ClaimCursors, Place
from taskyard.stores.postgres.fast.optimistic_claim import OptimisticClaims
from taskyard.stores.postgres.fast.statement_runner import StatementRunner
from taskyard.stores.postgres.log import log_removal, streams
from taskyard.stores.postgres.statements import statements
from taskyard.stores.postgres.transaction import PostgresTransaction, fit_in_pieces
from taskyard.stores.postgres.transaction_runner import Obstacles
from taskyard.stores.postgres.transfer import dump, restore
from taskyard.stores.shared.commits.change_sets import add_counts, check_consistency, count_rows
from taskyard.stores.shared.migrations import State
from taskyard.stores.shared.read_batching import ReadBatcher
from taskyard.stores.shared.reads import Reads
from taskyard.stores.shared.store_clock import MEASURED_EVERY, StoreClock
from taskyard.stores.shared.timeouts import CALL_TIMEOUT, SLOW_CALL_TIMEOUT
from taskyard.stores.shared.waiters import ANYTHING, wanted_topics
from taskyard.stores.shielding import Shield
from taskyard.stores.turns import gives_way, pause

Params = ParamSpec("Params")
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
        self._where = parse_address(url, schema, call_timeout)
        self._sql = statements(self._where.schema)
        self._time = StoreClock(clock)
        self._pool: Pool | None = None
        self._runner: StatementRunner | None = None
        self._channel: NotifyChannel | None = None
        self._measuring: asyncio.Task[None] | None = None
        self._shield = Shield()  # a commit may be waiting for a standby
        self._loads = ReadBatcher[Hot](lambda task_ids: self._query("load", task_ids))
        self._cursors = ClaimCursors()
        self._optimistic_claims: OptimisticClaims | None = None
        self._process = 0

    def twin(self) -> PostgresStore:
        return PostgresStore(
            self._url,
            clock=self._clock,
            schema=self._sql.schema,
            migrates=self._migrates,
            call_timeout=self._where.call_timeout,
        )

    def join(self, connection: Any) -> PostgresExternalTransaction:
        return PostgresExternalTransaction(connection, self._sql)

    async def schema(self) -> State:
        return await self._run_unopened(self._schema)

    async def migrate(self) -> None:
        async def act(runner: StatementRunner) -> bytes:
            return await self._prepare(runner, migrates=True, all_stopped=True)

        await self._run_unopened(act)

    async def _run_unopened(self, act: Callable[[StatementRunner], Awaitable[Answer]]) -> Answer:
        """Run a function on the database without opening the yard."""
        pool = Pool(self._where)
        try:
            return await act(StatementRunner(self._where, pool, self._sql, self._time))
        finally:
            await pool.close()

    async def _schema(self, runner: StatementRunner) -> State:
        return await runner.read(lambda reader: schema.read_state(reader.connection, self._sql))

    async def _prepare(self, runner: StatementRunner, *, migrates: bool, all_stopped: bool = False) -> bytes:
        # A migration may take long. This short read detects a dead connection before it begins.
        state = await self._schema(runner)
        return await runner.read(
            lambda reader: schema.prepare(reader.connection, self._sql, migrates=migrates, all_stopped=all_stopped),
            within=SLOW_CALL_TIMEOUT if migrates and not state.is_too_new and state.outstanding() else None,
        )

    async def open(self) -> None:
        pool = Pool(self._where.for_other_calls)
        runner = StatementRunner(self._where, pool, self._sql, self._time)
        try:
            self.secret = await self._prepare(runner, migrates=self._migrates)
            await self._measure(runner)
            self._time.observe(await runner.read(lambda reader: reader.value("latest_time")))
            channel = NotifyChannel(
                self._where, self._sql, lambda name, values: self._value(runner, name, values), self._cursors
            )
            await channel.open()
        except BaseException:
            await pool.close()
            raise
        self._process = os.getpid()
        self._optimistic_claims = OptimisticClaims(
            self._where, self._sql, self._time, self._shield, self._cursors, beside=pool
        )
        self._pool, self._runner, self._channel = pool, runner, channel
        if self._time.uses_server_clock:
            self._measuring = asyncio.create_task(self._keep_measuring(runner))

    async def close(self) -> None:
        """Finish the current writes. Afterwards every call is refused."""
        pool, channel, measuring, optimistic_claims = (
            self._pool,
            self._channel,
            self._measuring,
            self._optimistic_claims,
        )
        self._pool = self._runner = self._channel = self._measuring = self._optimistic_claims = None
        if measuring is not None:
            measuring.cancel()
            with suppress(asyncio.CancelledError):
                await measuring
        if pool is not None and channel is not None and optimistic_claims is not None:
            await self._shield.close()
            await self._loads.close()
            await channel.close()
            await optimistic_claims.close()
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
            committed, moved = await self._commit_some(sets[len(answers) :])
            answers += committed
            counts |= moved
        return add_counts(sets, answers, counts)

    async def _commit_some(self, sets: Sequence[ChangeSet]) -> tuple[list[commits.Answer], commits.Counts]:
        is_in_pieces = gives_way() and fit_in_pieces([task for each in sets for task in each.tasks])
        if is_in_pieces:
            if single_statement.is_applicable(sets):  # otherwise it may be about to lock what others wait for
                await pause()
        elif self._where.prepared and single_statement.is_applicable(sets):
            writing = self._open().write_once(lambda on: single_statement.commit_once(on, sets), rows=count_rows(sets))
            fast = await self._shield.run(writing)
            if fast is not None:
                answer, written = fast
                self._announce(written, notify=True)
                return answer

        async def work(
            transaction: PostgresTransaction, obstacles: Obstacles
        ) -> tuple[list[commits.Answer], commits.Counts]:
            transaction.is_in_pieces = is_in_pieces
            return await commits.commit_batch(
                transaction, sets, obstacles.task_ids, check_new_ids=obstacles.check_new_ids
            )

        return await self._transact(work, rows=count_rows(sets))

    async def claim(self, plan: ClaimPlan) -> Claimed | Stale:
        cursors = self._cursors.positions(lane.id for lane in plan.lanes)
        mark = self._cursors.mark

        answer = await self._claim_optimistically(plan, cursors) or await self._claim_locked(plan, cursors)
        if isinstance(answer, Claimed):
            self._cursors.note_taken(answer.tasks, cursors, mark)
        if cursors and self._channel is not None:
            self._channel.listen()
        return answer

    async def _claim_optimistically(self, plan: ClaimPlan, cursors: dict[LaneId, Place]) -> Claimed | Stale | None:
        self._open()
        assert self._optimistic_claims is not None
        made = await self._optimistic_claims.claim(plan, cursors)
        if made is None:
            return None
        answer, written = made
        self._announce(written, notify=True)
        return answer

    async def _claim_locked(self, plan: ClaimPlan, cursors: dict[LaneId, Place]) -> Claimed | Stale:
        async def work(transaction: PostgresTransaction, obstacles: Obstacles) -> Claimed | Stale:
            return await claims.claim(transaction, plan, obstacles.limits, cursors)

        # A repeated claim would take other tasks: its caller first looks for what the lost one took.
        begin = self._sql.begin_claim(plan.workspace)
        answer, written = await self._shield.run(self._open().unrepeated.write(work, begin=begin))
        self._announce(written, notify=True)
        return answer

    async def extend(self, beats: Sequence[Beat]) -> list[Extended]:
        return await self._write(claims.extend, beats)

    async def touch(self, touches: Sequence[Touch]) -> None:
        await self._write(small_writes.touch, touches)

    async def pulse(self, names: Sequence[str]) -> None:
        await self._write(small_writes.pulse, names)

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        known: dict[Lane, LaneId] = await self._query("lane_ids", lanes)
        if any(lane not in known for lane in lanes):

            async def work(transaction: PostgresTransaction, _: Obstacles) -> dict[Lane, LaneId]:
                return await small_writes.lanes(transaction, lanes)

            known = await self._transact(work)
        return [known[lane] for lane in lanes]

    async def take_duty(self, name: str, now: Micros, until: Micros) -> Micros | None:
        return await self._write(small_writes.take_duty, name, now, until)

    async def prune_events(self, before: Micros, after: int, limit: int) -> int | None:
        return await self._write(log_removal.prune_events, before, after, limit)

    async def settle(self, outbox_ids: Sequence[int]) -> None:
        await self._write(small_writes.settle, outbox_ids)

    async def keep_embeddings(self, embeddings: Sequence[Embedding]) -> None:
        await self._write(small_writes.keep_embeddings, embeddings)

    async def append_streams(self, appends: Sequence[StreamAppend]) -> list[StreamAppended]:
        async def work(transaction: PostgresTransaction, _: Obstacles) -> tuple[list[StreamAppended], bool]:
            return await streams.append(transaction, appends)

        (answers, has_events), written = await self._shield.run(self._open().write(work, rows=len(appends)))
        if has_events:  # otherwise nobody is woken but those who follow these streams
            self._announce(written, notify=True)
        if self._channel is not None:
            self._channel.streamed({each.task_id for each in appends})
        return answers

    async def prune_streams(self, before: Micros, after: str, limit: int) -> str | None:
        return await self._write(streams.prune, before, after, limit)

    async def restore(self, copies: Sequence[Copy], progress: RecordChange) -> bool:
        async def work(transaction: PostgresTransaction, _: Obstacles) -> bool:
            return await restore.restore(transaction, copies, progress)

        return await self._transact(work, rows=len(copies))

    # Reads.

    async def dump(self, part: YardPart, after: CopyPlace, limit: int) -> list[Copy]:
        return await self._open().read(lambda reader: dump.dump(reader, part, after, limit))

    async def load(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
        self._open()
        return await self._loads.ask(task_ids)

    async def nearest(self, query: VectorQuery) -> list[Near]:
        return await self._open().read(lambda reader: vector_search.nearest(reader, query))

    async def streamed(self, mark: int, timeout: float, task_id: TaskId | None = None) -> int:
        self._open()
        channel = self._channel
        assert channel is not None
        if timeout > 0:
            await channel.wait_for_streams(mark, timeout, ANYTHING if task_id is None else frozenset({task_id}))
        self._open()
        return channel.streams_mark

    async def changed(self, mark: int, timeout: float, plan: ClaimPlan | None = None, *, took_all: bool = False) -> int:
        self._open()
        channel = self._channel
        assert channel is not None
        if timeout > 0:
            await channel.wait(mark, timeout, ANYTHING if plan is None else wanted_topics(plan, took_all=took_all))
        self._open()
        return channel.mark

    # Helpers.

    async def _transact(
        self, work: Callable[[PostgresTransaction, Obstacles], Awaitable[Answer]], *, rows: int = 0
    ) -> Answer:
        """Write, and notify other processes."""
        answer, written = await self._shield.run(self._open().write(work, rows=rows))
        self._announce(written, notify=True)
        return answer

    async def _write(
        self,
        work: Callable[Concatenate[PostgresTransaction, Params], Awaitable[Answer]],
        *given: Params.args,
        **named: Params.kwargs,
    ) -> Answer:
        """Write something that other processes do not wait for."""

        async def on(transaction: PostgresTransaction, _: Obstacles) -> Answer:
            return await work(transaction, *given, **named)

        answer, written = await self._shield.run(self._open().write(on))
        self._announce(written, notify=False)
        return answer

    def _announce(self, written: Wakeup | None, *, notify: bool) -> None:
        if written is not None and self._channel is not None:
            self._channel.written(written, notify=notify)

    async def _query(self, name: str, *given: object) -> Any:
        read = getattr(queries, name)
        within = SLOW_CALL_TIMEOUT if name == "checks" else None
        return await self._open().read(lambda reader: read(reader, *given), within=within)

    def _open(self) -> StatementRunner:
        if self._runner is None:
            raise YardClosed
        if os.getpid() != self._process:
            raise StoreUnavailable("connections do not survive a fork, so connect again in this process")
        return self._runner

    async def _value(self, runner: StatementRunner, name: str, values: tuple[object, ...]) -> object:
        return await runner.read(lambda reader: reader.value(name, *values))

    async def _measure(self, runner: StatementRunner) -> None:
        async def measure(reader: PostgresReader) -> None:
            await self._time.measure(lambda: reader.value("clock"))

        await runner.read(measure)

    async def _keep_measuring(self, runner: StatementRunner) -> None:
        while True:
            await asyncio.sleep(MEASURED_EVERY)
            with suppress(Unavailable):
                await self._measure(runner)
