"""What stored tasks and open processes take: bytes of a task that waits and of one that has ended, and connections.

`python -m bench.footprint [--tasks 10000]`, on servers of its own. All of it is counted by the stores, so it means the
same on a busy machine. A task has a payload of about 200 bytes and an output of 11; its history is three events and an
attempt.
"""

from __future__ import annotations

import asyncio
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import taskyard
from bench.peers.servers import postgres_server, redis_server
from bench.yards import PAYLOAD
from taskyard.core.json_value import Json
from taskyard.yard import Yard

AT_ONCE = 500  # tasks of one call
# What a store says of its size: SQLite's log is written into the file when the yard is closed.
SIZES = ("file_bytes", "database_bytes", "memory_bytes")


class Footprint(NamedTuple):
    waiting: float  # bytes of each task
    ended: float
    connections: int | None  # of one process that works, beside the one that asks


def stored_bytes(figures: Mapping[str, Json]) -> int:
    found = [value for name in SIZES if isinstance(value := figures.get(name), int)]
    assert len(found) == 1, f"a store says one of {SIZES}, and this one says {sorted(figures)}"
    return found[0]


def per_task(empty: int, waiting: int, ended: int, tasks: int) -> tuple[float, float]:
    return (waiting - empty) / tasks, (ended - empty) / tasks


async def measure(url: str, tasks: int) -> Footprint:
    empty = await _size(url, _nothing)
    waiting = await _size(url, lambda yard: _fill(yard, tasks))
    ended = await _size(url, lambda yard: _work_off(yard, tasks))
    return Footprint(*per_task(empty, waiting, ended, tasks), await _connections(url))


async def _size(url: str, act: Callable[[Yard], Awaitable[None]]) -> int:
    """After the act, in a yard that was closed in between: SQLite has written its log into the file by then."""
    async with taskyard.connect(url, sweeps=False) as yard:
        await act(yard)
    async with taskyard.connect(url, sweeps=False) as yard:
        return stored_bytes(await yard.health())


async def _nothing(yard: Yard) -> None:
    """An empty yard has a size too."""


async def _fill(yard: Yard, tasks: int) -> None:
    for start in range(0, tasks, AT_ONCE):
        numbers = range(start, start + AT_ONCE)  # no two payloads are alike
        await yard.enqueue_many([{"type": "noop", "payload": {**PAYLOAD, "number": number}} for number in numbers])


async def _work_off(yard: Yard, tasks: int) -> None:
    await yard.agents.register("worker", "worker", max_concurrent_tasks=AT_ONCE)
    for _ in range(0, tasks, AT_ONCE):
        held = await yard.claim("worker", count=AT_ONCE, start=True)
        await asyncio.gather(*(yard.complete(each.id, each.lease, {"ok": True}) for each in held))


async def _connections(url: str) -> int | None:
    """How many more a working process opens, with its sweeps and its listener, while it works off 200 tasks."""
    agent, left = taskyard.Agent("footprint", max_concurrent_tasks=50), 200
    done = asyncio.Event()

    @agent.handles("noop")
    async def work(_: taskyard.Context) -> None:
        nonlocal left
        left -= 1
        if not left:
            done.set()

    async with taskyard.connect(url, sweeps=False) as asking:
        before = (await asking.health()).get("connections")
        if not isinstance(before, int):
            return None
        async with taskyard.connect(url) as yard:
            working = asyncio.create_task(yard.work(agent))
            await yard.enqueue_many([{"type": "noop"}] * left)
            await done.wait()
            after = (await asking.health())["connections"]
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
    assert isinstance(after, int)
    return after - before


def table(figures: Mapping[str, Footprint]) -> str:
    lines = [
        "| | bytes of a waiting task | of an ended one | connections of a worker |",
        "| --- | --- | --- | --- |",
    ]
    for store, found in figures.items():
        connections = "none" if found.connections is None else str(found.connections)
        lines.append(f"| {store} | {found.waiting:,.0f} | {found.ended:,.0f} | {connections} |")
    return "\n".join(lines)


def main() -> None:
    parser = ArgumentParser("bench.footprint", description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument("--tasks", type=int, default=10_000)
    tasks: int = parser.parse_args().tasks
    with ExitStack() as servers:
        folder = Path(servers.enter_context(TemporaryDirectory(prefix="taskyard-footprint-")))
        urls = {
            "SQLite": f"sqlite:///{folder / 'yard.db'}",
            "PostgreSQL": f"{servers.enter_context(postgres_server(folder))}&schema=footprint",
            "Redis": f"{servers.enter_context(redis_server(folder))}?yard=footprint",
        }
        print(table({store: asyncio.run(measure(url, tasks)) for store, url in urls.items()}))


if __name__ == "__main__":
    main()
