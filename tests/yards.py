"""Words for tests that tell stories about a yard."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from taskyard.core.task import Definition, Hot, TaskId
from taskyard.features.tasks.parts import Claim
from taskyard.features.tasks.views import Held, Task
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard

OpenYard = Callable[..., Awaitable[Yard]]
STEP = 25.0  # seconds: below the gap after which the yard counts as having been away


class Died(BaseException):
    """A process that goes no further: nothing that it would do in an error is done."""


async def elapse(yard: Yard, clock: ManualClock, seconds: float) -> None:
    """Let time pass as it does in a yard that is kept swept."""
    await yard.sweep()
    while seconds > 0:
        clock.advance(seconds=min(seconds, STEP))
        seconds -= STEP
        await yard.sweep()


async def pass_unswept(yard: Yard, clock: ManualClock, seconds: float) -> None:
    """Let time pass in a yard that nobody sweeps before the end: hours of sweeps take long.

    The yard counts as having been away, so this is not for what is held meanwhile.
    """
    clock.advance(seconds=seconds - STEP)
    await elapse(yard, clock, STEP)


async def given_an_agent(yard: Yard, name: str = "worker", **facts: Any) -> str:
    facts.setdefault("max_concurrent_tasks", 1000)
    await yard.agents.register(name, **facts)
    return name


async def given_a_claimed_task(yard: Yard, type_: str = "code", *, by: str = "worker", **fields: Any) -> Held:
    """A task that an agent has claimed and not started."""
    await given_an_agent(yard, by)
    task = await yard.enqueue(type_, **fields)
    return await claim_that(yard, task.id, by=by)


async def given_a_running_task(yard: Yard, type_: str = "code", *, by: str = "worker", **fields: Any) -> Held:
    held = await given_a_claimed_task(yard, type_, by=by, **fields)
    await yard.start(held.id, held.lease)
    return held


async def claim_that(yard: Yard, task_id: str, *, by: str = "worker", start: bool = False) -> Held:
    """Claim one task and be sure that it is the one meant."""
    (held,) = await yard.claim(by, start=start)
    assert held.id == task_id, f"{held.id} was claimed, and {task_id} was meant"
    return held


async def fail_once(yard: Yard, clock: ManualClock, task_id: str, *, by: str = "worker", reason: str = "crash") -> None:
    """One failed attempt, and the wait until the next may begin."""
    held = await claim_that(yard, task_id, by=by, start=True)
    receipt = await yard.fail(held.id, held.lease, reason)
    if receipt.wake_at is not None:
        await elapse(yard, clock, (receipt.wake_at - yard.now()) / 1_000_000 + 1)


async def given_a_dead_letter(
    yard: Yard, type_: str = "code", *, by: str = "worker", of: str = "crash", **fields: Any
) -> Held:
    """A task whose only attempt has failed."""
    held = await given_a_running_task(yard, type_, by=by, max_attempts=1, **fields)
    await yard.fail(held.id, held.lease, of, "it fell over")
    return held


async def events_of(yard: Yard, task_id: str) -> list[str]:
    """What happened to a task, in the yard's words."""
    return [stored.event.event for stored in await yard.events(task_id=task_id)]


async def data_of(yard: Yard, event: str) -> list[dict[str, Any]]:
    """What the events of this name say, in their order."""
    found = [stored.event for stored in await yard.events()]
    return [json.loads(each.data or "{}") for each in found if each.event == event]


async def states_of(yard: Yard) -> dict[str, dict[str, int]]:
    """How many tasks of each type are in each state, without the states that none is in."""
    return {status: types for status, types in (await yard.tasks.stats()).items() if types}


async def row_of(yard: Yard, task_id: TaskId) -> Hot:
    """What the store has of a task."""
    return (await yard.store.load([task_id]))[task_id]


async def definition_of(yard: Yard, task_id: str) -> Definition:
    """What the store has of what was asked for."""
    return (await yard.store.definitions([TaskId(task_id)]))[TaskId(task_id)]


def claim_of(task: Task) -> Claim:
    """Who holds a task, which somebody does."""
    assert task.claim is not None
    return task.claim
