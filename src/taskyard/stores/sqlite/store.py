"""A yard in one SQLite file, shared by any number of processes of one machine.

Writes go to one thread and come back after the commit; reads go to others and do not wait for it. What is in the file
is decided in `landing`, `lifting` and `claims`, by the functions of the core; this module only passes on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw

from taskyard.core.changes import Beat, ChangeSet, Committed, Conflict, Taken, Touch
from taskyard.core.claiming import ClaimPlan, Pace
from taskyard.core.errors import InvalidInput, StoreUnavailable, YardClosed
from taskyard.core.task import Lane, LaneId
from taskyard.core.units import Micros
from taskyard.stores.contract import Claimed, Clock, Extended, Stale
from taskyard.stores.shared.commits.change_sets import check_consistency
from taskyard.stores.shared.migrations import State
from taskyard.stores.shared.reads import Reads
from taskyard.stores.shared.store_clock import StoreClock
from taskyard.stores.shared.timeouts import CALL_TIMEOUT
from taskyard.stores.shared.waiters import Waiters
from taskyard.stores.sqlite import claims, queries, schema, small_writes
from taskyard.stores.sqlite.connection import refusal_of
from taskyard.stores.sqlite.external_transaction import SqliteGuest
from taskyard.stores.sqlite.threads.readers import Readers
from taskyard.stores.sqlite.threads.writer import Writer
from taskyard.stores.sqlite.transaction import Transaction
from taskyard.stores.sqlite.yard_file import refuse_network

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class SqliteStore(Reads):
    secret: bytes
    pace = Pace()

    def __init__(self, path: Path, *, clock: Clock, migrates: bool = True, call_timeout: float = CALL_TIMEOUT) -> None:
        self._path = path.absolute()  # the working directory may change
        self._migrates = migrates
        self._call_timeout = call_timeout
        self._clock = clock
        self._time = StoreClock(clock)
        self._writer: Writer | None = None
        self._readers: Readers | None = None
        self._process = 0
        self._waiting = Waiters()

    def twin(self) -> SqliteStore:
        return SqliteStore(self._path, clock=self._clock, migrates=self._migrates, call_timeout=self._call_timeout)

    def join(self, connection: Any) -> SqliteGuest:
        if not isinstance(connection, apsw.Connection):
            rule = "must be an apsw.Connection: another copy of SQLite in this process would break the yard's locks"
            raise InvalidInput("connection", rule)
        return SqliteGuest(connection)

    async def schema(self) -> State:
        return await self._aside(schema.schema_of)

    async def migrate(self) -> None:
        refuse_network(self._path)
        await self._aside(schema.bring_up)

    async def _aside(self, act: Callable[[Path, float], Answer]) -> Answer:
        """Do something to the file that needs no open yard."""
        try:
            return await asyncio.to_thread(act, self._path, self._call_timeout)
        except apsw.Error as error:
            raise refusal_of(error, self._path) or error from error

    async def open(self) -> None:
        refuse_network(self._path)
        loop = asyncio.get_running_loop()
        writer = Writer(
            self._path,
            self._time,
            loop,
            self._waiting.wake,
            migrates=self._migrates,
            call_timeout=self._call_timeout,
        )
        readers = Readers(self._path, loop, self._call_timeout)
        await writer.start()
        readers.start()
        self.secret = writer.secret
        self._process = os.getpid()
        self._writer, self._readers = writer, readers

    async def close(self) -> None:
        """Finish the writes that are waiting. Afterwards every call is refused."""
        writer, readers = self._writer, self._readers
        self._writer = self._readers = None
        self._waiting.wake()  # nobody waits for a write that cannot come
        if writer is not None and readers is not None:
            # The writer last: only a connection that may write brings what is in the log into the file when it closes.
            await readers.stop()
            await writer.stop()

    def now(self) -> Micros:
        return self._time.now()

    # Writes.

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        for each in sets:
            check_consistency(each)
        return await self._open_writer().commit(sets)

    async def claim(self, plan: ClaimPlan) -> Claimed | Stale:
        taken = await self._write(claims.claim, plan)
        return taken if isinstance(taken, Stale) else claims.claimed(taken)

    async def extend(self, beats: Sequence[Beat]) -> list[Extended]:
        work = partial(claims.extend, beats=beats)
        return await self._open_writer().do(work, urgent=True)

    async def touch(self, touches: Sequence[Touch]) -> None:
        await self._write(small_writes.touch, touches)

    async def pulse(self, names: Sequence[str]) -> None:
        await self._write(small_writes.pulse, names)

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        known: dict[Lane, LaneId] = await self._query("lane_ids", lanes)
        if any(lane not in known for lane in lanes):
            known = await self._write(small_writes.lanes, lanes)
        return [known[lane] for lane in lanes]

    async def take_duty(self, name: str, now: Micros, until: Micros) -> Micros | None:
        return await self._write(small_writes.take_duty, name, now, until)

    async def prune_events(self, before: Micros, after: int, limit: int) -> int | None:
        return await self._write(small_writes.prune_events, before, after, limit)

    async def settle(self, outbox_ids: Sequence[int]) -> None:
        await self._write(small_writes.settle, outbox_ids)

    async def changed(self, mark: int, timeout: float, plan: ClaimPlan | None = None) -> int:  # noqa: ARG002 - all is told
        writer = self._open_writer()
        if mark == self._waiting.mark:
            writer.watch()  # other processes too, but only while somebody waits
            try:
                await self._waiting.wait(mark, timeout)
            finally:
                writer.unwatch()
        self._open_writer()
        return self._waiting.mark

    async def _write(
        self, work: Callable[Concatenate[Transaction, Given], Answer], *given: Given.args, **named: Given.kwargs
    ) -> Answer:
        return await self._open_writer().do(lambda transaction: work(transaction, *given, **named))

    async def _query(self, name: str, *given: object) -> Any:
        self._open_writer()
        assert self._readers is not None
        read = getattr(queries, name)
        return await self._readers.do(lambda connection: read(connection, *given))

    def _open_writer(self) -> Writer:
        if self._writer is None:
            raise YardClosed
        if os.getpid() != self._process:
            raise StoreUnavailable("connections and threads do not survive a fork, so connect again in this process")
        return self._writer
