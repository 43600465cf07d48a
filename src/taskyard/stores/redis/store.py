"""A yard under one hash tag of a Redis or Valkey server, shared by any number of processes and machines.

Python plans, and short scripts look and write, each in one step (see `yard.lua`); this module only passes on, and tells
others that something was written.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from taskyard.core.changes import Beat, ChangeSet, Committed, Conflict, Taken, Touch
from taskyard.core.claiming import ClaimPlan, Pace, is_outdated
from taskyard.core.clock_jump import TOLERANCE
from taskyard.core.errors import InvalidInput, StoreUnavailable, Unavailable, YardClosed
from taskyard.core.task import Hot, Lane, LaneId, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import Claimed, Clock, Config, Extended, Guest, Stale
from taskyard.stores.redis import claims, commits, queries, schema
from taskyard.stores.redis.connection.address import address
from taskyard.stores.redis.connection.change_stream import Waking
from taskyard.stores.redis.connection.durability import Durability
from taskyard.stores.redis.connection.server import Server
from taskyard.stores.redis.encoding import Reply, Word, optional
from taskyard.stores.redis.integrity import checks
from taskyard.stores.redis.queries import Reader
from taskyard.stores.redis.scripts import CLAIM, COMMIT, EXTEND, WRITE, Script
from taskyard.stores.shared.commits.batching import Key
from taskyard.stores.shared.commits.change_sets import Answer, check_consistency, newly_ready
from taskyard.stores.shared.identity import yard_identity
from taskyard.stores.shared.migrations import State
from taskyard.stores.shared.read_batching import ReadBatcher
from taskyard.stores.shared.reads import Reads
from taskyard.stores.shared.rows import format_lane
from taskyard.stores.shared.store_clock import MEASURED_EVERY, StoreClock
from taskyard.stores.shared.timeouts import CALL_TIMEOUT


class RedisStore(Reads):
    secret: bytes
    pace = Pace(parts=4, least=25, commits=2)  # a script costs little beside what it does, so small claims are cheap
    durability: Durability  # as it was found when the yard was opened

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
        self._where = address(url)
        self._time = StoreClock(clock)
        self._server: Server | None = None
        self._waking: Waking | None = None
        self._measuring: asyncio.Task[None] | None = None
        self._loading = ReadBatcher[Hot](lambda task_ids: self._query("load", task_ids))
        self._process = 0

    def twin(self) -> RedisStore:
        return RedisStore(self._url, clock=self._clock, migrates=self._migrates, call_timeout=self._call_timeout)

    def join(self, connection: object) -> Guest:
        del connection
        raise InvalidInput("connection", "must be to a SQLite or PostgreSQL yard: one in Redis has no transactions")

    async def schema(self) -> State:
        async with self._aside() as server:
            return await schema.schema(server, self._where.prefix)

    async def migrate(self) -> None:
        async with self._aside() as server:
            await schema.prepare(server, self._where.prefix, migrates=True)

    @asynccontextmanager
    async def _aside(self) -> AsyncGenerator[Server]:
        """For what needs no open yard."""
        server = Server(self._where, self._call_timeout)
        try:
            yield server
        finally:
            await server.close()

    async def open(self) -> None:
        server = Server(self._where, self._call_timeout)
        try:
            founded = await schema.prepare(server, self._where.prefix, migrates=self._migrates)
            self.secret, told, self.durability = founded
            self._time.observe(told)
            await self._measure(server)
            waking = Waking(server, self._where.prefix)
            await waking.open()
        except BaseException:
            await server.close()
            raise
        self._process = os.getpid()
        self._server, self._waking = server, waking
        if self._time.uses_server_clock:
            self._measuring = asyncio.create_task(self._keep_measuring(server))

    async def close(self) -> None:
        """Finish the writes that are under way. Afterwards every call is refused."""
        server, waking, measuring = self._server, self._waking, self._measuring
        self._server = self._waking = self._measuring = None
        if measuring is not None:
            measuring.cancel()
            with suppress(asyncio.CancelledError):
                await measuring
        if server is not None and waking is not None:
            await self._loading.close()
            await waking.close()
            await server.close()

    def now(self) -> Micros:
        return self._time.now()

    # Writes.

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        for each in sets:
            check_consistency(each)
        moved = commits.counters(sets)
        now, written, answers, counts = await self._run(COMMIT, *commits.batch(sets, moved, now=self._said()))
        self._time.observe(Micros(int(now)))
        self._awake.wrote(written)
        values, said = dict(zip(moved, map(int, counts), strict=True)), dict(answers)
        return [_answer(each, said.get(place, ()), values) for place, each in enumerate(sets)]

    async def claim(self, plan: ClaimPlan) -> Claimed | Stale:
        waking = self._awake
        if is_outdated(plan, self.now()):
            return Stale(plan.epoch)
        reply = await self._run(CLAIM, *claims.claim_words(plan, waking.hints.handed(plan)))
        if reply[0] == "claimed":
            waking.wrote(reply[1])
        return claims.claimed(reply)

    async def extend(self, beats: Sequence[Beat]) -> list[Extended]:
        now, *answers = await self._run(EXTEND, optional(self._said()), *claims.beat_words(beats))
        self._time.observe(Micros(int(now)))
        self._awake.moved()
        return claims.extended(answers)

    async def touch(self, touches: Sequence[Touch]) -> None:
        words = (word for touch in touches for word in map(optional, touch))
        await self._run(WRITE, "touch", len(touches), *words)
        self._awake.moved()

    async def pulse(self, names: Sequence[str]) -> None:
        if names:
            heard = (word for name in names for word in (self.now(), name))
            await self._open().ask("ZADD", f"{self._where.prefix}pulses", "GT", *heard)
            self._awake.moved()

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        known: dict[Lane, LaneId] = await self._query("lane_ids", lanes)
        if any(lane not in known for lane in lanes):
            words = (word for lane in lanes for word in (lane.workspace, format_lane(lane)))
            written, ids = await self._run(WRITE, "lanes", len(lanes), *words)
            self._awake.wrote(written)
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

    # Reads.

    async def load(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
        self._open()
        return await self._loading.ask(task_ids)

    async def config(self, workspace: str, lanes_above: LaneId) -> Config:
        """As stored. Where the server was emptied meanwhile, this process learns the secret of what is there now."""
        found = await super().config(workspace, lanes_above)
        if found.yard == yard_identity(self.secret):
            return found
        self.secret = (await schema.prepare(self._open(), self._where.prefix, migrates=self._migrates)).secret
        return await super().config(workspace, lanes_above)

    async def changed(self, mark: int, timeout: float, plan: ClaimPlan | None = None) -> int:
        waking = self._awake
        if timeout > 0:
            await waking.wait(mark, timeout, plan)
        self._open()
        return waking.mark

    # How.

    def _said(self) -> Micros | None:
        """The time as this process has it; where the server's clock decides, it says itself."""
        return None if self._time.uses_server_clock else self._time.now()

    async def _run(self, script: Script, *words: Word) -> Reply:
        return await self._open().run(script, *words)

    async def _query(self, name: str, *given: object) -> Any:
        read = checks if name == "checks" else getattr(queries, name)
        return await read(Reader(self._open(), self._where.prefix), *given)

    @property
    def _awake(self) -> Waking:
        self._open()
        assert self._waking is not None
        return self._waking

    def _open(self) -> Server:
        if self._server is None:
            raise YardClosed
        if os.getpid() != self._process:
            raise StoreUnavailable("connections do not survive a fork, so connect again in this process")
        return self._server

    async def _measure(self, server: Server) -> None:
        async def ask() -> int:
            seconds, micros = await server.ask("TIME")
            return int(seconds) * 1_000_000 + int(micros)

        await self._time.measure(ask)

    async def _keep_measuring(self, server: Server) -> None:
        while True:
            await asyncio.sleep(MEASURED_EVERY)
            with suppress(Unavailable):
                await self._measure(server)


def _answer(change_set: ChangeSet, reply: Reply, counts: Mapping[Key, int]) -> Answer:
    """With the counters that the set moved, as they are after the batch."""
    match reply:
        case ["conflict", what]:
            return Conflict(what)
        case ["taken", *by]:
            return Taken({name: TaskId(owner) for name, owner in zip(by[::2], by[1::2], strict=True)})
        case _:
            moved = {count.name: counts[count.workspace, count.name] for count in change_set.counts}
            return Committed(moved, (*newly_ready(change_set, ()), *reply[1:]))
