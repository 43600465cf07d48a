"""A workspace decides when its breakers open and let a probe through, for all types or for one."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.units import Micros
from taskyard.features.breakers.views import BreakerOverride
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, elapse, given_an_agent


async def failures_until_it_opens(yard: Yard, type_: str) -> int:
    """Attempts of this type that fail, each of another task, until nothing of it is to be had."""
    await given_an_agent(yard)
    failures = 0
    await yard.enqueue(type_, max_attempts=1)
    while held := await yard.claim("worker", types=[type_], start=True):
        await yard.fail(held[0].id, held[0].lease, "crash")
        await yard.enqueue(type_, max_attempts=1)
        failures += 1
    return failures


async def test_a_threshold_holds_for_every_type_but_those_with_their_own(yard: Yard):
    await yard.breakers.set_policy(failure_threshold=2, overrides={"deploy": 1, "chat": 4})

    assert await failures_until_it_opens(yard, "code") == 2
    assert await failures_until_it_opens(yard, "deploy") == 1
    assert await failures_until_it_opens(yard, "chat") == 4


async def test_a_probe_is_let_through_when_the_workspace_says(yard: Yard, clock: ManualClock):
    await yard.breakers.set_policy(failure_threshold=1, half_open_after_sec=5)
    await failures_until_it_opens(yard, "code")

    await elapse(yard, clock, 4.9)
    assert await yard.claim("worker") == []
    await elapse(yard, clock, 0.1)
    assert len(await yard.claim("worker")) == 1


async def test_the_word_of_loki_is_read_where_ours_is_absent(yard: Yard):
    assert (await yard.breakers.set_policy(cooldownSeconds=300)).half_open_after == 300_000_000
    assert (await yard.breakers.set_policy(half_open_after_sec=60, cooldownSeconds=300)).half_open_after == 60_000_000


async def test_a_type_may_have_its_own_time_to_the_probe(yard: Yard, clock: ManualClock):
    overrides = {"deploy": {"failure_threshold": 1, "half_open_after_sec": 5}, "code": {"half_open_after_sec": 300}}
    settings = await yard.breakers.set_policy(failure_threshold=2, overrides=overrides)
    assert settings.overrides == {
        "deploy": BreakerOverride(1, Micros(5_000_000)),
        "code": BreakerOverride(None, Micros(300_000_000)),
    }
    assert await failures_until_it_opens(yard, "deploy") == 1
    assert await failures_until_it_opens(yard, "code") == 2

    await elapse(yard, clock, 5)
    assert [held.type for held in await yard.claim("worker", count=5)] == ["deploy"]


async def test_overrides_are_taken_as_lokis_files_have_them(yard: Yard, open_yard: OpenYard):
    overrides = {"ops-security": {"failureThreshold": 3, "cooldownSeconds": 300}, "code": {"halfOpenAfter": 2}}
    settings = await yard.breakers.set_policy(overrides=overrides)

    assert settings.overrides == {
        "ops-security": BreakerOverride(3, Micros(300_000_000)),
        "code": BreakerOverride(None, Micros(2_000_000)),
    }
    assert (await (await open_yard()).budgets.show()).breakers == settings


async def test_what_is_not_given_again_is_the_presets_again(yard: Yard):
    await yard.breakers.set_policy(failure_threshold=1)
    await yard.breakers.set_policy()

    assert await failures_until_it_opens(yard, "code") == 5


async def test_breakers_and_budget_of_a_workspace_do_not_undo_each_other(yard: Yard):
    await yard.breakers.set_policy(failure_threshold=1)
    await yard.budgets.set(daily_budget_usd="12.50")
    settings = await yard.budgets.set(daily_budget_usd="20")

    assert settings.daily_budget == 20_000_000
    assert await failures_until_it_opens(yard, "code") == 1


async def test_another_workspace_keeps_its_own_breakers(yard: Yard, open_yard: OpenYard):
    other = await open_yard(workspace="other")
    await yard.breakers.set_policy(failure_threshold=1)

    assert await failures_until_it_opens(other, "code") == 5


async def test_a_policy_that_makes_no_sense_changes_nothing(yard: Yard):
    await yard.breakers.set_policy(failure_threshold=2)
    with pytest.raises(InvalidInput):
        await yard.breakers.set_policy(failure_threshold=0, half_open_after_sec=1)

    assert await failures_until_it_opens(yard, "code") == 2
