"""What each preset lets a breaker count, what a probe decides whatever the preset, and what follows a lost lease."""

import pytest

from taskyard.core.breaker import BreakerState
from taskyard.core.task import Status
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import status_of
from tests.yards import OpenYard, claim_that, elapse, given_an_agent


async def opened(open_yard: OpenYard, preset: str) -> Yard:
    yard = await open_yard(preset=preset)
    await given_an_agent(yard, capabilities=["code"])
    return yard


async def states(yard: Yard) -> list[BreakerState]:
    return [view.state for view in await yard.breakers.list()]


async def fail_next(yard: Yard, reason: str = "crash") -> str:
    (held,) = await yard.claim("worker", start=True)
    await yard.fail(held.id, held.lease, reason)
    return held.id


async def test_in_loki_a_probe_that_fails_opens_the_breaker_again_though_it_will_be_retried(
    open_yard: OpenYard, clock: ManualClock
):
    yard = await opened(open_yard, "loki")
    await yard.breakers.set_policy(failure_threshold=1)
    await yard.enqueue("code", payload={"n": 0}, max_attempts=1)
    await fail_next(yard)
    for n in range(1, 11):
        await yard.enqueue("code", payload={"n": n})
    await elapse(yard, clock, 60)
    assert await states(yard) == [BreakerState.HALF_OPEN]

    probe = await fail_next(yard)

    assert await status_of(yard, probe) is Status.RETRYING
    assert await states(yard) == [BreakerState.OPEN]
    assert await yard.claim("worker", count=10) == []


async def test_in_loki_attempts_that_will_be_retried_are_not_counted(open_yard: OpenYard):
    yard = await opened(open_yard, "loki")
    await yard.breakers.set_policy(failure_threshold=1)
    await yard.enqueue("code", max_attempts=2)
    await fail_next(yard)

    assert await states(yard) == []


async def test_in_multica_only_a_person_opens_a_breaker(open_yard: OpenYard, clock: ManualClock):
    yard = await opened(open_yard, "multica")
    await yard.breakers.set_policy(failure_threshold=1)
    for _ in range(3):
        await yard.enqueue("code")
        assert await status_of(yard, await fail_next(yard)) is Status.DEAD_LETTERED
    assert await states(yard) == []

    await yard.enqueue("code")
    await yard.breakers.open("code")
    assert await yard.claim("worker") == []
    await elapse(yard, clock, 60)
    await fail_next(yard)
    assert await states(yard) == [BreakerState.OPEN]


@pytest.mark.parametrize(
    ("preset", "status"),
    [
        ("automechanica", Status.READY),
        ("loki", Status.READY),
        ("multica", Status.READY),
        ("standard", Status.RETRYING),
        ("ade", Status.RETRYING),
    ],
)
async def test_what_was_lost_with_its_lease_is_eligible_when_its_preset_says(
    open_yard: OpenYard, clock: ManualClock, preset: str, status: Status
):
    yard = await opened(open_yard, preset)
    task = await yard.enqueue("code", timeouts={"lease_sec": 4})
    await claim_that(yard, task.id, start=True)
    await yard.sweep()
    clock.advance(seconds=5)
    await yard.sweep()

    lost = await yard.get(task.id)
    assert lost.attempts[0].reason == "heartbeat_timeout"
    assert lost.status is status


async def test_in_automechanica_a_failure_that_is_reported_waits_for_its_delay(open_yard: OpenYard):
    yard = await opened(open_yard, "automechanica")
    task = await yard.enqueue("code")
    await fail_next(yard, "heartbeat_timeout")  # an agent may use any word

    assert (await yard.get(task.id)).wake_at == yard.now() + 5_000_000


@pytest.mark.parametrize("reason", ["crash", "timeout"])
async def test_what_the_list_of_retried_failures_lacks_is_not_retried_when_an_agent_reports_it(yard: Yard, reason: str):
    await given_an_agent(yard)
    task = await yard.enqueue("code", retry={"retry_on": ["rate_limit"]})
    await fail_next(yard, reason)

    assert await status_of(yard, task.id) is Status.DEAD_LETTERED


async def test_what_the_yard_takes_back_is_retried_whatever_that_list_says(yard: Yard, clock: ManualClock):
    await given_an_agent(yard, runtime_id="machine")
    await yard.runtimes.register("machine")
    retry = {"retry_on": ["crash"], "strategy": "immediate"}
    timeouts = {"claim_ttl_sec": 4, "lease_sec": 4}
    task = await yard.enqueue("code", retry=retry, timeouts=timeouts, max_attempts=4)
    await claim_that(yard, task.id)
    await elapse(yard, clock, 5)  # never started
    await claim_that(yard, task.id, start=True)
    await elapse(yard, clock, 5)  # never heard of
    await claim_that(yard, task.id, start=True)
    await yard.runtimes.orphans("machine")

    lost = await yard.get(task.id)
    assert [attempt.reason for attempt in lost.attempts] == ["claim_expired", "heartbeat_timeout", "runtime_recovery"]
    assert lost.status is Status.READY


async def test_what_must_not_be_retried_is_not_though_the_yard_took_it_back(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    task = await yard.enqueue("code", retry={"no_retry_on": ["heartbeat_timeout"]}, timeouts={"lease_sec": 4})
    await claim_that(yard, task.id, start=True)
    await elapse(yard, clock, 5)

    assert await status_of(yard, task.id) is Status.DEAD_LETTERED
