"""A process that stood still between deciding and writing decides anew: stored times agree with stored order."""

from collections.abc import Awaitable, Callable

import pytest

from taskyard.core.units import SECOND
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.interference import always_while_deciding, while_deciding
from tests.yards import given_an_agent

Act = Callable[[Yard, Held], Awaitable[object]]
ACTS: dict[str, Act] = {
    "enqueue": lambda yard, _: yard.enqueue("late"),
    "enqueue many": lambda yard, _: yard.enqueue_many([{"type": "late"}, {"type": "late"}]),
    "enqueue with a key": lambda yard, _: yard.enqueue("late", idempotency_key="k"),
    "complete": lambda yard, held: yard.complete(held.id, held.lease, {"done": True}),
    "fail": lambda yard, held: yard.fail(held.id, held.lease, "crash"),
    "cancel": lambda yard, held: yard.cancel(held.id),
    "submit": lambda yard, _: yard.submit({"title": "t", "tasks": [{"type": "late"}]}),
}


async def given_an_attempt(yard: Yard) -> Held:
    await given_an_agent(yard)
    await yard.enqueue("code")
    (held,) = await yard.claim("worker", start=True)
    return held


async def times(yard: Yard) -> list[int]:
    return [stored.event.at for stored in await yard.store.events(after=0, limit=100)]


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
async def test_what_was_decided_before_a_standstill_has_the_time_of_its_write(yard: Yard, clock: ManualClock, act: Act):
    held = await given_an_attempt(yard)

    async def stand_still() -> None:
        clock.advance(seconds=11)
        await yard.enqueue("meanwhile")

    await act(while_deciding(yard, stand_still), held)

    assert await times(yard) == sorted(await times(yard))
    assert (await times(yard))[-1] >= yard.now() - SECOND


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
async def test_a_store_that_is_always_slow_takes_a_change_in_the_end(yard: Yard, clock: ManualClock, act: Act):
    held = await given_an_attempt(yard)
    known = len(await times(yard))

    async def stand_still() -> None:
        clock.advance(seconds=6)
        await yard.heartbeat(held.id, held.lease)

    await act(always_while_deciding(yard, stand_still), held)

    assert len(await times(yard)) > known
