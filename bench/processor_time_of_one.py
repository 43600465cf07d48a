"""Prints the processor time of this process for 1,000 tasks of each step, in ms, as JSON.

`python processor_time_of_one.py URL [STEP ...]`, on a yard that nobody else uses. The code that is measured is whatever
`import taskyard` finds, so only what every release has is used here. The collector of garbage is set as `taskyard work`
and `taskyard serve` set it: otherwise a look at everything that was ever loaded falls into one of the steps by chance.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from time import process_time
from typing import Any

import taskyard

TYPE = "noop"
TEXT = "x" * 170
LONE = 300  # tasks
BULK = 1_000
BULKS = 4
CLAIMED = 100  # at once
SLOTS = 500
RUNNERS = ("taskyard.worker.process.runner", "taskyard.worker.runner")  # where releases have the worker


def payload(number: int) -> dict[str, Any]:
    """About 200 bytes as JSON, and no two alike."""
    return {"number": number, "text": TEXT}


async def lone_enqueue(yard: Any, first: int = 0) -> int:
    for number in range(first, first + LONE):
        await yard.enqueue(TYPE, payload=payload(number))
    return LONE


async def bulk_enqueue(yard: Any) -> int:
    for start in range(0, BULK * BULKS, BULK):
        await yard.enqueue_many([{"type": TYPE, "payload": payload(number)} for number in range(start, start + BULK)])
    return BULK * BULKS


async def claim(yard: Any, held: list[Any]) -> int:
    for _ in range(0, BULK, CLAIMED):
        held += await yard.claim("worker", count=CLAIMED, start=True)
    return BULK


async def complete(yard: Any, held: list[Any]) -> int:
    for start in range(0, len(held), CLAIMED):
        some = held[start : start + CLAIMED]
        await asyncio.gather(*(yard.complete(each.id, each.lease, {"ok": True}) for each in some))
    return len(held)


async def drain(yard: Any, number: int) -> int:
    """Work off what is there with a worker, as users do."""
    finished = asyncio.Event()
    left = number
    agent = taskyard.Agent("bench", max_concurrent_tasks=SLOTS)

    @agent.handles(TYPE)
    async def noop(_: taskyard.Context, __: dict[str, int]) -> None:
        nonlocal left
        left -= 1
        if not left:
            finished.set()

    worker = _worker()(yard, agent)
    working = asyncio.create_task(worker.run())
    await finished.wait()
    worker.stop()
    await working
    return number


def _worker() -> Any:
    for name in RUNNERS:
        try:
            return import_module(name).Worker
        except ModuleNotFoundError:
            continue
    raise LookupError(RUNNERS)


@asynccontextmanager
async def a_yard(url: str) -> AsyncGenerator[Any]:
    """With an agent and all that is loaded or looked up once."""
    async with taskyard.connect(url, sweeps=False) as yard:
        yard_: Any = yard
        register = (
            yard_.agents.register if hasattr(yard_, "agents") and hasattr(yard_.agents, "register") else yard_.register
        )
        await register("worker", max_concurrent_tasks=2 * BULK)
        await yard_.enqueue(TYPE, payload=payload(0))
        (held,) = await yard_.claim("worker", start=True)
        await yard_.complete(held.id, held.lease, {"ok": True})
        await yard_.enqueue(TYPE, payload=payload(0))
        await drain(yard_, 1)
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000)
        yield yard_


async def measured(url: str, only: list[str]) -> dict[str, float]:
    used: dict[str, float] = {}

    async def step(name: str, act: Callable[[], Awaitable[int]]) -> None:
        began = process_time()
        number = await act()
        if not only or name.split(maxsplit=1)[0].rstrip(",") in only:
            used[name] = 1_000_000 * (process_time() - began) / number

    async with a_yard(url) as yard:
        held: list[Any] = []
        await step("lone enqueue", lambda: lone_enqueue(yard))
        await step("bulk enqueue, 1,000 at once", lambda: bulk_enqueue(yard))
        await step("claim, 100 at once", lambda: claim(yard, held))
        await step("complete, 100 at once", lambda: complete(yard, held))
        await step("drain, 500 slots", lambda: drain(yard, LONE + BULK * (BULKS - 1)))
    return used


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured(sys.argv[1], sys.argv[2:]))))
