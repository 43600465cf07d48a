"""What a measurement of growth comes to: a table, and where each of its rows belongs in a plot."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from bench.runner import Case, Counts, Table
from bench.yards import PAYLOAD
from taskyard.yard import Yard

BATCH = 100
BULK = 1_000
AGENT = "worker"
TASK = {"type": "noop", "payload": PAYLOAD}


class Place(NamedTuple):
    """Of a row in a plot."""

    line: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    table: Table
    of: str  # what grows, for the axis
    is_time: bool = False  # it grows evenly, so the axis is not logarithmic
    places: dict[str, Place]  # by case


def case(
    place: Place, once: Callable[[], Awaitable[float]], *, against: str | None = None, count: Counts | None = None
) -> Case:
    async def counted() -> Counts:
        return count or {}

    return Case(name=name(place), once=once, count=counted, against=against)


def name(place: Place) -> str:
    return f"{place.line}, {place.size:,}"


async def put_in(yard: Yard, number: int) -> None:
    for start in range(0, number, BULK):
        await yard.enqueue_many([TASK] * min(BULK, number - start))


async def drain(yard: Yard, number: int) -> None:
    """Until so many are done, which must all become ready in time."""
    while number > 0:
        batch = await yard.claim(AGENT, count=min(BATCH, number), start=True)
        assert batch, f"{number} are left, and none can be claimed"
        await asyncio.gather(*(yard.complete(held.id, held.lease, {"ok": True}) for held in batch))
        number -= len(batch)
