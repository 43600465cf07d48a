"""How the cost of a claim grows with what is waiting.

Three agents claim in the same yards. One may take ten tasks, and none of all the others that wait. One may take all of
those, from as many lanes as there are. One may take from a tenth of the lanes, one task or a hundred. None of them
should care how many wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from time import perf_counter
from typing import NamedTuple

from bench.counting import Counting
from bench.growing.growth import Growth, Place
from bench.runner import Case, Counts, Table, measure
from bench.yards import PAYLOAD, Urls, a_yard, fill
from taskyard.features.tasks.views import Held
from taskyard.yard import Yard

OWN = 10
AT_MOST = 1.5  # times the claim with the fewest waiting


class Claimer(NamedTuple):
    agent: str
    lanes: int  # that it may take from
    batch: int

    @property
    def name(self) -> str:
        return f"{self.batch} {self.agent}"


async def claims(store: str, urls: Urls, counting: Counting, *, sizes: list[int], lanes: int, rounds: int) -> Growth:
    claimers = [
        Claimer("and none of", 1, OWN),
        Claimer("of any of", lanes, OWN),
        Claimer("of a tenth of", lanes // 10, 1),
        Claimer("of a tenth of", lanes // 10, lanes // 2),
    ]
    async with AsyncExitStack() as stack:
        yards = {size: await stack.enter_async_context(a_yard(urls(f"waiting_{size}"))) for size in sizes}
        for size, yard in yards.items():
            await _furnish(yard, size, lanes)
        cases = [
            _case(yard, urls(f"waiting_{size}"), claimer, counting, size, fewest=sizes[0])
            for claimer in claimers
            for size, yard in yards.items()
        ]
        rows = await measure(cases, unit="ms", rounds=rounds, warm_up=10, at_most=AT_MOST)
    title = f"Claims by what is waiting, {store}"
    table = Table(title=title, settings={"lanes": lanes, "rounds": rounds}, rows=rows)
    places = {
        _name(claimer, size): Place(claimer.name.removesuffix(" of"), size) for claimer in claimers for size in sizes
    }
    return Growth(table=table, of="tasks waiting", places=places)


async def _furnish(yard: Yard, size: int, lanes: int) -> None:
    await fill(yard, size, lanes=lanes)
    await yard.enqueue_many([{"type": "own", "payload": PAYLOAD}] * OWN)
    types = [f"type-{lane}" for lane in range(lanes)]
    for agent, takes in (("and none of", ["own"]), ("of any of", types), ("of a tenth of", types[: lanes // 10])):
        await yard.agents.register(agent, types=takes, max_concurrent_tasks=lanes)


def _case(yard: Yard, url: str, claimer: Claimer, counting: Counting, size: int, *, fewest: int) -> Case:
    async def once() -> float:
        began = perf_counter()
        held = await yard.claim(claimer.agent, count=claimer.batch, start=True)
        took = perf_counter() - began
        assert len(held) == claimer.batch
        await _give_back(yard, held)
        return 1000 * took

    async def count() -> Counts:
        """One claim more, under the eyes of a counter, which would spoil its time."""
        with counting() as counted:
            async with a_yard(url) as watched:
                await watched.claim(claimer.agent, types=[])  # so that it knows the lanes
                counted.reset()
                held = await watched.claim(claimer.agent, count=claimer.batch, start=True)
                counts = counted.counts(most_rows=claimer.lanes + claimer.batch)
                await _give_back(watched, held)
        return counts

    against = None if size == fewest else _name(claimer, fewest)
    return Case(name=_name(claimer, size), once=once, count=count, against=against)


def _name(claimer: Claimer, size: int) -> str:
    return f"{claimer.name} {size:,}"


async def _give_back(yard: Yard, held: Sequence[Held]) -> None:
    await asyncio.gather(*(yard.release(each.id, each.lease) for each in held))
