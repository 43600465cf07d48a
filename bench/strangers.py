"""What a stranger does to the yard who begins a transaction in its database and goes to lunch.

As long as it is open, PostgreSQL clears nothing away: whoever looks for ready tasks meets those that were claimed long
ago. The yard without a stranger is on a server of its own, since even one in another database would hold up something.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter
from typing import Any

import asyncpg

from bench.peers.servers import postgres_server
from bench.runner import Case, Counts, Table, measure
from bench.yards import PAYLOAD, a_yard
from taskyard.yard import Yard

AT_MOST = 1 / 0.7  # times what a task takes in a database without a stranger
BATCH = 100
BULK = 1_000
QUIET, BESIDE = "alone", "beside a stranger"


async def strangers(folder: Path, *, tasks: int, rounds: int) -> Table:
    each = tasks // rounds // BATCH * BATCH  # drained in one round
    async with AsyncExitStack() as stack:
        cases: list[Case] = []
        for name in (QUIET, BESIDE):
            url = stack.enter_context(postgres_server(_new_folder(folder, name)))
            yard = await stack.enter_async_context(a_yard(url))
            await _furnish(yard, each * (rounds + 1))
            if name == BESIDE:
                await _begin_and_leave(stack, url)
            cases.append(_case(name, yard, each))
        rows = await measure(cases, unit="µs per task", rounds=rounds, at_most=AT_MOST)
    settings: dict[str, float] = {"tasks": each * rounds, "rounds": rounds, "at once": BATCH}
    return Table(title="Drain beside an idle transaction, postgres", settings=settings, rows=rows)


def _new_folder(folder: Path, name: str) -> Path:
    new = folder / name.replace(" ", "-")
    new.mkdir()
    return new


async def _furnish(yard: Yard, tasks: int) -> None:
    await yard.agents.register("worker", max_concurrent_tasks=BATCH)
    for start in range(0, tasks, BULK):
        await yard.enqueue_many([{"type": "noop", "payload": PAYLOAD}] * min(BULK, tasks - start))


async def _begin_and_leave(stack: AsyncExitStack, url: str) -> None:
    stranger: Any = await asyncpg.connect(url)
    stack.push_async_callback(stranger.close)
    await stranger.execute("begin isolation level repeatable read")
    await stranger.execute("select pg_current_xact_id()")


def _case(name: str, yard: Yard, number: int) -> Case:
    async def once() -> float:
        """The next slice of what there is."""
        began = perf_counter()
        for _ in range(0, number, BATCH):
            batch = await yard.claim("worker", count=BATCH, start=True)
            await asyncio.gather(*(yard.complete(held.id, held.lease, {"ok": True}) for held in batch))
        return 1_000_000 * (perf_counter() - began) / number

    async def counted() -> Counts:
        return {}

    return Case(name=name, once=once, count=counted, against=None if name == QUIET else QUIET)
