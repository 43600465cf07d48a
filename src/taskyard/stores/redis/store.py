"""A yard under one hash tag of a Redis or Valkey server, shared by any number of processes and machines.

Python plans; short Lua scripts read and write, each atomically (see `yard.lua`). This module delegates, and wakes the
coroutines that wait for writes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from taskyard.core.attempt_stream import StreamAppend, StreamAppended, StreamChunk, StreamPlace
from taskyard.core.changes import Beat, ChangeSet, Committed, Conflict, RecordChange, Taken, Touch
from taskyard.core.claiming import ClaimPlan, Pace, is_outdated
from taskyard.core.clock_jump import TOLERANCE
from taskyard.core.errors import InvalidInput, StoreUnavailable, Unavailable, YardClosed
from taskyard.core.task import Hot, Lane, LaneId, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import Claimed, Clock, Config, Embedding, Extended, ExternalTransaction, Stale
from taskyard.stores.copies import Copy, CopyPlace, TaskCopy, YardPart, copies_of
from taskyard.stores.redis import claims, commits, encoding, queries, schema, streams
from taskyard.stores.redis.connection.address import parse_address
from taskyard.stores.redis.connection.change_stream import ChangeStream
from taskyard.stores.redis.connection.durability import Durability
from taskyard.stores.redis.connection.server import RedisServer
from taskyard.stores.redis.encoding import Reply, Word, or_nul
from taskyard.stores.redis.integrity import find_problems
from taskyard.stores.redis.queries import RedisReader
from taskyard.stores.redis.scripts import CLAIM, EXTEND, RESTORE, STREAM, WRITE, Script
from taskyard.stores.redis.transfer import dump, restore
from taskyard.stores.shared.commits.batching import Key
from taskyard.stores.shared.commits.change_sets import Answer, check_consistency, newly_ready
from taskyard.stores.shared.identity import yard_identity
from taskyard.stores.shared.migrations import State
from taskyard.stores.shared.read_batching import ReadBatcher
from taskyard.stores.shared.reads import Reads
from taskyard.stores.shared.rows import format_lane
from taskyard.stores.shared.store_clock import MEASURED_EVERY, StoreClock
from taskyard.stores.shared.timeouts import CALL_TIMEOUT
from taskyard.stores.shared.waiters import ANYTHING


class RedisStore(Reads):
    secret: bytes
    pace = Pace(parts=4, least=25, commits=2)  # a script has little overhead, so small claims are cheap
    durability: Durability  # read when the yard was opened

    def __init__(
        self,
        url: str,
        *,
        clock: Clock | None = None,
        migrates: bool = True,
        call_timeout: float = CALL_TIMEOUT,
    ) -> None:
        self._url = url
        self._call_timeout = call_timeout
        self._clock = clock
        self._migrates = migrates
        self._where = parse_address(url)
        self._time = StoreClock(clock)
        self._server: RedisServer | None = None
        self._changes_or_none: ChangeStream | None = None
        self._measuring: asyncio.Task[None] | None = None
        self._loads = ReadBatcher[Hot](lambda task_ids: self._query("load", task_ids))
        self._process = 0

    def twin(self) -> RedisStore:
        return RedisStore(self._url, clock=self._clock, migrates=self._migrates, call_timeout=self._call_timeout)

    def join(self, connection: object) -> ExternalTransaction:
        del connection
        raise InvalidInput("connection", "must be to a SQLite or PostgreSQL yard: one in Redis has no transactions")

    async def schema(self) -> State:
        async with self._unopened_server() as server:
            return await schema.read_state(server, self._where.prefix)

    async def migrate(self) -> None:
        async with self._unopened_server() as server:
            await schema.prepare(server, self._where.prefix, migrates=True, all_stopped=True)

    @asynccontextmanager
    async def _unopened_server(self) -> AsyncGenerator[RedisServer]:
        """A connection for calls that do not need an open yard."""
        server = RedisServer(self._where, self._call_timeout)
        try:
            yield server
        finally:
            await server.close()

    async def open(self) -> None:
        server = RedisServer(self._where, self._call_timeout)
        try:
            opened = await schema.prepare(server, self._where.prefix, migrates=self._migrates)
            self.secret, last_time, self.durability = opened
            self._time.observe(last_time)
            await self._measure(server)
            changes = ChangeStream(server, self._where.prefix)
            await changes.open()
        except BaseException:
            await server.close()
            raise
        self._process = os.getpid()
        self._server, self._changes_or_none = server, changes
        if self._time.uses_server_clock:
            self._measuring = asyncio.create_task(self._keep_measuring(server))

    async def close(self) -> None:
        """Finish the current writes. Afterwards every call is refused."""
        server, changes, measuring = self._server, self._changes_or_none, self._measuring
        self._server = self._changes_or_none = self._measuring = None
        if measuring is not None:
            measuring.cancel()
            with suppress(asyncio.CancelledError):
                await measuring
        if server is not None and changes is not None:
            await self._loads.close()
            await changes.close()
            await server.close()

    def now(self) -> Micros:
        return self._time.now()

    # Writes.

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        for each in sets:
            check_consistency(each)
        moved = commits.moved_counters(sets)
        script, words = commits.encode_batch(sets, moved, now=self._given_time())
        now, written, answers, counts = await self._run(script, *words)
        self._time.observe(Micros(int(now)))
        self._changes.written(written)
        values, refusals = dict(zip(moved, map(int, counts), strict=True)), dict(answers)
        return [_answer(each, refusals.get(place, ()), values) for place, each in enumerate(sets)]

    async def claim(self, plan: ClaimPlan) -> Claimed | Stale:
        changes = self._changes
        if is_outdated(plan, self.now()):
            return Stale(plan.epoch)
        reply = await self._run(CLAIM, *claims.encode_claim(plan, changes.hints.take_hints(plan)))
        if reply[0] == "claimed":
            changes.written(reply[1])
        return claims.decode_claim(reply)

    async def extend(self, beats: Sequence[Beat]) -> list[Extended]:
        now, *answers = await self._run(EXTEND, or_nul(self._given_time()), *claims.encode_heartbeats(beats))
        self._time.observe(Micros(int(now)))
        self._changes.wake_local()
        return claims.decode_extended(answers)

    async def touch(self, touches: Sequence[Touch]) -> None:
        words = (word for touch in touches for word in map(or_nul, touch))
        await self._run(WRITE, "touch", len(touches), *words)
        self._changes.wake_local()

    async def pulse(self, names: Sequence[str]) -> None:
        if names:
            words = (word for name in names for word in (self.now(), name))
            await self._open().execute("ZADD", f"{self._where.prefix}pulses", "GT", *words)
            self._changes.wake_local()

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        known: dict[Lane, LaneId] = await self._query("lane_ids", lanes)
        if any(lane not in known for lane in lanes):
            words = (word for lane in lanes for word in (lane.workspace, format_lane(lane)))
            written, ids = await self._run(WRITE, "lanes", len(lanes), *words)
            self._changes.written(written)
            return [LaneId(int(each)) for each in ids]
        return [known[lane] for lane in lanes]

    async def take_duty(self, name: str, now: Micros, until: Micros) -> Micros | None:
        last = await self._run(WRITE, "take_duty", name, now, until, until + TOLERANCE)
        return None if last is None else Micros(int(last))

    async def prune_events(self, before: Micros, after: int, limit: int) -> int | None:
        go_on = await self._run(WRITE, "prune_events", before, after, limit)
        return None if go_on is None else int(go_on)

    async def settle(self, outbox_ids: Sequence[int]) -> None:
        await self._run(WRITE, "settle", len(outbox_ids), *outbox_ids)

    async def keep_embeddings(self, embeddings: Sequence[Embedding]) -> None:
        words = (word for each in embeddings for word in encoding.embedding_words(each))
        await self._run(WRITE, "keep_embeddings", len(embeddings), *words)

    async def append_streams(self, appends: Sequence[StreamAppend]) -> list[StreamAppended]:
        words = streams.append_words(appends)
        now, streamed, written, answers = await self._run(STREAM, "append", or_nul(self._given_time()), *words)
        self._time.observe(Micros(int(now)))
        self._changes.streams.written(streamed)
        if written:  # there are events; otherwise nobody is woken but those who follow these streams
            self._changes.written(written)
        return streams.parse_answers(answers)

    async def prune_streams(self, before: Micros, after: str, limit: int) -> str | None:
        return await self._run(STREAM, "prune", before, after, limit)

    # Reads.

    async def stream(self, task_id: TaskId, after: StreamPlace, limit: int) -> list[StreamChunk]:
        return await streams.read(self._reader, task_id, after, limit)

    async def streamed(self, mark: int, timeout: float, task_id: TaskId | None = None) -> int:
        changes = self._changes
        if timeout > 0:
            await changes.streams.wait(mark, timeout, ANYTHING if task_id is None else frozenset({task_id}))
        self._open()
        return changes.streams.mark

    async def load(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
        self._open()
        return await self._loads.ask(task_ids)

    async def config(self, workspace: str, lanes_above: LaneId) -> Config:
        """Read the configuration. If the server was emptied meanwhile, read or create the new yard's secret too."""
        found = await super().config(workspace, lanes_above)
        if found.yard == yard_identity(self.secret):
            return found
        self.secret = (await schema.prepare(self._open(), self._where.prefix, migrates=self._migrates)).secret
        return await super().config(workspace, lanes_above)

    async def dump(self, part: YardPart, after: CopyPlace, limit: int) -> list[Copy]:
        return await dump.dump(self._reader, part, after, limit)

    async def restore(self, copies: Sequence[Copy], progress: RecordChange) -> bool:
        lanes = [each.lane for each in copies_of(TaskCopy, copies)]
        numbers = await self.lanes(lanes) if lanes else []
        words = restore.encode_restore(copies, numbers, progress, now=self._given_time())
        now, is_stored, written = await self._run(RESTORE, *words)
        self._time.observe(Micros(int(now)))
        if is_stored:
            self._changes.written(written)
        return bool(is_stored)

    async def changed(self, mark: int, timeout: float, plan: ClaimPlan | None = None, *, took_all: bool = False) -> int:
        changes = self._changes
        if timeout > 0:
            if plan is None:
                await changes.wait(mark, timeout, ANYTHING)
            else:
                await changes.wait_for_work(mark, timeout, plan, took_all=took_all)
        self._open()
        return changes.mark

    # Helpers.

    def _given_time(self) -> Micros | None:
        """This process's time; None where the server's clock decides."""
        return None if self._time.uses_server_clock else self._time.now()

    async def _run(self, script: Script, *words: Word) -> Reply:
        return await self._open().run(script, *words)

    async def _query(self, name: str, *given: object) -> Any:
        read = find_problems if name == "checks" else getattr(queries, name)
        return await read(self._reader, *given)

    @property
    def _reader(self) -> RedisReader:
        return RedisReader(self._open(), self._where.prefix)

    @property
    def _changes(self) -> ChangeStream:
        self._open()
        assert self._changes_or_none is not None
        return self._changes_or_none

    def _open(self) -> RedisServer:
        if self._server is None:
            raise YardClosed
        if os.getpid() != self._process:
            raise StoreUnavailable("connections do not survive a fork, so connect again in this process")
        return self._server

    async def _measure(self, server: RedisServer) -> None:
        async def execute() -> int:
            seconds, micros = await server.execute("TIME")
            return int(seconds) * 1_000_000 + int(micros)

        await self._time.measure(execute)

    async def _keep_measuring(self, server: RedisServer) -> None:
        while True:
            await asyncio.sleep(MEASURED_EVERY)
            with suppress(Unavailable):
                await self._measure(server)


def _answer(change_set: ChangeSet, reply: Reply, counts: Mapping[Key, int]) -> Answer:
    """The answer for one set, with the counters that it moved, as they are after the commit."""
    match reply:
        case ["conflict", what]:
            return Conflict(what)
        case ["taken", *by]:
            return Taken({name: TaskId(owner) for name, owner in zip(by[::2], by[1::2], strict=True)})
        case _:
            moved = {count.name: counts[count.workspace, count.name] for count in change_set.counts}
            return Committed(moved, (*newly_ready(change_set, ()), *reply[1:]))
