"""Not a system: the least that SQLite can be asked to do, with synchronous FULL. A batch is claimed, then finished."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import ClassVar

import apsw

from bench.peers.contract import Done, payload

BATCH = 100
POLL = 0.002  # seconds
PRAGMAS = "pragma busy_timeout = 30000; pragma journal_mode = wal; pragma synchronous = full"
TABLE = """
    create table job (id integer primary key, status integer not null default 0, payload text not null);
    create index waiting on job (id) where status = 0
"""
CLAIM = """
    update job
    set status = 1
    where id in (select id from job where status = 0 order by id limit ?)
    returning id, payload
"""


class Peer:
    blocking: ClassVar[bool] = False  # there is one connection: threads would only wait for it

    def __init__(self, place: str) -> None:
        self._connection = apsw.Connection(f"{place}/floor.db")
        self._connection.execute(PRAGMAS)

    async def prepare(self) -> None:
        self._connection.execute(TABLE)

    async def open(self) -> None:
        """It is open already."""

    async def put(self, number: int) -> None:
        await self.put_many([number])

    async def put_many(self, numbers: Sequence[int]) -> None:
        rows = [(number, json.dumps(payload(number))) for number in numbers]
        with self._connection:
            self._connection.executemany("insert into job (id, payload) values (?, ?)", rows)

    async def work(self, done: Done) -> None:
        while True:
            rows = list(self._connection.execute(CLAIM, (BATCH,)))
            for number, _ in rows:
                done(number)
            with self._connection:
                self._connection.executemany("update job set status = 2 where id = ?", [(row[0],) for row in rows])
            await asyncio.sleep(0 if rows else POLL)

    async def left(self) -> int:
        ((left,),) = self._connection.execute("select count(*) from job where status < 2")
        return left

    async def close(self) -> None:
        self._connection.close()
