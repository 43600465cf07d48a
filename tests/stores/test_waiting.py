"""A claim that found nothing waits with its plan, and is woken by whatever could change that, and by nothing else."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from taskyard.core.changes import Lift, Spend
from taskyard.core.claiming import ClaimPlan
from taskyard.stores.contract import Store
from tests.stores.given import (
    ADA,
    BOB,
    ELSEWHERE,
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
from tests.stores.plans import a_plan, planned

PROBE = "probe:code:3"
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


async def a_probe_is_given_back(store: Store) -> Act:
    await committed(store, spends=(Spend(HERE, PROBE, 1),))
    return lambda: committed(store, spends=(Spend(HERE, PROBE, -1),))


async def a_queue_is_configured(store: Store) -> Act:
    return lambda: given_a_record(store, "queue", "default", {})


async def a_lane_is_added(store: Store) -> Act:
    return lambda: lane_of(store, a_lane(type=an_id("never seen")))


async def a_task_of_another_lane_goes_in(store: Store) -> Act:
    lane = await lane_of(store, a_lane(type="review"))
    return lambda: given_a_task(store, lane=lane)


async def a_task_goes_in_that_waits(store: Store) -> Act:
    return lambda: given_a_pending_task(store, "signal:go")


async def a_slot_of_another_agent_is_freed(store: Store) -> Act:
    await committed(store, spends=(Spend(HERE, f"slots:{BOB}", 1),))
    return lambda: committed(store, spends=(Spend(HERE, f"slots:{BOB}", -1),))


async def a_queue_of_another_workspace_is_configured(store: Store) -> Act:
    return lambda: given_a_record(store, "queue", "default", {}, workspace=ELSEWHERE)


async def waiting(store: Store, plan: ClaimPlan, *, took_all: bool = False) -> asyncio.Task[int]:
    task = asyncio.create_task(store.changed(await store.changed(0, 0), 60, plan, took_all=took_all))
    await asyncio.sleep(0)
    return task


async def sleeps_through(
    store: Store, given: Callable[[Store], Awaitable[Act]], *, took_all: bool, tries: int = 3
) -> bool:
    """Whether a claim that waits is not woken by this, though who waits for any write is.

    Not by each try: who waits for the first time is woken once more on PostgreSQL and Redis, to look.
    """
    for _ in range(tries):
        act, plan = await given(store), await a_plan(store, agent_money=1_000)
        woken = await waiting(store, plan, took_all=took_all)
        anything = asyncio.create_task(store.changed(await store.changed(0, 0), 60))
        await asyncio.sleep(0)
        await act()
        await asyncio.wait_for(anything, 30)
        is_asleep = not woken.done()
        woken.cancel()
        await asyncio.wait([woken])
        if is_asleep:
            return True
    return False


@pytest.mark.parametrize(
    "given",
    [
        a_new_task_goes_in,
        its_last_blocker_is_lifted,
        its_key_is_freed,
        it_is_brought_back_to_life,
        a_slot_of_the_agent_is_freed,
        money_of_the_agent_is_given_back,
        a_probe_is_given_back,
        a_queue_is_configured,
        a_lane_is_added,
    ],
)
async def test_a_waiting_claim_is_woken_when(store: Store, other: Store, given: Callable[[Store], Awaitable[Act]]):
    for writer in (store, other):
        act = await given(writer)
        probed = planned(await lane_of(store), probe=PROBE)
        woken = await waiting(store, await a_plan(store, probed, agent_money=1_000))

        await act()

        await asyncio.wait_for(woken, 30)


async def test_what_was_written_between_the_claim_and_the_wait_is_not_missed(store: Store, other: Store):
    plan = await a_plan(store)
    for writer in (store, other):
        mark = await store.changed(0, 0)
        await given_a_task(writer)

        assert await asyncio.wait_for(store.changed(mark, 60, plan), 30) != mark


@pytest.mark.parametrize(
    "given",
    [
        a_task_of_another_lane_goes_in,
        a_task_goes_in_that_waits,
        a_slot_of_another_agent_is_freed,
        a_queue_of_another_workspace_is_configured,
    ],
)
async def test_a_waiting_claim_sleeps_on_when(store: Store, given: Callable[[Store], Awaitable[Act]]):
    assert await sleeps_through(store, given, took_all=False)


@pytest.mark.parametrize("given", [a_slot_of_the_agent_is_freed, money_of_the_agent_is_given_back])
async def test_who_took_all_is_not_woken_by_more_room(store: Store, given: Callable[[Store], Awaitable[Act]]):
    assert await sleeps_through(store, given, took_all=True)
    assert not await sleeps_through(store, given, took_all=False)
