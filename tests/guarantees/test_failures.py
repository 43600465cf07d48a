"""What a failed attempt leads to, how soon, and what its record says."""

import pytest

from taskyard.core.task import Status
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import (
    OpenYard,
    claim_that,
    data_of,
    elapse,
    fail_once,
    given_a_claimed_task,
    given_a_running_task,
    given_an_agent,
)


async def delays_of(yard: Yard, clock: ManualClock, task_id: str, failures: int) -> list[float]:
    """How long the task waits after each of its failures, in seconds."""
    delays: list[float] = []
    for _ in range(failures):
        held = await claim_that(yard, task_id, start=True)
        receipt = await yard.fail(held.id, held.lease, "crash")
        wait = 0.0 if receipt.wake_at is None else (receipt.wake_at - yard.now()) / 1_000_000
        delays.append(wait)
        await elapse(yard, clock, wait)
    return delays


@pytest.mark.parametrize(
    ("preset", "delays"),
    [
        ("standard", [10, 20, 40, 80, 160, 300, 300]),
        ("factory", [10, 20, 40]),
        ("loki", [60, 120, 240, 480]),
        ("ade", [1, 2, 4, 8]),
        ("automechanica", [5, 20, 45, 80]),
    ],
)
async def test_each_preset_waits_longer_after_every_failure_from_its_own_base(
    open_yard: OpenYard, clock: ManualClock, preset: str, delays: list[float]
):
    yard = await open_yard(preset=preset)
    await yard.breakers.set_policy(failure_threshold=100)
    await given_an_agent(yard, capabilities=["code"])
    task = await yard.enqueue("code", max_attempts=10)

    assert await delays_of(yard, clock, task.id, len(delays)) == delays


@pytest.mark.parametrize(
    ("retry", "delays"),
    [
        ({"strategy": "fixed", "initial_delay_sec": 7}, [7, 7, 7]),
        ({"strategy": "immediate"}, [0, 0, 0]),
        ({"strategy": "quadratic", "initial_delay_sec": 5}, [5, 20, 45]),
        ({"strategy": "quadratic", "initial_delay_sec": 5, "max_delay_sec": 30}, [5, 20, 30]),
        ({"initial_delay_sec": 60, "backoff_multiplier": 2}, [60, 120, 240]),
        ({"backoff_multiplier": 3}, [10, 30, 90]),
    ],
)
async def test_a_task_may_have_its_own_delays(
    yard: Yard, clock: ManualClock, retry: dict[str, object], delays: list[float]
):
    await given_an_agent(yard)
    task = await yard.enqueue("code", max_attempts=10, retry=retry)

    assert await delays_of(yard, clock, task.id, 3) == delays


@pytest.mark.parametrize(("dice", "first", "sixth"), [(0.0, 5, 150), (0.999_999, 15, 300)])
async def test_jitter_stays_within_its_bounds_and_below_the_cap(
    open_yard: OpenYard, clock: ManualClock, dice: float, first: float, sixth: float
):
    yard = await open_yard(dice=lambda: dice)
    await yard.breakers.set_policy(failure_threshold=100)
    await given_an_agent(yard)
    task = await yard.enqueue("code", max_attempts=10)

    delays = await delays_of(yard, clock, task.id, 6)
    assert delays[0] == pytest.approx(first, abs=0.001)
    assert delays[5] == pytest.approx(sixth, abs=0.001)
    assert max(delays) <= 300


async def test_an_agent_may_say_when_to_come_back(yard: Yard):
    held = await given_a_running_task(yard)
    receipt = await yard.fail(held.id, held.lease, "locked", retry_after_sec=123)

    assert receipt.wake_at == yard.now() + 123_000_000


async def test_a_task_waits_out_its_delay_and_no_longer(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.fail(held.id, held.lease, "crash")

    await elapse(yard, clock, 9)
    assert await yard.claim("worker") == []
    await elapse(yard, clock, 1)
    assert len(await yard.claim("worker")) == 1


async def test_the_last_attempt_that_fails_makes_a_dead_letter(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    task = await yard.enqueue("code", max_attempts=3)
    for _ in range(2):
        await fail_once(yard, clock, task.id)
    assert (await yard.get(task.id)).status is Status.READY

    await fail_once(yard, clock, task.id)
    assert (await yard.get(task.id)).status is Status.DEAD_LETTERED
    assert await yard.claim("worker") == []


async def test_a_claim_may_fail_before_it_is_started(yard: Yard):
    held = await given_a_claimed_task(yard)
    receipt = await yard.fail(held.id, held.lease, "no_disk")

    assert (receipt.status, receipt.failures) == (Status.RETRYING, 1)


@pytest.mark.parametrize("reason", ["auth_failure", "budget_exceeded", "cancelled"])
async def test_what_may_not_be_retried_goes_straight_to_the_dead_letters(yard: Yard, reason: str):
    held = await given_a_running_task(yard)

    assert (await yard.fail(held.id, held.lease, reason)).status is Status.DEAD_LETTERED


async def test_where_a_task_says_what_is_retried_nothing_else_is(yard: Yard):
    first = await given_a_running_task(yard, retry={"retry_on": ["flaky_network"]})
    assert (await yard.fail(first.id, first.lease, "flaky_network")).status is Status.RETRYING

    second = await given_a_running_task(yard, retry={"retry_on": ["flaky_network"]})
    assert (await yard.fail(second.id, second.lease, "crash")).status is Status.DEAD_LETTERED


async def test_a_task_may_say_what_is_never_retried(yard: Yard):
    held = await given_a_running_task(yard, retry={"no_retry_on": ["bad_prompt"]})
    assert (await yard.fail(held.id, held.lease, "bad_prompt")).status is Status.DEAD_LETTERED

    held = await given_a_running_task(yard, retry={"no_retry_on": ["bad_prompt"]})
    assert (await yard.fail(held.id, held.lease, "auth_failure")).status is Status.RETRYING


async def test_the_record_of_a_failure_has_the_agents_own_words(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.fail(held.id, held.lease, "merge_conflict", "could not merge main", details={"files": ["a.py"]})

    task = (await yard.get(held.id)).to_dict()
    failure = task["failure"]
    assert isinstance(failure, dict)
    assert (failure["reason"], failure["error"]) == ("merge_conflict", "could not merge main")
    assert failure["details"] == {"files": ["a.py"]}


async def test_an_error_that_no_store_could_keep_is_mended_rather_than_refused(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.fail(held.id, held.lease, "crash", "core\0dumped \ud800" + "x" * 20_000)

    kept = (await yard.get(held.id)).attempts[0].error or ""
    assert kept.startswith("core\N{REPLACEMENT CHARACTER}dumped ?x")
    assert len(kept) == 10_000


async def test_what_an_attempt_cost_adds_up_exactly(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    task = await yard.enqueue("code")
    for cost in (0.12, 0.31):
        held = await claim_that(yard, task.id, start=True)
        await yard.fail(held.id, held.lease, "crash", cost_usd=cost, tokens_input=100, tokens_output=10)
        await elapse(yard, clock, 21)
    held = await claim_that(yard, task.id, start=True)
    await yard.complete(held.id, held.lease, {}, cost_usd=0.08, tokens_input=1)

    shown = (await yard.get(task.id)).to_dict()
    history = shown["history"]
    assert isinstance(history, list)
    assert [each["cost_usd"] for each in history if isinstance(each, dict)] == ["0.12", "0.31", "0.08"]
    assert shown["cost_usd"] == "0.51"
    assert shown["tokens_used"] == {"input": 201, "output": 20, "cache_read": 0, "cache_write": 0}


# Other models


async def test_from_the_second_failure_on_the_fallback_models_are_used_and_the_event_says_so(
    yard: Yard, clock: ManualClock
):
    await given_an_agent(yard)
    task = await yard.enqueue(
        "code", max_attempts=5, model_preferences=["opus", "sonnet"], fallback_models=["haiku", "local"]
    )
    models: list[tuple[str, ...]] = []
    for _ in range(4):
        held = await claim_that(yard, task.id, start=True)
        models.append(held.models)
        await yard.fail(held.id, held.lease, "crash")
        await elapse(yard, clock, 100)

    assert models == [("opus", "sonnet"), ("opus", "sonnet"), ("haiku", "local"), ("haiku", "local")]
    said = [event.get("models") for event in await data_of(yard, "task.retrying")]
    assert said == [None, ["haiku", "local"], None, None]


async def test_a_dead_letter_that_is_retried_begins_with_the_preferred_models_again(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    task = await yard.enqueue("code", model_preferences=["opus"], fallback_models=["haiku"])
    for _ in range(3):
        await fail_once(yard, clock, task.id)
    await yard.dead_letters.resolve(task.id, "retry", by="human:ada")

    assert (await claim_that(yard, task.id)).models == ("opus",)


# Poison pills


async def fail_by(yard: Yard, clock: ManualClock, task_id: str, *agents: str) -> None:
    for agent in agents:
        await given_an_agent(yard, agent)
        await fail_once(yard, clock, task_id, by=agent)


async def test_what_fails_three_times_under_two_agents_is_a_poison_pill(yard: Yard, clock: ManualClock):
    task = await yard.enqueue("code", max_attempts=10)
    await fail_by(yard, clock, task.id, "ada", "bob")
    assert (await yard.get(task.id)).status is Status.READY

    await fail_by(yard, clock, task.id, "ada")
    buried = await yard.get(task.id)
    assert buried.status is Status.DEAD_LETTERED
    assert buried.dead is not None
    assert buried.dead.poison_pill is True


async def test_what_fails_under_one_agent_alone_is_no_poison_pill(yard: Yard, clock: ManualClock):
    task = await yard.enqueue("code", max_attempts=4)
    await fail_by(yard, clock, task.id, "ada", "ada", "ada")
    assert (await yard.get(task.id)).status is Status.READY

    await fail_by(yard, clock, task.id, "ada")
    buried = await yard.get(task.id)
    assert buried.dead is not None
    assert buried.dead.poison_pill is False


async def test_a_person_who_retries_a_poison_pill_gives_it_a_new_start(yard: Yard, clock: ManualClock):
    await yard.breakers.set_policy(failure_threshold=100)
    task = await yard.enqueue("code", max_attempts=10)
    await fail_by(yard, clock, task.id, "ada", "bob", "ada")
    await yard.dead_letters.resolve(task.id, "retry", by="human:cleo")
    await fail_by(yard, clock, task.id, "bob", "bob", "bob")
    assert (await yard.get(task.id)).status is Status.READY  # what ada met before is forgiven with the rest

    await fail_by(yard, clock, task.id, "ada")
    assert (await yard.get(task.id)).status is Status.DEAD_LETTERED


# Presets


async def test_a_lost_lease_counts_as_an_attempt(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    task = await yard.enqueue("code", timeouts={"lease_sec": 10})
    for _ in range(3):
        await claim_that(yard, task.id, start=True)
        await elapse(yard, clock, 11)
        await elapse(yard, clock, 41)

    assert (await yard.get(task.id)).status is Status.DEAD_LETTERED


async def test_in_loki_ten_lost_leases_count_for_nothing_and_the_eleventh_counts(
    open_yard: OpenYard, clock: ManualClock
):
    yard = await open_yard(preset="loki")
    await given_an_agent(yard, capabilities=["code"])
    task = await yard.enqueue("code", timeouts={"lease_sec": 2})
    for _ in range(10):
        await claim_that(yard, task.id)
        await elapse(yard, clock, 3)
        lost = await yard.get(task.id)
        assert (lost.status, lost.failures) == (Status.READY, 0)

    await claim_that(yard, task.id)
    await elapse(yard, clock, 3)
    assert (await yard.get(task.id)).failures == 1


async def test_loki_retries_whatever_the_reason(open_yard: OpenYard):
    yard = await open_yard(preset="loki")
    await given_an_agent(yard, capabilities=["code"])
    task = await yard.enqueue("code")
    held = await claim_that(yard, task.id)

    assert (await yard.fail(held.id, held.lease, "auth_failure")).status is Status.RETRYING


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("timeout", Status.READY),
        ("runtime_offline", Status.READY),
        ("runtime_recovery", Status.READY),
        ("claim_expired", Status.READY),
        ("heartbeat_timeout", Status.READY),
        ("agent_error", Status.DEAD_LETTERED),
        ("crash", Status.DEAD_LETTERED),
    ],
)
async def test_multica_retries_what_is_not_the_agents_fault_and_at_once(
    open_yard: OpenYard, reason: str, status: Status
):
    yard = await open_yard(preset="multica")
    held = await given_a_running_task(yard)

    assert (await yard.fail(held.id, held.lease, reason)).status is status


async def test_multica_tries_twice(open_yard: OpenYard, clock: ManualClock):
    yard = await open_yard(preset="multica")
    held = await given_a_running_task(yard)
    await yard.fail(held.id, held.lease, "timeout")
    held = await claim_that(yard, held.id)

    assert (await yard.fail(held.id, held.lease, "timeout")).status is Status.DEAD_LETTERED


@pytest.mark.parametrize(("preset", "run_sec", "heartbeat_sec"), [("ade", 300, 20), ("multica", 9000, 60)])
async def test_a_preset_may_limit_how_long_every_attempt_runs(
    open_yard: OpenYard, clock: ManualClock, preset: str, run_sec: int, heartbeat_sec: int
):
    yard = await open_yard(preset=preset)
    held = await given_a_running_task(yard)
    for _ in range(run_sec // heartbeat_sec - 1):
        clock.advance(seconds=heartbeat_sec)
        assert (await yard.heartbeat(held.id, held.lease)).words == ()
    clock.advance(seconds=heartbeat_sec - 1)
    await yard.sweep()
    assert (await yard.get(held.id)).status is Status.RUNNING

    await elapse(yard, clock, 1)
    assert (await yard.get(held.id)).attempts[0].reason == "timeout"
