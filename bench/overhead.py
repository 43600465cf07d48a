"""What HTTP adds: the same tasks claimed, started and completed on the library, and through a server.

The server is a process of its own on a yard of the same store. A batch endpoint carries many tasks at once, so most of
what a request costs is spread over them.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from time import perf_counter

import taskyard
from bench.runner import Case, Counts, Table, measure
from bench.yards import PAYLOAD, Urls, a_yard
from taskyard.yard import Yard

BATCH = 100
AT_MOST = 3.0  # times the library, for a batch
TYPE = "noop"


async def overhead(store: str, urls: Urls, *, rounds: int) -> Table:
    async with a_yard(urls("near")) as near, _beyond_a_server(urls("far")) as far:
        for yard in (near, far):
            await yard.agents.register("worker", max_concurrent_tasks=BATCH)
        batches = [_case(f"library, {BATCH} at once", near, BATCH), _case(f"HTTP, {BATCH} at once", far, BATCH)]
        ones = [_case("library, one", near, 1), _case("HTTP, one", far, 1)]
        rows = await measure(_against(batches), unit="ms", rounds=rounds, warm_up=10, at_most=AT_MOST)
        rows += await measure(_against(ones), unit="ms", rounds=rounds, warm_up=10)
    return Table(title=f"What HTTP adds, {store}", settings={"rounds": rounds, "payload bytes": 200}, rows=rows)


def _case(name: str, yard: Yard, number: int) -> Case:
    async def once() -> float:
        await yard.enqueue_many([{"type": TYPE, "payload": PAYLOAD}] * number)
        began = perf_counter()
        held = await yard.claim("worker", count=number, start=True)
        assert len(held) == number
        await yard.attempts.complete_many(
            [{"task_id": each.id, "lease": each.lease, "output": {"ok": True}} for each in held]
        )
        return 1000 * (perf_counter() - began)

    async def counted() -> Counts:
        return {}

    return Case(name=name, once=once, count=counted)


def _against(cases: list[Case]) -> list[Case]:
    library, http = cases
    return [library, Case(name=http.name, once=http.once, count=http.count, against=library.name)]


@asynccontextmanager
async def _beyond_a_server(url: str) -> AsyncGenerator[Yard]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "taskyard", "--url", url, "serve", "--port", str(port)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with taskyard.connect(f"http://127.0.0.1:{port}") as yard:  # it waits until the server is up
            yield yard
    finally:
        server.terminate()
        await server.wait()
