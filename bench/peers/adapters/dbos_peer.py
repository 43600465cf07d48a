"""DBOS: durable workflows in PostgreSQL. Inputs, results and steps are kept."""
# pyright: basic, reportMissingImports=false
# The peers are not in the environment that types are checked in.

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import sqlalchemy
from dbos import DBOS, DBOSClient

from bench.peers.contract import SLOTS, Done, payload

QUEUE = "noop"
OPTIONS: Any = {"queue_name": QUEUE, "workflow_name": "noop", "app_version": "1"}
LEFT = "select count(*) from dbos.workflow_status where status in ('ENQUEUED', 'PENDING')"
POLL = 0.01  # seconds; its own second would be its pickup
POOL = 16


class Peer:
    blocking = False

    def __init__(self, place: str) -> None:
        self._place = place
        self._engine = sqlalchemy.create_engine(place.replace("postgresql://", "postgresql+psycopg://"), pool_size=POOL)

    async def prepare(self) -> None:
        await asyncio.to_thread(self._launch)
        await asyncio.to_thread(DBOS.destroy)

    def _launch(self) -> None:
        config: Any = {"name": "bench", "system_database_url": self._place, "application_version": "1"}
        DBOS(config={**config, "sys_db_pool_size": POOL, "run_admin_server": False, "log_level": "ERROR"})
        DBOS.launch()
        DBOS.register_queue(QUEUE, worker_concurrency=SLOTS, polling_interval_sec=POLL)

    async def open(self) -> None:
        self._client = DBOSClient(system_database_engine=self._engine)

    async def put(self, number: int) -> None:
        await self._client.enqueue_async(OPTIONS, **payload(number))

    async def put_many(self, numbers: Sequence[int]) -> None:
        await asyncio.to_thread(self._put_many, numbers)

    def _put_many(self, numbers: Sequence[int]) -> None:
        with self._engine.begin() as connection:  # there is no call for many
            for number in numbers:
                self._client.enqueue_in_transaction(connection, OPTIONS, **payload(number))

    async def work(self, done: Done) -> None:
        @DBOS.workflow(name="noop")
        async def noop(number: int, text: str) -> None:  # noqa: ARG001 - as much as any other has to read
            done(number)

        await asyncio.to_thread(self._launch)
        await asyncio.Event().wait()

    async def left(self) -> int:
        with self._engine.connect() as connection:
            return connection.execute(sqlalchemy.text(LEFT)).scalar_one()

    async def close(self) -> None:
        self._client.destroy()
        self._engine.dispose()
