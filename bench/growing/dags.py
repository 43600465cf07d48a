"""Graphs: what a task costs that belongs to one, beside a plain one, however wide or deep the graph is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from time import perf_counter
from typing import Any

from bench.growing.growth import AGENT, BATCH, TASK, Growth, Place, case, drain, name, put_in
from bench.runner import Table, measure
from bench.yards import Urls, a_yard
from taskyard.yard import Yard

WIDTH = 100  # tasks of a layer
SUBMITTED = 1 / 0.3  # times what a plain task takes in bulk
DRAINED = 1 / 0.5  # times what a plain task takes

Put = Callable[[Yard, int], Awaitable[None]]


async def dags(store: str, urls: Urls, *, sizes: list[int], rounds: int) -> list[Growth]:
    shapes: dict[str, Put] = {"plain": put_in, "fan-in": _fan_in, "fan-out": _fan_out, "layers": _layers}
    submitted = await _measured(f"Submitting, {store}", urls, shapes, sizes, rounds, is_drained=False)
    return [submitted, await _measured(f"Draining, {store}", urls, shapes, sizes, rounds, is_drained=True)]


async def _measured(
    title: str, urls: Urls, shapes: dict[str, Put], sizes: list[int], rounds: int, *, is_drained: bool
) -> Growth:
    serial = count(1)
    word = "drained" if is_drained else "submitted"

    def timed(put: Put, size: int) -> Callable[[], Awaitable[float]]:
        async def once() -> float:
            async with a_yard(urls(f"{word}_{next(serial)}")) as yard:
                await yard.agents.register(AGENT, max_concurrent_tasks=BATCH)
                began = perf_counter()
                await put(yard, size)
                if is_drained:
                    began = perf_counter()
                    await drain(yard, size)
                return 1e6 * (perf_counter() - began) / size

        return once

    places = {Place(shape, size): put for shape, put in shapes.items() for size in sizes}
    cases = [case(place, timed(put, place.size), against=_against(place)) for place, put in places.items()]
    rows = await measure(cases, unit="µs per task", rounds=rounds, at_most=DRAINED if is_drained else SUBMITTED)
    table = Table(title=title, settings={"rounds": rounds, "tasks of a layer": WIDTH}, rows=rows)
    return Growth(table=table, of="tasks", places={name(place): place for place in places})


def _against(place: Place) -> str | None:
    return None if place.line == "plain" else name(Place("plain", place.size))


async def _fan_in(yard: Yard, size: int) -> None:
    """One task that waits for all others."""
    first = [_task(str(number)) for number in range(size - 1)]
    await yard.submit({"tasks": [*first, _task("last", *(task["name"] for task in first))]})


async def _fan_out(yard: Yard, size: int) -> None:
    """One task that all others wait for."""
    await yard.submit({"tasks": [_task("first"), *(_task(str(number), "first") for number in range(size - 1))]})


async def _layers(yard: Yard, size: int) -> None:
    """As deep as there are layers: each task waits for two of the layer before."""
    await yard.submit({"tasks": [_task(str(number), *_two_before(number)) for number in range(size)]})


def _two_before(number: int) -> list[str]:
    layer, place = divmod(number, WIDTH)
    return [] if layer == 0 else [str((layer - 1) * WIDTH + each % WIDTH) for each in (place, place + 1)]


def _task(task_name: str, *depends_on: str) -> dict[str, Any]:
    return {**TASK, "name": task_name, "depends_on": list(depends_on)}
