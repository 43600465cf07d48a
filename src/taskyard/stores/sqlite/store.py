"""A yard in one SQLite file, shared by any number of processes of one machine.

Writes go to one thread and come back after the commit; reads go to others and do not wait for it. What is in the file
is decided in `landing`, `lifting` and `claims`, by the functions of the core; this module only passes on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw

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
from taskyard.core.errors import InvalidInput, StoreUnavailable, YardClosed
from taskyard.core.task import AgentId, Attempt, DagId, Definition, Hot, Lane, LaneId, RuntimeId, Status, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import Claimed, Clock, Config, Extended, Filter, Graph, Stale
from taskyard.stores.sets import refuse_nonsense
from taskyard.stores.sqlite import claims, reading, small_writes
from taskyard.stores.sqlite.connecting import refuse_network
from taskyard.stores.sqlite.guest import SqliteGuest
from taskyard.stores.sqlite.readers import Readers
from taskyard.stores.sqlite.transaction import Told, Transaction
from taskyard.stores.sqlite.writer import Writer

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class SqliteStore:
    secret: bytes

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._told = Told(clock)
        self._writer: Writer | None = None
        self._readers: Readers | None = None
        self._process = 0
        self._mark = 1
        self._waiting: set[asyncio.Future[None]] = set()

    def twin(self) -> SqliteStore:
        return SqliteStore(self._path, clock=self._clock)

    def join(self, connection: Any) -> SqliteGuest:
        if not isinstance(connection, apsw.Connection):
            rule = "must be an apsw.Connection: another copy of SQLite in this process would break the yard's locks"
            raise InvalidInput("connection", rule)
        return SqliteGuest(connection)

    async def open(self) -> None:
        refuse_network(self._path)
        loop = asyncio.get_running_loop()
        writer, readers = Writer(self._path, self._told, loop, self._wrote), Readers(self._path, loop)
        await writer.start()
        readers.start()
        self.secret = writer.secret
        self._process = os.getpid()
        self._writer, self._readers = writer, readers

    async def close(self) -> None:
        """Finish the writes that are waiting. Afterwards every call is refused."""
        writer, readers = self._writer, self._readers
        self._writer = self._readers = None
        self._wrote()  # nobody waits for a write that cannot come
        if writer is not None and readers is not None:
            # The writer last: only a connection that may write brings what is in the log into the file when it closes.
            await readers.stop()
            await writer.stop()

    def now(self) -> Micros:
        return self._told.now()

    # Writes.

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        for each in sets:
            refuse_nonsense(each)
        return await self._open_writer().commit(sets)

    async def claim(self, plan: ClaimPlan) -> Claimed | Stale:
        return await self._write(claims.claim, plan)

    async def extend(self, beats: Sequence[Beat]) -> list[Extended]:
        work = partial(claims.extend, beats=beats)
        return await self._open_writer().do(work, urgent=True)

    async def touch(self, touches: Sequence[Touch]) -> None:
        await self._write(small_writes.touch, touches)

    async def pulse(self, names: Sequence[str]) -> None:
        await self._write(small_writes.pulse, names)

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        known = await self._read(reading.lane_ids, lanes)
        if any(lane not in known for lane in lanes):
            known = await self._write(small_writes.lanes, lanes)
        return [known[lane] for lane in lanes]

    async def take_duty(self, name: str, now: Micros, until: Micros) -> Micros | None:
        return await self._write(small_writes.take_duty, name, now, until)

    async def settle(self, outbox_ids: Sequence[int]) -> None:
        await self._write(small_writes.settle, outbox_ids)

    # Reads.

    async def load(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
        return await self._read(reading.load, task_ids)

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
        writer = self._open_writer()
        if mark == self._mark:
            await self._wait(writer, timeout)
        self._open_writer()
        return self._mark

    async def _wait(self, writer: Writer, timeout: float) -> None:
        """Until somebody has written; other processes are watched only meanwhile."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        writer.watch()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await waiting
        finally:
            writer.unwatch()
            self._waiting.discard(waiting)

    def _wrote(self) -> None:
        self._mark += 1
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def _write(
        self, work: Callable[Concatenate[Transaction, Given], Answer], *given: Given.args, **named: Given.kwargs
    ) -> Answer:
        return await self._open_writer().do(lambda transaction: work(transaction, *given, **named))

    async def _read(
        self, read: Callable[Concatenate[apsw.Connection, Given], Answer], *given: Given.args, **named: Given.kwargs
    ) -> Answer:
        self._open_writer()
        assert self._readers is not None
        return await self._readers.do(lambda connection: read(connection, *given, **named))

    def _open_writer(self) -> Writer:
        if self._writer is None:
            raise YardClosed
        if os.getpid() != self._process:
            raise StoreUnavailable("connections and threads do not survive a fork, so connect again in this process")
        return self._writer
