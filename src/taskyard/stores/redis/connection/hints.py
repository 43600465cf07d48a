"""Hints of ready tasks: a task that becomes ready wakes one process that may claim it.

Each lane has a Redis stream with one consumer group, and every process is a consumer. A process keeps a hint until its
next claim, which acknowledges it (see `claim.lua`). The hints of a process that dies in between go to another process.
A lost hint is harmless, because claimers also look without one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from secrets import token_hex

from taskyard.core.claiming import ClaimPlan
from taskyard.core.task import LaneId
from taskyard.stores.redis.connection.protocol import ErrorReply, RedisConnection
from taskyard.stores.redis.connection.server import RedisServer
from taskyard.stores.redis.encoding import Word
from taskyard.stores.redis.scripts import WRITE

_IDLE = 2_000  # milliseconds after which an unacknowledged hint goes to another process
_FORGOTTEN = 3_600_000  # milliseconds after which an idle consumer without hints is removed
_EVERY = 1000  # waits between removals of such consumers
_PAUSE = 0.25  # seconds, if there is no stream to block at


class HintStreams:
    def __init__(self, server: RedisServer, prefix: str) -> None:
        self._server = server
        self._prefix = prefix
        self._consumer = token_hex(8)  # random, so that no two processes share a name
        self._hints: dict[LaneId, list[str]] = {}
        self._connections: list[RedisConnection] = []  # idle connections
        self._waits = 0

    async def wait(self, plan: ClaimPlan, timeout: float) -> None:
        """Wait for a hint in one of the plan's lanes, or until the time-out."""
        lanes = [lane.id for lane in plan.lanes]
        if await self._register(lanes):
            return
        connection = self._connections.pop() if self._connections else await self._server.open_another()
        try:
            # A worker that waits does not say how many it will ask for, and leaves the other hints to others.
            await self._read(connection, lanes, len(plan.leases) or 1, timeout)
        except BaseException:
            await connection.end()  # an unfinished command must not reach the next user of the connection
            raise
        self._connections.append(connection)

    def take_hints(self, plan: ClaimPlan) -> Sequence[Sequence[str]]:
        """The hints that a claim with this plan acknowledges, for each lane."""
        return [self._hints.pop(lane.id, ()) for lane in plan.lanes] if self._hints else [()] * len(plan.lanes)

    async def close(self) -> None:
        while self._connections:
            await self._connections.pop().end()

    async def _register(self, lanes: Sequence[LaneId]) -> bool:
        """Join the lanes' groups and take over hints of lost processes. True: claim at once."""
        words = ("stand_at", self._consumer, _IDLE, len(lanes), *lanes)
        new, pending = await self._server.run(WRITE, *words, idempotent=True)
        places: list[int] = pending[::2]
        for place, hint in zip(places, pending[1::2], strict=True):
            self._hints.setdefault(lanes[place - 1], []).append(hint)
        self._waits += 1
        if self._waits % _EVERY == 0:
            await self._server.run(WRITE, "forget_consumers", _FORGOTTEN, len(lanes), *lanes, idempotent=True)
        return bool(new or pending)

    async def _read(self, connection: RedisConnection, lanes: Sequence[LaneId], count: int, timeout: float) -> None:
        streams = {f"{self._prefix}wake:{lane}": lane for lane in lanes}
        words: list[Word] = ["GROUP", "workers", self._consumer, "COUNT", count, "BLOCK", max(int(1000 * timeout), 1)]
        try:
            asked = ("XREADGROUP", *words, "STREAMS", *streams, *[">"] * len(streams))
            pending = await connection.execute(*asked, waits=timeout)
        except ErrorReply:
            # The group was removed with its stream, and the next wait creates it; or the command is forbidden.
            await asyncio.sleep(min(timeout, _PAUSE))
            return
        for stream, entries in pending or ():
            self._hints.setdefault(streams[stream], []).extend(hint for hint, _ in entries)
