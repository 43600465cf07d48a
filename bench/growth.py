"""How the cost of a claim grows with what is waiting.

Two agents claim in the same yards. One may take ten tasks, and none of all the others that wait. The other may take all
of those, from as many lanes as there are. Neither should care how many they are.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter

from bench.counting import counting
from bench.runner import Case, Count, Counts, Table, measure
from bench.yards import PAYLOAD, a_yard, fill
from taskyard.service.yard import Yard

BATCH = 10
AT_MOST = 1.5  # times the claim with the fewest waiting
OTHERS, ANY = f"{BATCH}, and none of", f"{BATCH} of any of"  # the two agents: what they may take of all that waits


async def claims(folder: Path, *, sizes: list[int], lanes: int, rounds: int) -> Table:
    async with AsyncExitStack() as stack:
        yards = {size: await stack.enter_async_context(a_yard(folder, str(size))) for size in sizes}
        for size, yard in yards.items():
            await _furnish(yard, size, lanes)
        cases = [
            _case(folder, yard, agent, size, fewest=sizes[0], lanes=eligible)
            for agent, eligible in ((OTHERS, 1), (ANY, lanes))
            for size, yard in yards.items()
        ]
        rows = await measure(cases, unit="ms", rounds=rounds, warm_up=10, at_most=AT_MOST)
    return Table(title="Claims, by what is waiting", settings={"lanes": lanes, "rounds": rounds}, rows=rows)


async def _furnish(yard: Yard, size: int, lanes: int) -> None:
    await fill(yard, size, lanes=lanes)
    await yard.enqueue_many([{"type": "own", "payload": PAYLOAD}] * BATCH)
    await yard.register(OTHERS, types=["own"], max_concurrent_tasks=BATCH)
    await yard.register(ANY, types=[f"type-{lane}" for lane in range(lanes)], max_concurrent_tasks=BATCH)


def _case(folder: Path, yard: Yard, agent: str, size: int, *, fewest: int, lanes: int) -> Case:
    async def once() -> float:
        began = perf_counter()
        held = await yard.claim(agent, count=BATCH, start=True)
        took = perf_counter() - began
        assert len(held) == BATCH
        for each in held:
            await yard.release(each.id, each.lease)
        return 1000 * took

    async def count() -> Counts:
        """One claim more, under the eyes of a counter, which would spoil its time."""
        with counting() as counted:
            async with a_yard(folder, str(size)) as watched:
                await watched.claim(agent, count=BATCH, types=[])  # so that it knows the lanes
                counted.reset()
                held = await watched.claim(agent, count=BATCH, start=True)
                counts = {"task rows read": Count(counted.rows, lanes + BATCH), "engine steps": Count(counted.steps)}
                for each in held:
                    await watched.release(each.id, each.lease)
        return counts

    name = f"{agent} {{:,}}"
    against = None if size == fewest else name.format(fewest)
    return Case(name=name.format(size), once=once, count=count, against=against)
