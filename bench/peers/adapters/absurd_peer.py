"""absurd: durable tasks in PostgreSQL. A row for each attempt, results and checkpoints are kept until a clean-up."""
# pyright: basic, reportMissingImports=false
# The peers are not in the environment that types are checked in.

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from absurd_sdk import AsyncAbsurd
from absurdctl import BUNDLED_SCHEMA_SQL
from psycopg import AsyncConnection

from bench.peers.contract import SLOTS, Done, payload

QUEUE = "noop"
CLIENTS = 4  # each has one connection
LEFT = f"select count(*) from absurd.t_{QUEUE} where state in ('pending', 'running', 'sleeping')"
POLL = 0.01  # seconds; its own 0.25 would be its pickup


class Peer:
    blocking = False

    def __init__(self, place: str) -> None:
        self._place = place
        self._connections: list[AsyncConnection[Any]] = []
        self._clients: list[AsyncAbsurd] = []

    async def prepare(self) -> None:
        async with await AsyncConnection.connect(self._place, autocommit=True) as connection:
            await connection.execute(BUNDLED_SCHEMA_SQL)
            await AsyncAbsurd(connection, queue_name=QUEUE).create_queue()

    async def open(self) -> None:
        self._connections = [await AsyncConnection.connect(self._place, autocommit=True) for _ in range(CLIENTS)]
        self._clients = [AsyncAbsurd(each, queue_name=QUEUE) for each in self._connections]
        self._next = cycle(self._clients)

    async def put(self, number: int) -> None:
        await next(self._next).spawn("noop", payload(number), queue=QUEUE)

    async def put_many(self, numbers: Sequence[int]) -> None:
        async with self._connections[0].transaction():  # there is no call for many
            for number in numbers:
                await self._clients[0].spawn("noop", payload(number), queue=QUEUE)

    async def work(self, done: Done) -> None:
        async def noop(params: Any, _: Any) -> None:
            done(params["number"])

        self._clients[0].register_task("noop", queue=QUEUE)(noop)
        await self._clients[0].start_worker(concurrency=SLOTS, batch_size=SLOTS, poll_interval=POLL)

    async def left(self) -> int:
        row = await (await self._connections[-1].execute(LEFT)).fetchone()
        return row[0] if row else 0

    async def close(self) -> None:
        for connection in self._connections:
            await connection.close()
