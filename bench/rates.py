"""How many tasks go in and through a second, in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from statistics import median
from time import perf_counter, process_time

from bench.runner import Case, Count, Counts, Table, measure
from bench.yards import PAYLOAD, Urls, a_yard
from taskyard.yard import Yard

IN_FLIGHT = 16
BULK = 1_000
BATCH = 100
TYPE = "noop"


async def rates(store: str, urls: Urls, *, tasks: int, rounds: int) -> Table:
    def case(name: str, act: Callable[[Yard, int], Awaitable[None]], number: int) -> Case:
        return _case(urls, name, act, number)

    cases = [
        case("enqueue one at a time", one_at_a_time, tasks // 10),
        case(f"enqueue, {IN_FLIGHT} in flight", in_flight, tasks // 4),
        case(f"enqueue in bulk, {BULK:,} at once", _in_bulk, tasks),
        case("drain one at a time", _drain_one_at_a_time, tasks // 20),
        case(f"drain, {BATCH} at once", _drain, tasks),
    ]
    rows = await measure(cases, unit="tasks/s", rounds=rounds)
    return Table(title=f"Rates, {store}", settings={"tasks": tasks, "rounds": rounds, "payload bytes": 200}, rows=rows)


def _case(urls: Urls, name: str, act: Callable[[Yard, int], Awaitable[None]], number: int) -> Case:
    serial = count(1)
    processor: list[float] = []  # µs per task

    async def once() -> float:
        """In a yard of its own, with the work there already where it is to be drained."""
        async with a_yard(urls(f"{act.__name__}_{next(serial)}")) as yard:
            await yard.agents.register("worker", max_concurrent_tasks=BATCH)
            if act in (_drain, _drain_one_at_a_time):
                await _in_bulk(yard, number)
            began, used = perf_counter(), process_time()
            await act(yard, number)
            processor.append(1_000_000 * (process_time() - used) / number)
            return number / (perf_counter() - began)

    async def counted() -> Counts:
        return {"CPU µs per task": Count(median(processor))}

    return Case(name=name, once=once, count=counted)


async def one_at_a_time(yard: Yard, number: int) -> None:
    for _ in range(number):
        await yard.enqueue(TYPE, payload=PAYLOAD)


async def in_flight(yard: Yard, number: int) -> None:
    await asyncio.gather(*(one_at_a_time(yard, number // IN_FLIGHT) for _ in range(IN_FLIGHT)))


async def _in_bulk(yard: Yard, number: int) -> None:
    for start in range(0, number, BULK):
        await yard.enqueue_many([{"type": TYPE, "payload": PAYLOAD}] * min(BULK, number - start))


async def _drain_one_at_a_time(yard: Yard, number: int) -> None:
    for _ in range(number):
        (held,) = await yard.claim("worker", start=True)
        await yard.complete(held.id, held.lease, {"ok": True})


async def _drain(yard: Yard, number: int) -> None:
    for _ in range(0, number, BATCH):
        batch = await yard.claim("worker", count=BATCH, start=True)
        await asyncio.gather(*(yard.complete(held.id, held.lease, {"ok": True}) for held in batch))
