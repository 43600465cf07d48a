"""Finished history: what lies behind must not slow down what is to come."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from itertools import islice
from time import perf_counter

from bench.growing.growth import AGENT, BATCH, Growth, Place, case, drain, name, put_in
from bench.runner import Table, measure
from bench.yards import AT_ONCE, Urls, a_yard
from taskyard.core.changes import ChangeSet, Committed, NewTask
from taskyard.core.task import TaskId
from taskyard.core.transitions import created_event
from taskyard.features.tasks.views import stored_task
from taskyard.yard import Yard

AT_MOST = 1 / 0.8  # times what a task takes without a history
SLICE = 1_000  # tasks that are drained in a round


async def history(store: str, urls: Urls, *, sizes: list[int], rounds: int) -> Growth:
    async with AsyncExitStack() as stack:
        places = [Place("finished", size) for size in sizes]
        cases = [
            case(place, await _case(stack, urls, place.size), against=None if place is places[0] else name(places[0]))
            for place in places
        ]
        rows = await measure(cases, unit="µs per task", rounds=rounds, at_most=AT_MOST)
    table = Table(title=f"Draining beside finished history, {store}", settings={"rounds": rounds}, rows=rows)
    return Growth(table=table, of="finished tasks", places={name(place): place for place in places})


async def _case(stack: AsyncExitStack, urls: Urls, size: int) -> Callable[[], Awaitable[float]]:
    yard = await stack.enter_async_context(a_yard(urls(f"history_{size}")))
    await yard.agents.register(AGENT, max_concurrent_tasks=BATCH)
    await _finish(yard, size)

    async def once() -> float:
        await put_in(yard, SLICE)
        began = perf_counter()
        await drain(yard, SLICE)
        return 1e6 * (perf_counter() - began) / SLICE

    return once


async def _finish(yard: Yard, number: int) -> None:
    """One is done as agents do it, and the others are copies that go straight to the store."""
    await put_in(yard, 1)
    await drain(yard, 1)
    copies = _copies(await _the_only(yard), number - 1)
    while tasks := tuple(islice(copies, AT_ONCE)):
        (landed,) = await yard.store.commit([ChangeSet(tasks=tasks, at=yard.now())])
        assert isinstance(landed, Committed)


async def _the_only(yard: Yard) -> NewTask:
    (task,) = await yard.find(limit=1)
    hot, definition = stored_task(task)
    return NewTask(hot, definition, created_event(hot, definition.created_by, definition.type))


def _copies(pattern: NewTask, number: int) -> Iterator[NewTask]:
    for serial in range(number):
        task_id = TaskId(f"task_{serial:026}")
        hot = pattern.hot._replace(id=task_id, seq=0)
        definition = pattern.definition._replace(id=task_id)
        yield NewTask(hot, definition, created_event(hot, definition.created_by, definition.type))
