"""Durable execution: what a handler did is there when it is run again, and while it waits it holds nothing."""

import pytest

from taskyard.core.errors import IllegalTransition, InvalidInput, LeaseLost
from taskyard.core.task import Outcome, Status
from taskyard.core.units import SECOND, Micros, MicroUsd
from taskyard.definition.task_fields import TaskFields
from taskyard.features.attempts.views import StepFacts, StepView
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import bury, claim_all, status_of, task
from tests.interference import while_deciding
from tests.yards import (
    claim_that,
    elapse,
    events_of,
    fail_once,
    given_a_claimed_task,
    given_a_running_task,
    given_an_agent,
)


async def take_back(yard: Yard, clock: ManualClock, held: Held) -> Held:
    """The agent dies, the yard takes its task back, and another attempt begins."""
    await elapse(yard, clock, 125)
    assert await status_of(yard, held.id) is Status.READY
    return await claim_that(yard, held.id, start=True)


# Steps


async def test_a_step_is_stored_once_and_its_first_result_is_the_answer(yard: Yard):
    held = await given_a_running_task(yard)

    assert await yard.attempts.checkpoint(held.id, held.lease, "plan", {"question": 1}) == {"question": 1}
    assert await yard.attempts.checkpoint(held.id, held.lease, "plan", {"question": 2}) == {"question": 1}

    assert await yard.attempts.checkpoints(held.id) == {"plan": {"question": 1}}
    assert (await events_of(yard, held.id)).count("task.step") == 1


async def test_a_step_says_when_it_began_and_ended_and_what_it_alone_cost(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    clock.advance(seconds=20)
    await yard.attempts.checkpoint(held.id, held.lease, "plan", 1)
    clock.advance(seconds=7)
    facts: StepFacts = {
        "took_sec": 6.5, "cost_usd": "0.02", "tokens_input": 900, "tokens_output": 80, "model": "small",
    }  # fmt: skip
    await yard.attempts.checkpoint(held.id, held.lease, "ask", 2, step=facts, cost_usd="0.05", tokens_input=2000)
    await yard.attempts.checkpoint(held.id, held.lease, "look", 3, step={"took_sec": 1.25})

    plan, ask, look = await yard.attempts.steps(held.id)

    assert plan == StepView("plan", 1, None, Micros(clock.now() - 7 * SECOND), None, None, None, None)
    assert ask == StepView(
        "ask", 1, Micros(clock.now() - 6_500_000), clock.now(), "small", MicroUsd(20_000), tokens_input=900,
        tokens_output=80,
    )  # fmt: skip
    assert (look.began_at, look.cost, look.model) == (Micros(clock.now() - 1_250_000), None, None)
    assert (await yard.get(held.id)).cost == 50_000  # the attempt's, which is more than the step's


async def test_what_a_step_took_is_a_number_that_makes_sense(yard: Yard):
    held = await given_a_running_task(yard)

    for wrong in (-1, 1e12):
        with pytest.raises(InvalidInput, match="took_sec"):
            await yard.attempts.checkpoint(held.id, held.lease, "plan", 1, step={"took_sec": wrong})

    assert await yard.attempts.steps(held.id) == []


async def test_the_next_attempt_finds_the_steps_of_the_one_that_died(yard: Yard, clock: ManualClock):
    dead = await given_a_running_task(yard)
    await yard.attempts.checkpoint(dead.id, dead.lease, "plan", "first draft")

    held = await take_back(yard, clock, dead)

    assert held.attempt == 2
    assert await yard.attempts.checkpoints(held.id) == {"plan": "first draft"}
    assert await yard.attempts.checkpoint(held.id, held.lease, "plan", "second draft") == "first draft"


async def test_a_stale_holder_cannot_write_a_step(yard: Yard, clock: ManualClock):
    stale = await given_a_running_task(yard)
    held = await take_back(yard, clock, stale)

    with pytest.raises(LeaseLost):
        await yard.attempts.checkpoint(stale.id, stale.lease, "plan", "from the past")

    assert await yard.attempts.checkpoint(held.id, held.lease, "plan", "fresh") == "fresh"


async def test_a_step_that_was_under_way_when_the_lease_was_lost_is_not_stored(yard: Yard, clock: ManualClock):
    """It was decided under a good lease, and reaches the store under a lost one."""
    held = await given_a_running_task(yard)

    async def lose_the_lease() -> None:
        clock.advance(seconds=91)
        await yard.sweep()

    with pytest.raises(LeaseLost):
        await while_deciding(yard, lose_the_lease).attempts.checkpoint(held.id, held.lease, "plan", "too late")

    assert await yard.attempts.checkpoints(held.id) == {}


async def test_of_two_results_for_one_step_the_first_to_be_stored_stands(yard: Yard):
    held = await given_a_running_task(yard)
    slow = while_deciding(yard, lambda: yard.attempts.checkpoint(held.id, held.lease, "plan", "quick"))

    assert await slow.attempts.checkpoint(held.id, held.lease, "plan", "slow") == "quick"

    assert await yard.attempts.checkpoints(held.id) == {"plan": "quick"}


# Sleeping


async def test_a_sleeping_task_comes_back_when_its_time_is_over(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)

    waited = await yard.attempts.sleep(held.id, held.lease, "nap", 600)
    assert not waited.over
    assert await status_of(yard, held.id) is Status.PENDING
    await elapse(yard, clock, 599)
    assert await yard.claim("worker") == []
    await elapse(yard, clock, 1)

    resumed = await claim_that(yard, held.id, start=True)
    assert (await yard.attempts.sleep(resumed.id, resumed.lease, "nap", 600)).over
    assert await status_of(yard, held.id) is Status.RUNNING


async def test_a_sleep_that_a_crash_interrupts_is_not_slept_again(yard: Yard, clock: ManualClock):
    """The handler resumes, dies, and asks for the same sleep under the same name."""
    held = await given_a_running_task(yard)
    await yard.attempts.sleep(held.id, held.lease, "nap", 10)
    await elapse(yard, clock, 10)

    held = await take_back(yard, clock, await claim_that(yard, held.id, start=True))

    assert (await yard.attempts.sleep(held.id, held.lease, "nap", 10)).over
    assert not (await yard.attempts.sleep(held.id, held.lease, "another nap", 10)).over


async def test_a_task_that_waits_frees_its_slot_its_key_and_its_money(yard: Yard):
    await yard.budgets.set(daily_budget_usd="1.00")
    await given_an_agent(yard, max_concurrent_tasks=1, budget_usd="1.00")
    fields: TaskFields = {"concurrency_key": "repository", "max_cost_usd": "1.00"}
    first = await claim_that(yard, (await yard.enqueue("code", **fields)).id, start=True)
    second = await yard.enqueue("code", **fields)
    assert await yard.claim("worker") == []

    await yard.attempts.sleep(first.id, first.lease, "nap", 3600)

    await claim_that(yard, second.id)


async def test_waiting_counts_as_no_attempt_and_ends_the_lease(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.attempts.sleep(held.id, held.lease, "nap", 60)

    with pytest.raises(LeaseLost):
        await yard.complete(held.id, held.lease)
    assert (await yard.heartbeat(held.id, held.lease)).words == ("lease_lost",)

    details = await yard.get(held.id)
    assert details.failures == 0
    assert [(attempt.outcome, attempt.counted) for attempt in details.attempts] == [(Outcome.SUSPENDED, False)]


async def test_the_time_limit_stands_still_while_the_task_waits(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard, max_duration_sec=100, timeouts={"lease_sec": 600}, max_attempts=2)
    clock.advance(seconds=60)
    await yard.attempts.sleep(held.id, held.lease, "nap", 1000)
    await elapse(yard, clock, 1000)

    await claim_that(yard, held.id, start=True)
    await elapse(yard, clock, 39)
    assert await status_of(yard, held.id) is Status.RUNNING
    await elapse(yard, clock, 1)

    assert await status_of(yard, held.id) is Status.RETRYING
    assert (await yard.get(held.id)).attempts[-1].reason == "timeout"


async def test_the_next_try_has_its_whole_time_again(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard, max_duration_sec=100, timeouts={"lease_sec": 600})
    clock.advance(seconds=90)
    await yard.attempts.sleep(held.id, held.lease, "nap", 5)
    await elapse(yard, clock, 5)
    await fail_once(yard, clock, held.id)

    await claim_that(yard, held.id, start=True)
    await elapse(yard, clock, 99)

    assert await status_of(yard, held.id) is Status.RUNNING


async def test_only_a_task_that_has_begun_can_wait(yard: Yard):
    held = await given_a_claimed_task(yard)

    with pytest.raises(IllegalTransition):
        await yard.attempts.sleep(held.id, held.lease, "nap", 60)
    with pytest.raises(IllegalTransition):
        await yard.attempts.wait_for(held.id, held.lease, "ask", "answer")


async def test_a_name_that_stands_for_something_else_already_is_refused(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.attempts.checkpoint(held.id, held.lease, "plan", [1, 2, 3])

    with pytest.raises(InvalidInput, match="plan"):
        await yard.attempts.sleep(held.id, held.lease, "plan", 60)
    with pytest.raises(InvalidInput, match="plan"):
        await yard.attempts.wait_for(held.id, held.lease, "plan", "answer")
    with pytest.raises(InvalidInput, match="plan"):
        await yard.tasks.spawn(held.id, held.lease, [task("child")], name="plan")
    with pytest.raises(InvalidInput, match="plan"):
        await yard.tasks.children(held.id, "plan")


# Children


async def test_a_parent_resumes_with_the_outputs_of_its_children(yard: Yard):
    held = await given_a_running_task(yard)
    children = await yard.tasks.spawn(held.id, held.lease, [task("a"), task("b")], name="ask", wait=True)
    assert await status_of(yard, held.id) is Status.PENDING
    assert await yard.tasks.children(held.id, "ask") is None

    for number, child in enumerate(await claim_all(yard, 2)):
        assert await status_of(yard, held.id) is Status.PENDING
        await yard.complete(child.id, child.lease, {"number": number})

    resumed = await claim_that(yard, held.id, start=True)
    answers = await yard.tasks.children(resumed.id, "ask")
    assert answers is not None
    assert [(child.task_id, child.status, child.output) for child in answers] == [
        (children[0], Status.COMPLETED, {"number": 0}),
        (children[1], Status.COMPLETED, {"number": 1}),
    ]


async def test_a_child_that_dies_or_is_cancelled_resumes_its_parent_with_that_outcome(yard: Yard):
    held = await given_a_running_task(yard)
    dies, is_cancelled = await yard.tasks.spawn(held.id, held.lease, [task("a"), task("b")], name="ask", wait=True)
    await bury(yard, await claim_that(yard, dies, start=True))
    assert await status_of(yard, held.id) is Status.PENDING
    await yard.cancel(is_cancelled)

    resumed = await claim_that(yard, held.id, start=True)

    answers = await yard.tasks.children(resumed.id, "ask")
    assert answers is not None
    assert [child.status for child in answers] == [Status.DEAD_LETTERED, Status.CANCELLED]
    assert [child.output for child in answers] == [None, None]


async def test_a_resumed_handler_that_spawns_again_gets_the_same_children(yard: Yard):
    held = await given_a_running_task(yard)
    children = await yard.tasks.spawn(held.id, held.lease, [task("a")], name="ask", wait=True)
    (child,) = await claim_all(yard, 1)
    await yard.complete(child.id, child.lease)
    resumed = await claim_that(yard, held.id, start=True)

    again = await yard.tasks.spawn(resumed.id, resumed.lease, [task("a")], name="ask", wait=True)

    assert again == children
    assert await status_of(yard, held.id) is Status.RUNNING
    assert len(await yard.find()) == 2


async def test_a_handler_that_died_after_spawning_waits_for_the_children_it_has(yard: Yard, clock: ManualClock):
    """Fire and forget at first; the next attempt finds them under way and waits."""
    dead = await given_a_running_task(yard, priority=0)
    children = await yard.tasks.spawn(dead.id, dead.lease, [task("a")], name="ask")
    held = await take_back(yard, clock, dead)

    assert await yard.tasks.spawn(held.id, held.lease, [task("a")], name="ask", wait=True) == children
    assert await status_of(yard, held.id) is Status.PENDING
    (child,) = await claim_all(yard, 1)
    await yard.complete(child.id, child.lease)

    await claim_that(yard, held.id)
    assert len(await yard.find()) == 2


async def test_a_child_that_ends_while_its_parent_begins_to_wait_does_not_strand_it(yard: Yard):
    """The wait was decided on a child that still ran, and is stored after it is done."""
    held = await given_a_running_task(yard, priority=0)
    await yard.tasks.spawn(held.id, held.lease, [task("a")], name="ask")
    (child,) = await claim_all(yard, 1)
    slow = while_deciding(yard, lambda: yard.complete(child.id, child.lease))

    await slow.tasks.spawn(held.id, held.lease, [task("a")], name="ask", wait=True)

    assert await status_of(yard, held.id) is Status.RUNNING
    assert await yard.tasks.children(held.id, "ask") is not None


async def test_a_parent_that_fires_and_forgets_goes_on_at_once(yard: Yard):
    held = await given_a_running_task(yard)

    await yard.tasks.spawn(held.id, held.lease, [task("a")], name="later")
    receipt = await yard.complete(held.id, held.lease)

    assert receipt.status is Status.COMPLETED
