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

from taskyard.core.changes import (
    Beat,
    Blocker,
    ChangeSet,
    Checkpoint,
    Committed,
    Conflict,
    Edge,
    Limit,
    Outbox,
    Output,
    Record,
    Signal,
    StoredEvent,
    Taken,
    Touch,
)
from taskyard.core.claiming import ClaimPlan
from taskyard.core.errors import StoreUnavailable, Unavailable, YardClosed
from taskyard.core.task import AgentId, Attempt, DagId, Definition, Hot, Lane, LaneId, RuntimeId, Status, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import Claimed, Clock, Config, Extended, Filter, Graph, Stale
from taskyard.stores.postgres import claims, landing, opening, reading, small_writes
from taskyard.stores.postgres.connecting import Pool, address
from taskyard.stores.postgres.gathering import Gathering
from taskyard.stores.postgres.guest import PostgresGuest
from taskyard.stores.postgres.reading import Reader
from taskyard.stores.postgres.statements import statements
from taskyard.stores.postgres.telling_time import MEASURED_EVERY, StoreTime
from taskyard.stores.postgres.transacting import Met, Transactions
from taskyard.stores.postgres.transaction import Transaction
from taskyard.stores.postgres.waking import Waking
from taskyard.stores.sets import refuse_nonsense

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class PostgresStore:
    secret: bytes

    def __init__(self, url: str, *, clock: Clock | None = None, schema: str = "taskyard") -> None:
        self._url = url
        self._clock = clock
        self._where = address(url, schema)
        self._sql = statements(self._where.schema)
        self._time = StoreTime(clock)
        self._pool: Pool | None = None
        self._transactions: Transactions | None = None
        self._waking: Waking | None = None
        self._measuring: asyncio.Task[None] | None = None
        self._writing: set[asyncio.Task[Any]] = set()
        self._loading = Gathering[Hot](lambda task_ids: self._read(reading.load, task_ids))
        self._process = 0

    def twin(self) -> PostgresStore:
        return PostgresStore(self._url, clock=self._clock, schema=self._sql.schema)

    def join(self, connection: Any) -> PostgresGuest:
        return PostgresGuest(connection, self._sql)

    async def open(self) -> None:
        pool = Pool(self._where)
        transactions = Transactions(self._where, pool, self._sql, self._time)
        try:
            self.secret = await transactions.read(lambda reader: opening.prepare(reader.connection, self._sql))
            await self._measure(transactions)
            self._time.hear(await transactions.read(lambda reader: reader.value("last_told")))
            waking = Waking(self._where, self._sql, lambda name, values: self._value(transactions, name, values))
            await waking.open()
        except BaseException:
            await pool.close()
            raise
        self._process = os.getpid()
        self._pool, self._transactions, self._waking = pool, transactions, waking
        if self._time.is_the_stores:
            self._measuring = asyncio.create_task(self._keep_measuring(transactions))

    async def close(self) -> None:
        """Finish the writes that are under way. Afterwards every call is refused."""
        pool, waking, measuring = self._pool, self._waking, self._measuring
        self._pool = self._transactions = self._waking = self._measuring = None
        if measuring is not None:
            measuring.cancel()
            with suppress(asyncio.CancelledError):
                await measuring
        if pool is not None and waking is not None:
            await asyncio.gather(*self._writing, return_exceptions=True)
            await self._loading.close()
            await waking.close()
            await pool.close()

    def now(self) -> Micros:
        return self._time.now()

    # Writes.

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        for each in sets:
            refuse_nonsense(each)
        answers: list[landing.Answer] = []
        counts: landing.Counts = {}
        while len(answers) < len(sets):
            landed, moved = await self._land(sets[len(answers) :])
            answers += landed
            counts |= moved
        return [
            answer._replace(counts={count.name: counts[count.workspace, count.name] for count in each.counts})
            if isinstance(answer, Committed)
            else answer
            for each, answer in zip(sets, answers, strict=True)
        ]

    async def _land(self, sets: Sequence[ChangeSet]) -> tuple[list[landing.Answer], landing.Counts]:
        async def work(transaction: Transaction, met: Met) -> tuple[list[landing.Answer], landing.Counts]:
            return await landing.land(transaction, sets, met.task_ids, wary=met.wary)

        return await self._transact(work)

    async def claim(self, plan: ClaimPlan) -> Claimed | Stale:
        async def work(transaction: Transaction, met: Met) -> Claimed | Stale:
            return await claims.claim(transaction, plan, met.limits)

        return await self._transact(work, begin=self._sql.begin_claim(plan.workspace))

    async def extend(self, beats: Sequence[Beat]) -> list[Extended]:
        return await self._write(claims.extend, beats)

    async def touch(self, touches: Sequence[Touch]) -> None:
        await self._write(small_writes.touch, touches)

    async def pulse(self, names: Sequence[str]) -> None:
        await self._write(small_writes.pulse, names)

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        known = await self._read(reading.lane_ids, lanes)
        if any(lane not in known for lane in lanes):

            async def work(transaction: Transaction, _: Met) -> dict[Lane, LaneId]:
                return await small_writes.lanes(transaction, lanes)

            known = await self._transact(work)
        return [known[lane] for lane in lanes]

    async def take_duty(self, name: str, now: Micros, until: Micros) -> Micros | None:
        return await self._write(small_writes.take_duty, name, now, until)

    async def settle(self, outbox_ids: Sequence[int]) -> None:
        await self._write(small_writes.settle, outbox_ids)

    # Reads.

    async def load(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
        self._open()
        return await self._loading.ask(task_ids)

    async def definitions(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Definition]:
        return await self._read(reading.definitions, task_ids)

    async def outputs(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Output]:
        return await self._read(reading.outputs, task_ids)

    async def attempts(self, task_id: TaskId) -> list[Attempt]:
        return await self._read(reading.attempts, task_id)

    async def checkpoints(self, task_id: TaskId) -> list[Checkpoint]:
        return await self._read(reading.checkpoints, task_id)

    async def signals(self, task_id: TaskId) -> list[Signal]:
        return await self._read(reading.signals, task_id)

    async def blockers(self, task_ids: Sequence[TaskId]) -> list[Blocker]:
        return await self._read(reading.blockers, task_ids)

    async def edges(self, parents: Sequence[TaskId]) -> list[Edge]:
        return await self._read(reading.edges, parents)

    async def graph(self, dag_id: DagId) -> Graph:
        return await self._read(reading.graph, dag_id)

    async def stuck(self, dag_id: DagId) -> bool:
        return await self._read(reading.stuck, dag_id)

    async def by_key(self, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]:
        return await self._read(reading.by_key, workspace, keys)

    async def record(self, kind: str, workspace: str, record_id: str) -> Record | None:
        return await self._read(reading.record, kind, workspace, record_id)

    async def records(self, kind: str, workspace: str | None = None) -> list[Record]:
        return await self._read(reading.records, kind, workspace)

    async def limits(self, workspace: str, names: Sequence[str] | None) -> dict[str, Limit]:
        return await self._read(reading.limits, workspace, names)

    async def counts(self, workspace: str, names: Sequence[str]) -> dict[str, int]:
        return await self._read(reading.counts, workspace, names)

    async def duty(self, name: str) -> Micros | None:
        return await self._read(reading.duty, name)

    async def pruned(self, workspace: str | None = None) -> int:
        return await self._read(reading.pruned, workspace)

    async def config(self, workspace: str, lanes_above: LaneId) -> Config:
        return await self._read(reading.config, workspace, lanes_above)

    async def pulses(self, prefix: str) -> dict[str, Micros]:
        return await self._read(reading.pulses, prefix)

    async def held(self, *, agent: AgentId | None = None, runtime: RuntimeId | None = None) -> list[Hot]:
        return await self._read(reading.held, agent, runtime)

    async def due(self, now: Micros, limit: int) -> list[Hot]:
        return await self._read(reading.due, now, limit)

    async def drifting(self, now: Micros, limit: int) -> list[Hot]:
        return await self._read(reading.drifting, now, limit)

    async def prunable(self, before: Micros, limit: int, *, dead_too: bool) -> list[Hot]:
        return await self._read(reading.prunable, before, limit, dead_too)

    async def find(self, which: Filter, *, after: int, limit: int) -> list[Hot]:
        return await self._read(reading.find, which, after, limit)

    async def tally(self, workspace: str) -> dict[tuple[Status, str], int]:
        return await self._read(reading.tally, workspace)

    async def ahead(self, hot: Hot, limit: int) -> int:
        return await self._read(reading.ahead, hot, limit)

    async def events(
        self, *, after: int, limit: int, workspace: str | None = None, task_id: TaskId | None = None
    ) -> list[StoredEvent]:
        return await self._read(reading.events, after, limit, workspace, task_id)

    async def outbox(self, topic: str, limit: int) -> list[tuple[int, Outbox]]:
        return await self._read(reading.outbox, topic, limit)

    async def checks(self) -> list[str]:
        return await self._read(reading.checks)

    async def changed(self, mark: int, timeout: float) -> int:
        self._open()
        waking = self._waking
        assert waking is not None
        if mark == waking.mark and timeout > 0:
            await waking.wait(timeout)
        self._open()
        return waking.mark

    # How.

    async def _transact(self, work: Callable[[Transaction, Met], Awaitable[Answer]], *, begin: str = "") -> Answer:
        """Write, and have others hear of it."""
        answer, wrote = await self._to_its_end(self._open().write(work, begin=begin))
        self._wrote(wrote, tell=True)
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

        answer, wrote = await self._to_its_end(self._open().write(on))
        self._wrote(wrote, tell=False)
        return answer

    def _wrote(self, wrote: bool, *, tell: bool) -> None:
        if wrote and self._waking is not None:
            self._waking.wrote(tell=tell)

    async def _to_its_end(self, writing: Coroutine[Any, Any, Answer]) -> Answer:
        """A caller that goes away breaks nothing off: a commit that waits for a standby would be half done."""
        task = asyncio.create_task(writing)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return await asyncio.shield(task)

    async def _read(
        self,
        read: Callable[Concatenate[Reader, Given], Awaitable[Answer]],
        *given: Given.args,
        **named: Given.kwargs,
    ) -> Answer:
        return await self._open().read(lambda reader: read(reader, *given, **named))

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
