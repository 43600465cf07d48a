"""pgqueuer: the fastest on PostgreSQL in Python. Finished jobs are logged, and counted by status."""
# pyright: basic, reportMissingImports=false
# The peers are not in the environment that types are checked in.

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from asyncpg.pool import create_pool
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.peers.contract import Done, payload

BATCH = 500


class Peer:
    blocking = False

    def __init__(self, place: str) -> None:
        self._place = place
        self._pool: Any = None

    async def prepare(self) -> None:
        await self.open()
        await self._queries.install()
        await self.close()

    async def open(self) -> None:
        self._pool = await create_pool(self._place, min_size=4, max_size=16)
        self._queries = Queries(AsyncpgPoolDriver(self._pool))

    async def put(self, number: int) -> None:
        await self._queries.enqueue("noop", json.dumps(payload(number)).encode())

    async def put_many(self, numbers: Sequence[int]) -> None:
        payloads = [json.dumps(payload(number)).encode() for number in numbers]
        await self._queries.enqueue(["noop"] * len(numbers), payloads, [0] * len(numbers))

    async def work(self, done: Done) -> None:
        queue = PgQueuer.from_asyncpg_pool(self._pool)

        @queue.entrypoint("noop")
        async def noop(job: Job) -> None:
            done(json.loads(job.payload)["number"])

        await queue.run(batch_size=BATCH)

    async def left(self) -> int:
        return await self._pool.fetchval("select count(*) from pgqueuer")

    async def close(self) -> None:
        await self._pool.close()
