"""Held leases: what it costs the worker's processor to keep them alive."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from time import process_time

from bench.growing.growth import AGENT, BULK, Growth, Place, name, put_in
from bench.runner import Case, Count, Counts, Table, measure
from bench.yards import Urls, a_yard
from taskyard.features.attempts.views import Heartbeat
from taskyard.features.tasks.views import Held
from taskyard.yard import Yard

AT_MOST = 10.0  # per cent of one core, for as many as are held


async def leases(store: str, urls: Urls, *, sizes: list[int], rounds: int) -> Growth:
    places = [Place("held", size) for size in sizes]
    async with AsyncExitStack() as stack:
        cases = [await _case(stack, urls, place) for place in places]
        rows = await measure(cases, unit="% of a core", rounds=rounds)
    table = Table(title=f"Keeping leases, {store}", settings={"rounds": rounds, "at once": BULK}, rows=rows)
    return Growth(table=table, of="held leases", places={name(place): place for place in places})


async def _case(stack: AsyncExitStack, urls: Urls, place: Place) -> Case:
    yard = await stack.enter_async_context(a_yard(urls(f"leases_{place.size}")))
    held = await _hold(yard, place.size)
    shares: list[float] = []
    beat = _beating(yard, held)

    async def once() -> float:
        """Every lease once, as often as a worker must."""
        used = process_time()
        await beat()
        shares.append(100 * (process_time() - used) / held[0].timeouts.heartbeat_sec)
        return shares[-1]

    async def count() -> Counts:
        return {"% of a core": Count(min(shares), AT_MOST)}

    return Case(name=name(place), once=once, count=count)


async def _hold(yard: Yard, number: int) -> list[Held]:
    await yard.agents.register(AGENT, max_concurrent_tasks=number)
    await put_in(yard, number)
    held: list[Held] = []
    while len(held) < number:
        held += await yard.claim(AGENT, count=min(BULK, number - len(held)), start=True)
    return held


def _beating(yard: Yard, held: Sequence[Held]) -> Callable[[], Awaitable[None]]:
    async def beat() -> None:
        for start in range(0, len(held), BULK):
            told = await yard.attempts.heartbeat_many(
                [Heartbeat(each.id, each.lease) for each in held[start : start + BULK]]
            )
            assert not any(each.must_stop for each in told)

    return beat
