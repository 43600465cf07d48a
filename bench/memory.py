"""How long a search among remembered tasks takes: `python -m bench.memory URL …`.

It prints the processor time of this process for one search, and the shortest time that one took by the clock, which
includes a server's work. Take a yard that may be thrown away.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time

import taskyard
from taskyard.features.memory.rules import unit
from taskyard.stores.contract import Embedding, VectorQuery

VECTORS, DIMENSIONS, AT_ONCE, SEARCHES = 10_000, 256, 500, 9
EMBEDDER = "bench"


def vector(dice: random.Random) -> list[float]:
    return unit([dice.gauss(0, 1) for _ in range(DIMENSIONS)], DIMENSIONS) or []


async def measure(url: str) -> None:
    dice = random.Random(7)
    async with taskyard.connect(url, sweeps=False) as yard:
        for _ in range(VECTORS // AT_ONCE):
            tasks = await yard.enqueue_many([{"type": "code"}] * AT_ONCE)
            kept = [Embedding(yard.workspace, task.id, "code", EMBEDDER, vector(dice)) for task in tasks]
            await yard.store.keep_embeddings(kept)
        used: list[float] = []
        took: list[float] = []
        for _ in range(SEARCHES):
            query = VectorQuery(yard.workspace, EMBEDDER, vector(dice), 5)
            cpu, clock = time.process_time(), time.perf_counter()
            found = await yard.store.nearest(query)
            used.append(time.process_time() - cpu)
            took.append(time.perf_counter() - clock)
            assert len(found) == query.limit
        kind = (await yard.health())["vector_search"]
    median = sorted(used)[SEARCHES // 2]
    print(
        f"{url.partition(':')[0]}, {kind}: {median * 1000:.0f} ms of processor time, {min(took) * 1000:.0f} ms at best"
    )


async def main() -> None:
    for url in sys.argv[1:]:
        await measure(url)


if __name__ == "__main__":
    asyncio.run(main())
