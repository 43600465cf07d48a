"""A provider that wants fewer requests is left alone, and no task pays for it with an attempt."""

from typing import Any

import pytest

from taskyard.core.errors import NotFound
from taskyard.core.task import Status
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import (
    OpenYard,
    claim_that,
    data_of,
    elapse,
    given_a_running_task,
    given_an_agent,
)


async def limit_rate(yard: Yard, wait_sec: float, type_: str = "code", **fields: Any) -> str:
    """A task of this type meets a rate limit that asks for this wait."""
    held = await given_a_running_task(yard, type_, **fields)
    await yard.fail(held.id, held.lease, "rate_limit", retry_after_sec=wait_sec)
    return held.id


async def test_a_rate_limited_task_is_parked_without_using_an_attempt(yard: Yard):
    held = await given_a_running_task(yard)
    receipt = await yard.fail(held.id, held.lease, "rate_limit", retry_after_sec=120)

    assert (receipt.status, receipt.failures) == (Status.RETRYING, 0)
    assert receipt.wake_at == yard.now() + 120_000_000
    task = await yard.get(held.id)
    assert (task.attempts[0].reason, task.attempts[0].counted) == ("rate_limit", False)


async def test_where_the_provider_does_not_say_the_wait_doubles_from_a_minute_up_to_an_hour(
    yard: Yard, clock: ManualClock
):
    await given_an_agent(yard)
    task = await yard.enqueue("code")
    waits: list[float] = []
    for _ in range(8):
        held = await claim_that(yard, task.id, start=True)
        receipt = await yard.fail(held.id, held.lease, "rate_limit")
        assert receipt.wake_at is not None
        waits.append((receipt.wake_at - yard.now()) / 1_000_000)
        clock.advance(seconds=waits[-1])
        await yard.sweep()

    assert waits == [seconds * 1.05 for seconds in (60, 120, 240, 480, 960, 1920, 3600, 3600)]  # half of the jitter


@pytest.mark.parametrize(("dice", "wait"), [(0.0, 60.0), (0.999_999, 66.0)])
async def test_the_jitter_of_a_rate_limit_only_adds(open_yard: OpenYard, dice: float, wait: float):
    yard = await open_yard(dice=lambda: dice)
    held = await given_a_running_task(yard)
    receipt = await yard.fail(held.id, held.lease, "rate_limit")

    assert receipt.wake_at is not None
    assert (receipt.wake_at - yard.now()) / 1_000_000 == pytest.approx(wait, abs=0.001)


@pytest.mark.parametrize(
    ("error", "wait_sec"),
    [
        ("HTTP 429 Too Many Requests\nRetry-After: 30", 30),
        ("Error: rate limit exceeded, try again in 2 minutes", 120),
        ("You've hit your usage limit. Your limit resets 4am (UTC)", 4 * 3600),  # the clock stands at midnight
    ],
)
async def test_an_error_that_says_so_is_recognised_and_its_time_is_kept(yard: Yard, error: str, wait_sec: int):
    held = await given_a_running_task(yard)
    receipt = await yard.fail(held.id, held.lease, "agent_error", error)

    assert receipt.wake_at == yard.now() + wait_sec * 1_000_000
    task = await yard.get(held.id)
    assert (task.attempts[0].reason, task.failures) == ("rate_limit", 0)


@pytest.mark.parametrize(
    "prose", ["I added a 429 handler with a retry-after header, and the tests fail", "Summary: rate limit is now 10/s"]
)
async def test_an_agents_own_prose_about_rate_limits_is_none(yard: Yard, prose: str):
    held = await given_a_running_task(yard)
    receipt = await yard.fail(held.id, held.lease, "agent_error", prose)

    assert receipt.failures == 1
    assert receipt.wake_at == yard.now() + 10_000_000


async def test_loki_takes_the_words_literally(open_yard: OpenYard):
    yard = await open_yard(preset="loki")
    await given_an_agent(yard, capabilities=["code"])
    task = await yard.enqueue("code")
    held = await claim_that(yard, task.id)
    receipt = await yard.fail(held.id, held.lease, "agent_error", "I added a 429 handler")

    assert receipt.failures == 0


async def test_multica_parks_nothing(open_yard: OpenYard):
    yard = await open_yard(preset="multica")
    held = await given_a_running_task(yard)
    receipt = await yard.fail(held.id, held.lease, "rate_limit", retry_after_sec=60)

    assert receipt.status is Status.DEAD_LETTERED
    assert (await yard.get(held.id)).attempts[0].reason == "agent_error"
    await given_a_running_task(yard)  # nor is anybody else slowed down


async def test_after_ten_times_a_rate_limit_counts(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    task = await yard.enqueue("code")
    for _ in range(10):
        held = await claim_that(yard, task.id, start=True)
        assert (await yard.fail(held.id, held.lease, "rate_limit", retry_after_sec=1)).failures == 0
        await elapse(yard, clock, 1)

    held = await claim_that(yard, task.id, start=True)
    assert (await yard.fail(held.id, held.lease, "rate_limit", retry_after_sec=1)).failures == 1


# Everybody else


async def test_others_of_its_scope_wait_half_as_long(yard: Yard, clock: ManualClock):
    parked = await limit_rate(yard, 100)
    other = await yard.enqueue("code")

    assert await yard.claim("worker") == []
    await elapse(yard, clock, 49)
    assert await yard.claim("worker") == []
    await elapse(yard, clock, 1)
    assert (await claim_that(yard, other.id)).id != parked
    await elapse(yard, clock, 50)
    await claim_that(yard, parked)


async def test_what_is_held_back_says_until_when(yard: Yard):
    await limit_rate(yard, 100)
    other = await yard.enqueue("code")

    (cause,) = [cause for cause in (await yard.why(other.id)).causes if cause.kind == "throttle"]
    assert "2026-01-01T00:00:50" in cause.words


async def test_other_processes_hold_back_too(yard: Yard, open_yard: OpenYard):
    other = await open_yard()
    await given_an_agent(other)
    await other.enqueue("code")
    held = await other.claim("worker")  # this one has claimed before, and knows how the yard stood then
    await other.release(held[0].id, held[0].lease)
    (held,) = await yard.claim("worker", start=True)
    await yard.fail(held.id, held.lease, "rate_limit", retry_after_sec=100)
    await yard.enqueue("code")

    assert await other.claim("worker") == []


async def test_other_types_other_models_and_other_workspaces_go_on(yard: Yard, open_yard: OpenYard):
    await limit_rate(yard, 100, model_preferences=["opus"])
    other = await open_yard(workspace="other")

    await given_a_running_task(yard, "research", model_preferences=["opus"])
    await given_a_running_task(yard, "code", model_preferences=["haiku"])
    await given_a_running_task(other, "code", model_preferences=["opus"])
    held_back = await yard.enqueue("code", model_preferences=["opus"])
    assert await yard.claim("worker") == []
    assert (await yard.get(held_back.id)).status is Status.READY


async def test_the_scope_is_that_of_the_model_that_was_used(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    task = await yard.enqueue("code", max_attempts=5, model_preferences=["opus"], fallback_models=["haiku"])
    for _ in range(2):
        held = await claim_that(yard, task.id, start=True)
        await yard.fail(held.id, held.lease, "crash")
        await elapse(yard, clock, 21)
    held = await claim_that(yard, task.id, start=True)
    await yard.fail(held.id, held.lease, "rate_limit", retry_after_sec=100)

    await given_a_running_task(yard, "code", model_preferences=["opus"])
    await yard.enqueue("code", model_preferences=["haiku"])
    assert await yard.claim("worker") == []


async def test_a_shorter_wait_does_not_shorten_one_that_stands(yard: Yard, clock: ManualClock):
    first = await given_a_running_task(yard)
    second = await given_a_running_task(yard)
    await yard.fail(first.id, first.lease, "rate_limit", retry_after_sec=200)
    await yard.fail(second.id, second.lease, "rate_limit", retry_after_sec=20)
    await yard.cancel(second.id)
    await yard.enqueue("code")

    await elapse(yard, clock, 99)
    assert await yard.claim("worker") == []
    await elapse(yard, clock, 1)
    assert len(await yard.claim("worker")) == 1


async def test_agents_at_work_hear_of_it_and_then_no_more(yard: Yard, clock: ManualClock):
    at_work = await given_a_running_task(yard)
    assert (await yard.heartbeat(at_work.id, at_work.lease)).words == ()
    await limit_rate(yard, 100)

    told = await yard.heartbeat(at_work.id, at_work.lease)
    assert told.words == ("slowdown",)
    assert not told.must_stop
    await elapse(yard, clock, 50)
    assert (await yard.heartbeat(at_work.id, at_work.lease)).words == ()


async def test_agents_of_other_processes_hear_of_it_within_a_second(
    yard: Yard, open_yard: OpenYard, clock: ManualClock
):
    other = await open_yard()
    at_work = await given_a_running_task(other)
    await other.heartbeat(at_work.id, at_work.lease)
    await limit_rate(yard, 100)
    clock.advance(seconds=1)

    assert (await other.heartbeat(at_work.id, at_work.lease)).words == ("slowdown",)


async def test_the_slowdown_is_an_event(yard: Yard):
    await limit_rate(yard, 100, model_preferences=["opus"])

    (said,) = await data_of(yard, "signal.slowdown")
    assert said == {"scope": "code|opus", "until": "2026-01-01T00:00:50.000000Z", "wait_sec": 100.0}


async def test_an_operator_lifts_a_throttle_before_its_time(yard: Yard):
    await limit_rate(yard, 600)
    waiting = await yard.enqueue("code")
    assert await yard.claim("worker") == []

    with pytest.raises(NotFound):
        await yard.queues.lift_throttle("code", model="opus", by="human:ada")
    await yard.queues.lift_throttle("code", by="human:ada")
    assert await yard.queues.throttles() == []
    await claim_that(yard, waiting.id)
    assert [each["throttle"] for each in await data_of(yard, "throttle.lifted")] == ["code"]
    with pytest.raises(NotFound):
        await yard.queues.lift_throttle("code", by="human:ada")
