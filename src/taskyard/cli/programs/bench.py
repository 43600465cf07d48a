"""`taskyard bench`: what this yard can do from this machine, in a workspace of its own that is emptied again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from taskyard.app import Yard, connect
from taskyard.cli.invocation import AsJson, chosen, show
from taskyard.cli.terminal import Terminal, Text, table
from taskyard.core.changes import ChangeSet, expected
from taskyard.core.errors import InvalidInput
from taskyard.worker.context import Context
from taskyard.worker.handlers import Agent
from taskyard.worker.process.runner import Worker

if TYPE_CHECKING:
    from rich.progress import Progress

WORKSPACE = "taskyard-bench"
AGENT = "bench"
TYPE = "noop"
PAYLOAD = {"text": "x" * 180}  # about 200 bytes as JSON
BULK = 500  # tasks put in with one call
SLOTS = 100  # tasks that the worker may run at a time
MOST = 10_000  # tasks of one measurement, however quick the yard is
PICKUPS = 20
PAUSE = 0.05  # seconds of rest before each task whose pickup is timed
PATIENCE = 1.0  # seconds until it is looked again whether all is stored
PAGE = 200  # tasks that are removed at once


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchFigures:
    """Tasks a second, but for the last two."""

    enqueue_one: float
    enqueue_bulk: float
    round_trip: float  # claim, start and complete, one task at a time
    drain: float
    pickup_ms: float  # from enqueue to an idle worker of the same process
    waiting_share: float  # of the time that one enqueue takes, what is spent waiting for the store


def bench(
    context: typer.Context,
    url: Annotated[str | None, typer.Argument(help="The yard; default: the one that --url or its like names.")] = None,
    seconds: Annotated[float, typer.Option(help="How long each of the four rates is measured at most.")] = 2.0,
    as_json: AsJson = False,
) -> None:
    """Measure this yard from this machine, and say in words what that is enough for. Leaves no task behind."""
    if not 0 < seconds <= 60:
        raise InvalidInput("seconds", "must be above 0 and at most 60")
    place = url or chosen(context).url
    if urlsplit(place).scheme in ("http", "https"):
        raise InvalidInput("url", "names a server, whose store could not be emptied again: give the store's own URL")
    with _progress() as progress:
        figures = asyncio.run(_measure(place, seconds, progress))
    rates = [
        ("enqueue, one at a time", figures.enqueue_one),
        (f"enqueue, {BULK} at once", figures.enqueue_bulk),
        ("claim, start and complete, one at a time", figures.round_trip),
        (f"drain, a worker with {SLOTS} slots", figures.drain),
    ]
    rows = [*((name, f"{rate:,.0f}", "a second") for name, rate in rates)]
    rows.append(("pickup by an idle worker", f"{figures.pickup_ms:.1f}", "ms"))
    show(
        as_json,
        asdict(figures),
        table("measured", "rate", "", rows=rows, right=["rate"]),
        Text(),
        Text(verdict(figures)),
    )


def verdict(figures: BenchFigures) -> str:
    """What the figures mean, for somebody who has to decide something."""
    busy = figures.drain * 60
    enough = (
        f"One worker process gets through {figures.drain:,.0f} tasks a second: enough to keep {_round(busy)} agents"
    )
    quick = "at once" if figures.pickup_ms < 10 else "soon" if figures.pickup_ms < 100 else "late"
    commit = 1000 / figures.enqueue_one
    if figures.waiting_share > 0.5:
        limit = f"The store sets the pace: each call waits for it most of its {commit:.1f} ms."
        advice = "Put work in with enqueue_many, or with several calls in flight: they share one commit."
    else:
        limit = f"This processor sets the pace, with {commit:.1f} ms a call; the store is waiting for it."
        advice = "More worker processes will get through more."
    return f"{enough} busy that take a minute for a task. An idle worker begins {quick}. {limit} {advice}"


def _round(number: float) -> str:
    """To two digits: more would pretend."""
    digits = len(str(int(number))) - 2
    return f"{round(number, -digits):,.0f}"


def _progress() -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - slow to import

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=Terminal(stderr=True),
        transient=True,
    )


async def _measure(url: str, seconds: float, progress: Progress) -> BenchFigures:
    async with connect(url, workspace=WORKSPACE) as yard:
        await clear(yard)  # of one that was killed
        try:
            return await _figures(yard, seconds, progress)
        finally:
            await clear(yard)


async def _figures(yard: Yard, seconds: float, progress: Progress) -> BenchFigures:
    await yard.agents.register(AGENT, max_concurrent_tasks=SLOTS, types=[TYPE])
    used = process_time()
    one, took = await _repeat(lambda: _enqueue(yard), seconds, progress, "enqueue, one at a time")
    used = process_time() - used
    trips, tripped = await _repeat(lambda: _round_trip(yard), seconds, progress, "claim and complete", most=one)
    bulk, filled = await _repeat(lambda: _enqueue_many(yard), seconds, progress, "enqueue in bulk", each=BULK)
    async with _working(yard) as worker:
        drained, emptied = await _drain(yard, worker, one - trips + bulk, progress)
        pickup = await _pickup(yard, worker, progress)
    return BenchFigures(
        enqueue_one=one / took,
        enqueue_bulk=bulk / filled,
        round_trip=trips / tripped,
        drain=drained / emptied,
        pickup_ms=1000 * pickup,
        waiting_share=max(0.0, 1 - used / took),
    )


async def _repeat(
    act: Callable[[], Awaitable[object]],
    seconds: float,
    progress: Progress,
    what: str,
    *,
    each: int = 1,
    most: int = MOST,
) -> tuple[int, float]:
    """Do it again and again; how many tasks that were, in how many seconds."""
    shown = progress.add_task(what, total=seconds)
    number, began = 0, perf_counter()
    while (passed := perf_counter() - began) < seconds and number < most:
        await act()
        number += each
        progress.update(shown, completed=passed)
    progress.update(shown, completed=seconds)
    return number, perf_counter() - began


async def _enqueue(yard: Yard) -> None:
    await yard.enqueue(TYPE, payload=PAYLOAD)


async def _enqueue_many(yard: Yard) -> None:
    await yard.enqueue_many([{"type": TYPE, "payload": PAYLOAD}] * BULK)


async def _round_trip(yard: Yard) -> None:
    (held,) = await yard.claim(AGENT, start=True)
    await yard.complete(held.id, held.lease)


class _Noop:
    """An agent that counts what it does, and can be waited for."""

    def __init__(self) -> None:
        self.done = 0
        self._more = asyncio.Event()
        self.agent = Agent(AGENT, id=AGENT, max_concurrent_tasks=SLOTS)
        self.agent.handles(TYPE)(self._handle)

    async def _handle(self, _: Context) -> None:
        self.done += 1
        self._more.set()

    async def until(self, done: int) -> None:
        while self.done < done:
            self._more.clear()
            await self._more.wait()


@asynccontextmanager
async def _working(yard: Yard) -> AsyncGenerator[_Noop]:
    noop = _Noop()
    worker = Worker(yard, noop.agent)
    running = asyncio.create_task(worker.run())
    try:
        yield noop
    finally:
        worker.stop()
        await running


async def _drain(yard: Yard, worker: _Noop, number: int, progress: Progress) -> tuple[int, float]:
    """Until all are stored as done, which is later than that they have run."""
    shown = progress.add_task("drain", total=number)
    began = perf_counter()
    for done in (*range(BULK, number, BULK), number):
        await worker.until(done)
        progress.update(shown, completed=done)
    mark = await yard.mark()
    while await yard.find(status=["ready", "claimed", "running"], limit=1):
        mark = await yard.changed(mark, PATIENCE)
    return number, perf_counter() - began


async def _pickup(yard: Yard, worker: _Noop, progress: Progress) -> float:
    shown = progress.add_task("pickup", total=PICKUPS)
    waits: list[float] = []
    for _ in range(PICKUPS):
        await asyncio.sleep(PAUSE)
        began, before = perf_counter(), worker.done
        await _enqueue(yard)
        await worker.until(before + 1)
        waits.append(perf_counter() - began)
        progress.advance(shown)
    return median(waits)


async def clear(yard: Yard) -> None:
    """Remove every task of the workspace, with its history, and the agent."""
    while tasks := await yard.find(limit=PAGE):
        for task in tasks:
            if not task.status.is_final:
                await yard.cancel(task.id, "left by a bench")
        hots = (await yard.store.load([task.id for task in tasks])).values()
        expects = tuple(expected(hot) for hot in hots)
        await yard.store.commit([ChangeSet(expects=expects, removals=tuple(hot.id for hot in hots), at=yard.now())])
    for view in await yard.agents.list():
        await yard.agents.remove(view.id)
