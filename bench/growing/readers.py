"""Readers of the events: what those who watch cost those who work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from time import perf_counter

from bench.growing.growth import AGENT, BATCH, Growth, Place, case, drain, name, put_in
from bench.runner import Table, measure
from bench.yards import Urls, a_yard
from taskyard.yard import Yard

SLICE = 1_000  # tasks that are drained in a round


async def readers(store: str, urls: Urls, *, sizes: list[int], rounds: int) -> Growth:
    places = [Place("readers", size) for size in sizes]
    async with AsyncExitStack() as stack:
        cases = [
            case(place, await _case(stack, urls, place.size), against=None if place is places[0] else name(places[0]))
            for place in places
        ]
        rows = await measure(cases, unit="µs per task", rounds=rounds)
    table = Table(title=f"Draining while others read the events, {store}", settings={"rounds": rounds}, rows=rows)
    return Growth(table=table, of="readers", places={name(place): place for place in places})


async def _case(stack: AsyncExitStack, urls: Urls, number: int) -> Callable[[], Awaitable[float]]:
    yard = await stack.enter_async_context(a_yard(urls(f"readers_{number}")))
    watched = await stack.enter_async_context(a_yard(urls(f"readers_{number}")))
    await yard.agents.register(AGENT, max_concurrent_tasks=BATCH)

    await stack.enter_async_context(_reading(watched, number))

    async def once() -> float:
        """Until the work is done; the readers may come after."""
        await put_in(yard, SLICE)
        began = perf_counter()
        await drain(yard, SLICE)
        return 1e6 * (perf_counter() - began) / SLICE

    return once


@asynccontextmanager
async def _reading(yard: Yard, number: int) -> AsyncGenerator[None]:
    tails = [asyncio.create_task(_read(yard)) for _ in range(number)]
    try:
        yield
    finally:
        for tail in tails:
            tail.cancel()
            with suppress(asyncio.CancelledError):
                await tail


async def _read(yard: Yard) -> None:
    async for _ in yard.tail():
        pass
