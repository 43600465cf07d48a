"""Not a system: the least that PostgreSQL can be asked to do. Claim a batch, finish a batch, and nothing besides."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, ClassVar

import asyncpg

from bench.peers.contract import Done, payload

BATCH = 100
POLL = 0.002  # seconds
TABLE = """
    create table job (id bigint primary key, status smallint not null default 0, payload text not null);
    create index on job (id) where status = 0
"""
PUT = "insert into job (id, payload) select * from unnest($1::bigint[], $2::text[])"
CLAIM = """
    update job
    set status = 1
    where id = any (array(select id from job where status = 0 order by id limit $1 for update skip locked))
    returning id, payload
"""
FINISH = "update job set status = 2 where id = any ($1::bigint[])"


class Peer:
    blocking: ClassVar[bool] = False

    def __init__(self, place: str) -> None:
        self._place = place
        self._connection: Any = None
        self._one_at_a_time = asyncio.Lock()

    async def prepare(self) -> None:
        await self.open()
        await self._connection.execute(TABLE)
        await self.close()

    async def open(self) -> None:
        self._connection = await asyncpg.connect(self._place)

    async def put(self, number: int) -> None:
        await self.put_many([number])

    async def put_many(self, numbers: Sequence[int]) -> None:
        payloads = [json.dumps(payload(number)) for number in numbers]
        async with self._one_at_a_time:
            await self._connection.execute(PUT, list(numbers), payloads)

    async def work(self, done: Done) -> None:
        while True:
            rows = await self._connection.fetch(CLAIM, BATCH)
            for number, _ in rows:
                done(number)
            await self._connection.execute(FINISH, [number for number, _ in rows])
            await asyncio.sleep(0 if rows else POLL)

    async def left(self) -> int:
        return await self._connection.fetchval("select count(*) from job where status < 2")

    async def close(self) -> None:
        await self._connection.close()
