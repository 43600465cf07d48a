"""A yard in one SQLite file, shared by any number of processes of one machine.

One thread writes and answers after the commit; other threads read and do not wait for it. This module only delegates:
`commits`, `blockers` and `claims` decide what is written, by the functions of the core.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw

from taskyard.core.attempt_stream import StreamAppend, StreamAppended
from taskyard.core.changes import Beat, ChangeSet, Committed, Conflict, RecordChange, Taken, Touch
from taskyard.core.claiming import ClaimPlan, Pace
from taskyard.core.errors import InvalidInput, StoreUnavailable, YardClosed
from taskyard.core.task import Lane, LaneId, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import Claimed, Clock, Embedding, Extended, Stale
from taskyard.stores.copies import Copy, CopyPlace, YardPart
from taskyard.stores.shared.commits.change_sets import check_consistency
from taskyard.stores.shared.migrations import State
from taskyard.stores.shared.reads import Reads
from taskyard.stores.shared.store_clock import StoreClock
from taskyard.stores.shared.timeouts import CALL_TIMEOUT
from taskyard.stores.shared.waiters import ANYTHING, Waiters, wanted_topics
from taskyard.stores.sqlite import claims, queries, schema, small_writes
from taskyard.stores.sqlite.connection import translate_error
from taskyard.stores.sqlite.external_transaction import SqliteExternalTransaction
from taskyard.stores.sqlite.log import log_removal, streams
from taskyard.stores.sqlite.threads.readers import Readers
from taskyard.stores.sqlite.threads.writer import Writer
from taskyard.stores.sqlite.transaction import SqliteTransaction
from taskyard.stores.sqlite.transfer import dump, restore
from taskyard.stores.sqlite.yard_file import refuse_network

Params = ParamSpec("Params")
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
        self._waiters = Waiters()
        self._streams = Waiters()
        self._known_ends = streams.KnownEnds()

    def twin(self) -> SqliteStore:
        return SqliteStore(self._path, clock=self._clock, migrates=self._migrates, call_timeout=self._call_timeout)

    def join(self, connection: Any) -> SqliteExternalTransaction:
        if not isinstance(connection, apsw.Connection):
            rule = "must be an apsw.Connection: another copy of SQLite in this process would break the yard's locks"
            raise InvalidInput("connection", rule)
        return SqliteExternalTransaction(connection)

    async def schema(self) -> State:
        return await self._run_unopened(schema.read_file_state)

    async def migrate(self) -> None:
        refuse_network(self._path)
        await self._run_unopened(schema.migrate_file)

    async def _run_unopened(self, act: Callable[[Path, float], Answer]) -> Answer:
        """Run a function on the file without opening the yard."""
        try:
            return await asyncio.to_thread(act, self._path, self._call_timeout)
        except apsw.Error as error:
            raise translate_error(error, self._path) or error from error

    async def open(self) -> None:
        refuse_network(self._path)
        loop = asyncio.get_running_loop()
        writer = Writer(
            self._path,
            self._time,
            loop,
            self._waiters.wake,
            self._streams.wake,
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
        """Finish the waiting writes. Afterwards every call is refused."""
        writer, readers = self._writer, self._readers
        self._writer = self._readers = None
        self._waiters.wake()  # no write can follow, so wake all waiters
        self._streams.wake()
        if writer is not None and readers is not None:
            # The writer closes last: only a connection that can write copies the log into the file when it closes.
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
        return taken if isinstance(taken, Stale) else claims.to_claimed(taken)

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
        return await self._write(log_removal.prune_events, before, after, limit)

    async def settle(self, outbox_ids: Sequence[int]) -> None:
        await self._write(small_writes.settle, outbox_ids)

    async def keep_embeddings(self, embeddings: Sequence[Embedding]) -> None:
        await self._write(small_writes.keep_embeddings, embeddings)

    async def dump(self, part: YardPart, after: CopyPlace, limit: int) -> list[Copy]:
        return await self._read(lambda connection: dump.dump(connection, part, after, limit))

    async def restore(self, copies: Sequence[Copy], progress: RecordChange) -> bool:
        return await self._write(restore.restore, copies, progress)

    async def append_streams(self, appends: Sequence[StreamAppend]) -> list[StreamAppended]:
        writer = self._open_writer()
        task_ids = {each.task_id for each in appends}
        ends = self._known_ends.take(task_ids)
        if unknown := task_ids - ends.keys():
            ends |= await self._read(lambda connection: streams.read_ends(connection, unknown))
        decided = streams.decide_early(appends, ends, self.now())
        work = partial(streams.append, appends=appends)
        growth: streams.Additions = await writer.do(work, patient=True, decided=decided)
        self._known_ends.keep(growth.ends)
        return growth.answers

    async def prune_streams(self, before: Micros, after: str, limit: int) -> str | None:
        return await self._write(streams.prune, before, after, limit)

    async def streamed(self, mark: int, timeout: float, task_id: TaskId | None = None) -> int:
        await self._wait(self._streams, mark, timeout, ANYTHING if task_id is None else frozenset({task_id}))
        return self._streams.mark

    async def changed(self, mark: int, timeout: float, plan: ClaimPlan | None = None, *, took_all: bool = False) -> int:
        wanted = ANYTHING if plan is None else wanted_topics(plan, took_all=took_all)
        await self._wait(self._waiters, mark, timeout, wanted)
        return self._waiters.mark

    async def _wait(self, waiters: Waiters, mark: int, timeout: float, wanted: frozenset[str] | None) -> None:
        writer = self._open_writer()
        if timeout > 0 and not waiters.has_changed(mark, wanted):
            writer.watch()  # poll for writes of other processes, but only while a coroutine waits
            try:
                await waiters.wait(mark, timeout, wanted)
            finally:
                writer.unwatch()
        self._open_writer()

    async def _write(
        self,
        work: Callable[Concatenate[SqliteTransaction, Params], Answer],
        *given: Params.args,
        **named: Params.kwargs,
    ) -> Answer:
        return await self._open_writer().do(lambda transaction: work(transaction, *given, **named))

    async def _query(self, name: str, *given: Any) -> Any:
        read = getattr(queries, name)
        # One row by its key, such as that of the token of each call over HTTP.
        is_look_up = name == "record" or (name == "page" and given[-1].limit == 1)
        return await self._read(lambda connection: read(connection, *given), is_look_up=is_look_up)

    async def _read(self, read: Callable[[apsw.Connection], Answer], *, is_look_up: bool = False) -> Answer:
        self._open_writer()
        assert self._readers is not None
        return await (self._readers.look_up(read) if is_look_up else self._readers.do(read))

    def _open_writer(self) -> Writer:
        if self._writer is None:
            raise YardClosed
        if os.getpid() != self._process:
            raise StoreUnavailable("connections and threads do not survive a fork, so connect again in this process")
        return self._writer
