"""A type that keeps failing is left alone, then tried with one task at a time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from taskyard.core.breaker import BreakerState
from taskyard.core.errors import LeaseLost
from taskyard.core.task import Status
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, claim_that, data_of, elapse, given_a_running_task, given_an_agent


async def fail_some(yard: Yard, count: int, type_: str = "code") -> None:
    """So many tasks of a type fail, one attempt each, and are put aside."""
    for _ in range(count):
        held = await given_a_running_task(yard, type_)
        await yard.fail(held.id, held.lease, "crash")
        await yard.cancel(held.id)


async def given_an_open_breaker(yard: Yard) -> None:
    """The breaker of `code` has just opened, and three tasks wait behind it."""
    await fail_some(yard, 5)
    for _ in range(3):
        await yard.enqueue("code")
    assert await yard.claim("worker", count=3) == []


async def given_a_probe(yard: Yard, clock: ManualClock) -> Held:
    """The one task that a half-open breaker lets through, at work."""
    await given_an_open_breaker(yard)
    await elapse(yard, clock, 60)
    (probe,) = await yard.claim("worker", count=3, start=True)
    return probe


async def state(yard: Yard, type_: str = "code") -> BreakerState:
    """How the breaker stands. One that has never moved is closed."""
    return {each.type: each.state for each in await yard.breakers.list()}.get(type_, BreakerState.CLOSED)


async def test_the_fifth_failure_in_a_row_opens_it_and_not_the_fourth(yard: Yard):
    await fail_some(yard, 4)
    assert await state(yard) is BreakerState.CLOSED

    await fail_some(yard, 1)
    assert await state(yard) is BreakerState.OPEN
    await yard.enqueue("code")
    assert await yard.claim("worker") == []
    (opened,) = await data_of(yard, "breaker.opened")
    assert opened["type"] == "code"


async def test_what_waits_behind_it_says_so(yard: Yard):
    await fail_some(yard, 5)
    task = await yard.enqueue("code")

    why = await yard.why(task.id)
    assert why.causes[0].kind == "breaker"


async def test_a_success_in_between_begins_the_count_again(yard: Yard):
    await fail_some(yard, 4)
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease)
    await fail_some(yard, 4)
    assert await state(yard) is BreakerState.CLOSED

    await fail_some(yard, 1)
    assert await state(yard) is BreakerState.OPEN


async def test_other_types_and_other_workspaces_go_on(yard: Yard, open_yard: OpenYard):
    await fail_some(yard, 5)
    other = await open_yard(workspace="other")

    await given_a_running_task(yard, "research")
    await given_a_running_task(other, "code")


async def rate_limited(yard: Yard, held: Held) -> None:
    await yard.fail(held.id, held.lease, "rate_limit", retry_after_sec=1)


async def out_of_money(yard: Yard, held: Held) -> None:
    await yard.fail(held.id, held.lease, "budget_exceeded")


async def cancelled(yard: Yard, held: Held) -> None:
    await yard.cancel(held.id)


async def released(yard: Yard, held: Held) -> None:
    await yard.release(held.id, held.lease)


Ending = Callable[[Yard, Held], Awaitable[None]]


@pytest.mark.parametrize("ended", [rate_limited, out_of_money, cancelled, released])
async def test_what_says_nothing_about_the_type_never_counts(yard: Yard, clock: ManualClock, ended: Ending):
    await fail_some(yard, 4)
    for _ in range(3):
        held = await given_a_running_task(yard)
        await ended(yard, held)
        await elapse(yard, clock, 1)
        if not (await yard.get(held.id)).status.is_final:
            await yard.cancel(held.id)
    assert await state(yard) is BreakerState.CLOSED

    await fail_some(yard, 1)  # nor does it begin the count again
    assert await state(yard) is BreakerState.OPEN


async def test_lost_leases_count(yard: Yard, clock: ManualClock):
    for _ in range(5):
        held = await given_a_running_task(yard)
        await elapse(yard, clock, 91)
        await yard.cancel(held.id)

    assert await state(yard) is BreakerState.OPEN


async def test_what_is_lost_with_one_worker_counts_once(yard: Yard, clock: ManualClock):
    await given_a_worker_with_five(yard)
    await elapse(yard, clock, 91)
    assert await state(yard) is BreakerState.CLOSED

    await fail_some(yard, 3)
    assert await state(yard) is BreakerState.CLOSED
    await fail_some(yard, 1)  # the fifth
    assert await state(yard) is BreakerState.OPEN


async def test_what_a_runtime_gives_up_counts_once(yard: Yard):
    await given_a_worker_with_five(yard)
    assert (await yard.runtimes.orphans("machine")).orphaned == 5
    assert await state(yard) is BreakerState.CLOSED

    await fail_some(yard, 4)
    assert await state(yard) is BreakerState.OPEN


async def given_a_worker_with_five(yard: Yard) -> None:
    await yard.agents.register("doomed", max_concurrent_tasks=5, runtime_id="machine")
    await yard.enqueue_many([{"type": "code", "agent": "doomed"}] * 5)
    assert len(await yard.claim("doomed", count=5, start=True)) == 5


async def test_failures_of_many_processes_at_once_open_it_once(yard: Yard, open_yard: OpenYard):
    yards = [yard, *[await open_yard() for _ in range(3)]]
    held = [await given_a_running_task(yard) for _ in range(8)]
    await asyncio.gather(
        *(yards[index % 4].fail(each.id, each.lease, "crash") for index, each in enumerate(held)),
    )

    assert await state(yard) is BreakerState.OPEN
    assert len(await data_of(yard, "breaker.opened")) == 1


# Half open


async def test_a_minute_later_one_probe_may_be_claimed_and_only_one(yard: Yard, clock: ManualClock):
    await given_an_open_breaker(yard)
    await elapse(yard, clock, 59)
    assert await yard.claim("worker", count=3) == []

    await elapse(yard, clock, 1)
    assert len(await yard.claim("worker", count=3)) == 1
    assert await yard.claim("worker", count=3) == []


async def test_only_one_probe_across_all_processes(yard: Yard, open_yard: OpenYard, clock: ManualClock):
    others = [await open_yard() for _ in range(4)]
    await given_an_open_breaker(yard)
    await elapse(yard, clock, 60)
    claims = await asyncio.gather(*(other.claim("worker", count=3) for other in others))

    assert sum(len(held) for held in claims) == 1


async def test_a_probe_that_succeeds_closes_it(yard: Yard, clock: ManualClock):
    probe = await given_a_probe(yard, clock)
    await yard.complete(probe.id, probe.lease)

    assert await state(yard) is BreakerState.CLOSED
    assert len(await yard.claim("worker", count=3)) == 2
    assert len(await data_of(yard, "breaker.closed")) == 1


async def test_a_probe_that_fails_opens_it_again_for_as_long(yard: Yard, clock: ManualClock):
    probe = await given_a_probe(yard, clock)
    await yard.fail(probe.id, probe.lease, "crash")
    assert await state(yard) is BreakerState.OPEN

    await elapse(yard, clock, 59)
    assert await yard.claim("worker", count=3) == []
    await elapse(yard, clock, 1)
    assert len(await yard.claim("worker", count=3)) == 1


async def lost(yard: Yard, clock: ManualClock, probe: Held) -> None:
    await elapse(yard, clock, 91)


async def never_started(yard: Yard, clock: ManualClock, probe: Held) -> None:
    await yard.release(probe.id, probe.lease)
    await yard.claim("worker")
    await elapse(yard, clock, 61)


async def given_back(yard: Yard, clock: ManualClock, probe: Held) -> None:
    await yard.release(probe.id, probe.lease)


async def called_off(yard: Yard, clock: ManualClock, probe: Held) -> None:
    await yard.cancel(probe.id)


async def limited(yard: Yard, clock: ManualClock, probe: Held) -> None:
    await yard.fail(probe.id, probe.lease, "rate_limit", retry_after_sec=2)
    await elapse(yard, clock, 2)


@pytest.mark.parametrize("gone", [lost, never_started, given_back, called_off, limited])
async def test_a_probe_that_comes_to_nothing_lets_another_be_made(
    yard: Yard, clock: ManualClock, gone: Callable[[Yard, ManualClock, Held], Awaitable[None]]
):
    probe = await given_a_probe(yard, clock)
    await gone(yard, clock, probe)

    assert await state(yard) is BreakerState.HALF_OPEN
    assert len(await yard.claim("worker", count=3)) == 1
    assert await yard.claim("worker", count=3) == []


# Results that come late


async def test_a_success_of_a_task_claimed_before_it_opened_does_not_close_it(yard: Yard, clock: ManualClock):
    early = await given_a_running_task(yard)
    await fail_some(yard, 5)
    await elapse(yard, clock, 60)
    assert (await yard.complete(early.id, early.lease)).status is Status.COMPLETED

    assert await state(yard) is BreakerState.HALF_OPEN


async def test_a_failure_of_a_task_claimed_before_it_opened_does_not_keep_it_open(yard: Yard, clock: ManualClock):
    early = await given_a_running_task(yard)
    await fail_some(yard, 5)
    await elapse(yard, clock, 59)
    await yard.fail(early.id, early.lease, "crash")
    await elapse(yard, clock, 1)

    assert await state(yard) is BreakerState.HALF_OPEN


async def test_a_failure_of_a_task_claimed_before_it_opened_does_not_open_it_again(yard: Yard, clock: ManualClock):
    early = await given_a_running_task(yard)
    probe = await given_a_probe(yard, clock)
    await yard.complete(probe.id, probe.lease)
    await fail_some_behind(yard, 4)
    await yard.fail(early.id, early.lease, "crash")

    assert await state(yard) is BreakerState.CLOSED


async def fail_some_behind(yard: Yard, count: int) -> None:
    """Tasks that were there before fail, whichever they are."""
    for _ in range(count):
        await yard.enqueue("code")
        (held,) = await yard.claim("worker", start=True)
        await yard.fail(held.id, held.lease, "crash")


async def test_the_result_of_a_probe_moves_nothing_once_a_person_has_moved_it(yard: Yard, clock: ManualClock):
    probe = await given_a_probe(yard, clock)
    await yard.breakers.close("code")
    await yard.breakers.open("code")
    await yard.complete(probe.id, probe.lease)
    assert await state(yard) is BreakerState.OPEN

    await elapse(yard, clock, 60)
    (probe,) = await yard.claim("worker", start=True)
    await yard.breakers.close("code")
    await yard.fail(probe.id, probe.lease, "crash")
    assert await state(yard) is BreakerState.CLOSED


async def test_the_result_of_a_probe_that_was_lost_moves_nothing(yard: Yard, clock: ManualClock):
    first = await given_a_probe(yard, clock)
    await elapse(yard, clock, 91)
    (second,) = await yard.claim("worker", start=True)
    with pytest.raises(LeaseLost):
        await yard.complete(first.id, first.lease)
    assert await state(yard) is BreakerState.HALF_OPEN

    await yard.complete(second.id, second.lease)
    assert await state(yard) is BreakerState.CLOSED


# By hand, and in Loki


async def test_a_person_may_open_and_close_it(yard: Yard):
    await given_an_agent(yard)
    task = await yard.enqueue("code")
    await yard.breakers.open("code", why="the provider is down")
    assert await yard.claim("worker") == []

    await yard.breakers.close("code")
    await claim_that(yard, task.id)


@pytest.mark.parametrize(("type_", "deaths"), [("eng-backend", 5), ("ops-security", 3), ("biz-marketing", 10)])
async def test_loki_counts_dead_letters_and_has_a_threshold_of_its_own_for_some_types(
    open_yard: OpenYard, clock: ManualClock, type_: str, deaths: int
):
    yard = await open_yard(preset="loki")
    await given_an_agent(yard, capabilities=[type_])
    for number in range(deaths):
        assert await state(yard, type_) is BreakerState.CLOSED
        task = await yard.enqueue(type_, payload={"number": number}, max_attempts=2)
        held = await claim_that(yard, task.id)
        await yard.fail(held.id, held.lease, "crash")
        await elapse(yard, clock, 61)
        held = await claim_that(yard, task.id)
        await yard.fail(held.id, held.lease, "crash")

    assert await state(yard, type_) is BreakerState.OPEN
