"""procrastinate: PostgreSQL, a status change and an event row for each step."""
# pyright: basic, reportMissingImports=false
# The peers are not in the environment that types are checked in.

from __future__ import annotations

from collections.abc import Sequence

import procrastinate

from bench.peers.contract import SLOTS, Done, payload

DONE = "select count(*) as jobs from procrastinate_jobs where status in ('todo', 'doing')"


class Peer:
    blocking = False

    def __init__(self, place: str) -> None:
        self._connector = procrastinate.PsycopgConnector(conninfo=place, max_size=20)
        self._app = procrastinate.App(connector=self._connector)

        @self._app.task(name="noop")
        async def noop(number: int, **_: str) -> None:
            self._done(number)

        self._noop = noop

    async def prepare(self) -> None:
        await self.open()
        await self._app.schema_manager.apply_schema_async()
        await self.close()

    async def open(self) -> None:
        await self._app.open_async()

    async def put(self, number: int) -> None:
        await self._noop.defer_async(**payload(number))

    async def put_many(self, numbers: Sequence[int]) -> None:
        await self._noop.batch_defer_async(*(payload(number) for number in numbers))

    async def work(self, done: Done) -> None:
        self._done = done
        await self._app.run_worker_async(concurrency=SLOTS, install_signal_handlers=False)

    async def left(self) -> int:
        row = await self._connector.execute_query_one_async(DONE)
        return row["jobs"]

    async def close(self) -> None:
        await self._app.close_async()
