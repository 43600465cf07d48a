"""Waiting at lanes: a task that becomes ready wakes one of those who may take it.

Each lane has a stream with one group, of which every process is a consumer. What it was handed, it keeps until its next
claim, which acknowledges it (see `claim.lua`). A process that dies in between is not heard of again, and what it was
handed goes to another. All of it is hints: a claimer looks by itself too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from secrets import token_hex

from taskyard.core.claiming import ClaimPlan
from taskyard.core.task import LaneId
from taskyard.stores.redis.connection.protocol import Connection, Refusal
from taskyard.stores.redis.connection.server import Server
from taskyard.stores.redis.encoding import Word
from taskyard.stores.redis.scripts import WRITE

_IDLE = 2_000  # milliseconds after which a hint that was not acknowledged goes to another
_FORGOTTEN = 3_600_000  # milliseconds after which a consumer that has nothing is forgotten
_EVERY = 1000  # waits between looks for such
_PAUSE = 0.25  # seconds, where there is nothing to wait at


class HintStreams:
    def __init__(self, server: Server, prefix: str) -> None:
        self._server = server
        self._prefix = prefix
        self._consumer = token_hex(8)  # a new one for each process that starts: names that repeat would mix them up
        self._handed: dict[LaneId, list[str]] = {}
        self._connections: list[Connection] = []  # those that nobody waits on now
        self._waits = 0

    async def wait(self, plan: ClaimPlan, timeout: float) -> None:
        """Until something may have become ready in one of the plan's lanes, or until the time-out."""
        lanes = [lane.id for lane in plan.lanes]
        if await self._stand_at(lanes):
            return
        connection = self._connections.pop() if self._connections else await self._server.open_another()
        try:
            await self._read(connection, lanes, len(plan.leases), timeout)
        except BaseException:
            await connection.end()  # whatever it was in the middle of, it is not to be met by the next one
            raise
        self._connections.append(connection)

    def handed(self, plan: ClaimPlan) -> Sequence[Sequence[str]]:
        """What a claim by this plan acknowledges, lane by lane."""
        return [self._handed.pop(lane.id, ()) for lane in plan.lanes] if self._handed else [()] * len(plan.lanes)

    async def close(self) -> None:
        while self._connections:
            await self._connections.pop().end()

    async def _stand_at(self, lanes: Sequence[LaneId]) -> bool:
        """Whether there is something to look for at once."""
        words = ("stand_at", self._consumer, _IDLE, len(lanes), *lanes)
        new, found = await self._server.run(WRITE, *words, twice=True)
        places: list[int] = found[::2]
        for place, hint in zip(places, found[1::2], strict=True):
            self._handed.setdefault(lanes[place - 1], []).append(hint)
        self._waits += 1
        if self._waits % _EVERY == 0:
            await self._server.run(WRITE, "forget_consumers", _FORGOTTEN, len(lanes), *lanes, twice=True)
        return bool(new or found)

    async def _read(self, connection: Connection, lanes: Sequence[LaneId], count: int, timeout: float) -> None:
        streams = {f"{self._prefix}wake:{lane}": lane for lane in lanes}
        words: list[Word] = ["GROUP", "workers", self._consumer, "COUNT", count, "BLOCK", max(int(1000 * timeout), 1)]
        try:
            asked = ("XREADGROUP", *words, "STREAMS", *streams, *[">"] * len(streams))
            found = await connection.ask(*asked, waits=timeout)
        except Refusal:
            # The group is gone with its stream, and made again before the next wait; or we may not wait here at all.
            await asyncio.sleep(min(timeout, _PAUSE))
            return
        for stream, entries in found or ():
            self._handed.setdefault(streams[stream], []).extend(hint for hint, _ in entries)
