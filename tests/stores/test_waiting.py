"""A claim that found nothing waits with its plan, and is woken by whatever could change that."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from taskyard.core.changes import Lift, Spend
from taskyard.core.claiming import ClaimPlan
from taskyard.stores.contract import Store
from tests.stores.given import (
    ADA,
    HERE,
    a_lane,
    an_id,
    committed,
    given_a_dead_letter,
    given_a_parked_task,
    given_a_pending_task,
    given_a_record,
    given_a_task,
    lane_of,
    reviving,
    step,
)
from tests.stores.plans import a_plan

Act = Callable[[], Awaitable[object]]


async def a_new_task_goes_in(store: Store) -> Act:
    return lambda: given_a_task(store)


async def its_last_blocker_is_lifted(store: Store) -> Act:
    await given_a_pending_task(store, "signal:go")
    return lambda: committed(store, lifts=(Lift("signal:go"),))


async def its_key_is_freed(store: Store) -> Act:
    await committed(store, spends=(Spend(HERE, "key:k", 1),))
    await given_a_parked_task(store, "key:k", key="k")
    return lambda: committed(store, spends=(Spend(HERE, "key:k", -1),))


async def it_is_brought_back_to_life(store: Store) -> Act:
    dead = await given_a_dead_letter(store)
    return lambda: step(store, reviving(store, dead))


async def a_slot_of_the_agent_is_freed(store: Store) -> Act:
    await committed(store, spends=(Spend(HERE, f"slots:{ADA}", 1),))
    return lambda: committed(store, spends=(Spend(HERE, f"slots:{ADA}", -1),))


async def money_of_the_agent_is_given_back(store: Store) -> Act:
    await committed(store, spends=(Spend(HERE, f"agent:{ADA}", 5),))
    return lambda: committed(store, spends=(Spend(HERE, f"agent:{ADA}", -5, 2),))


async def a_queue_is_configured(store: Store) -> Act:
    return lambda: given_a_record(store, "queue", "default", {})


async def a_lane_is_added(store: Store) -> Act:
    return lambda: lane_of(store, a_lane(type=an_id("never seen")))


async def waiting(store: Store, plan: ClaimPlan) -> asyncio.Task[int]:
    task = asyncio.create_task(store.changed(await store.changed(0, 0), 60, plan))
    await asyncio.sleep(0)
    return task


@pytest.mark.parametrize(
    "given",
    [
        a_new_task_goes_in,
        its_last_blocker_is_lifted,
        its_key_is_freed,
        it_is_brought_back_to_life,
        a_slot_of_the_agent_is_freed,
        money_of_the_agent_is_given_back,
        a_queue_is_configured,
        a_lane_is_added,
    ],
)
async def test_a_waiting_claim_is_woken_when(store: Store, other: Store, given: Callable[[Store], Awaitable[Act]]):
    for writer in (store, other):
        act = await given(writer)
        woken = await waiting(store, await a_plan(store, agent_money=1_000))

        await act()

        await asyncio.wait_for(woken, 30)


async def test_what_was_written_between_the_claim_and_the_wait_is_not_missed(store: Store, other: Store):
    plan = await a_plan(store)
    for writer in (store, other):
        mark = await store.changed(0, 0)
        await given_a_task(writer)

        assert await asyncio.wait_for(store.changed(mark, 60, plan), 30) != mark
