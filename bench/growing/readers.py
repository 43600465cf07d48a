"""Readers of the events: what those who watch cost those who work.

`python -m bench.growing.readers URL N` reads the events of a yard N times in a process of its own, as a server does for
those who are connected to it.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from time import perf_counter

from bench.growing.growth import AGENT, BATCH, Growth, Place, case, drain, name, put_in
from bench.runner import Table, measure
from bench.yards import Urls, a_yard
from taskyard.yard import Yard

SLICE = 1_000  # tasks that are drained in a round
READY = "reading"


async def readers(store: str, urls: Urls, *, sizes: list[int], rounds: int) -> Growth:
    beside = {"readers": _reading_here, "readers in another process": _reading_elsewhere}
    places = {Place(line, size): reading for line, reading in beside.items() for size in sizes}
    first = next(iter(places))
    async with AsyncExitStack() as stack:
        cases = [
            case(place, await _case(stack, urls, place, reading), against=None if place is first else name(first))
            for place, reading in places.items()
        ]
        rows = await measure(cases, unit="µs per task", rounds=rounds)
    table = Table(title=f"Draining while others read the events, {store}", settings={"rounds": rounds}, rows=rows)
    return Growth(table=table, of="readers", places={name(place): place for place in places})


async def _case(
    stack: AsyncExitStack, urls: Urls, place: Place, reading: Callable[[str, int], AbstractAsyncContextManager[None]]
) -> Callable[[], Awaitable[float]]:
    url = urls(f"{place.line.replace(' ', '_')}_{place.size}")
    yard = await stack.enter_async_context(a_yard(url))
    await yard.agents.register(AGENT, max_concurrent_tasks=BATCH)
    await stack.enter_async_context(reading(url, place.size))

    async def once() -> float:
        """Until the work is done; the readers may come after."""
        await put_in(yard, SLICE)
        began = perf_counter()
        await drain(yard, SLICE)
        return 1e6 * (perf_counter() - began) / SLICE

    return once


@asynccontextmanager
async def _reading_here(url: str, number: int) -> AsyncGenerator[None]:
    async with a_yard(url) as yard:
        tails = [asyncio.create_task(_read(yard)) for _ in range(number)]
        try:
            yield
        finally:
            for tail in tails:
                tail.cancel()
                with suppress(asyncio.CancelledError):
                    await tail


@asynccontextmanager
async def _reading_elsewhere(url: str, number: int) -> AsyncGenerator[None]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.growing.readers", url, str(number), stdin=PIPE, stdout=PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert (await process.stdout.readline()).decode().strip() == READY
        yield
    finally:
        process.stdin.close()  # at the end of its input the process ends
        await process.wait()


async def _read(yard: Yard) -> None:
    async for _ in yard.tail():
        pass


async def main(url: str, number: int) -> None:
    async with _reading_here(url, number):
        print(READY, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
