"""`verify` finds what it is there to find: each damage is planted in a yard that was sound, and is then reported."""

from typing import Any

import pytest

from taskyard.core.changes import Limit
from taskyard.core.task import Hot, TaskId
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import claim_all, given_a_graph, task, work_off
from tests.guarantees.damages import (
    DAMAGES,
    NOBODY,
    Damage,
    a_task_appears_that_nobody_enqueued,
    a_version_is_skipped,
    given_a_sound_yard,
    lying,
)
from tests.yards import OpenYard, claim_that, elapse, given_an_agent


@pytest.mark.parametrize(("damage", "report"), DAMAGES)
async def test_damage_is_found_where(open_yard: OpenYard, damage: Damage, report: str):
    sound = await given_a_sound_yard(open_yard)

    await damage(sound)

    verified = await sound.yard.verify()
    expected = sound.named(report)
    assert any(problem.startswith(expected) for problem in verified.problems), str(verified)
    assert not verified.ok
    assert str(verified).startswith(f"verify: {len(verified.problems)} problem")


# What no store would take is told by one that lies.


async def test_two_live_tasks_of_one_idempotency_key_are_found(open_yard: OpenYard):
    sound = await given_a_sound_yard(open_yard)
    yard = sound.yard

    async def find(*arguments: Any, **options: Any) -> list[Hot]:
        return [hot._replace(idempotency_key="once") for hot in await yard.store.find(*arguments, **options)]

    # The dead one does not count: it no longer owns its key.
    problems = (await lying(yard, find=find).verify()).problems
    doubles = [
        each for each in problems if each.endswith(f"has the idempotency key once, which is {sound.completed}'s")
    ]
    assert len(doubles) == 5


async def test_a_live_task_whose_idempotency_key_is_nobodys_is_found(open_yard: OpenYard):
    sound = await given_a_sound_yard(open_yard)

    async def by_key(*_: object) -> dict[str, TaskId]:
        return {}

    problems = (await lying(sound.yard, by_key=by_key).verify()).problems
    assert problems == (f"{sound.completed} is live and has the idempotency key once, which is nobody's",)


async def test_money_that_no_ceiling_knows_of_is_found(open_yard: OpenYard):
    sound = await given_a_sound_yard(open_yard)

    async def limits(*_: object) -> dict[str, Limit]:
        return {}

    problems = (await lying(sound.yard, limits=limits).verify()).problems
    assert "agent:worker: 0 was spent, and its attempts cost 250000" in problems
    assert "slots:worker: 0 is held, and its attempts hold 1" in problems


async def test_two_holders_of_one_concurrency_key_are_found(open_yard: OpenYard):
    sound = await given_a_sound_yard(open_yard)
    yard = sound.yard
    await claim_that(yard, sound.dag.tasks["second"].id)

    async def find(*arguments: Any, **options: Any) -> list[Hot]:
        return [hot._replace(key="repository") for hot in await yard.store.find(*arguments, **options)]

    problems = (await lying(yard, find=find).verify()).problems
    assert "2 tasks hold the concurrency key repository" in problems


async def test_what_the_store_says_of_itself_is_passed_on(open_yard: OpenYard):
    yard = await open_yard()

    async def checks() -> list[str]:
        return ["page 7 is torn"]

    assert (await lying(yard, checks=checks).verify()).problems == ("page 7 is torn",)


# A sound yard is called sound


async def test_a_yard_with_everything_in_it_is_sound_and_says_how_much_was_looked_at(open_yard: OpenYard):
    yard = (await given_a_sound_yard(open_yard)).yard

    assert str(await yard.verify()) == "verify: ok (7 tasks, 3 attempts, 20 events)"


async def test_a_yard_that_has_forgotten_old_work_is_sound(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    left = await yard.enqueue("code", run_after="2026-02-01T00:00:00Z")
    await given_a_graph(yard, task("a"), task("b", "a"))
    await work_off(yard)
    clock.advance(seconds=8 * 24 * 3600)
    await yard.sweep()
    await given_a_graph(yard, task("a"), task("b", "a"))

    verified = await yard.verify()

    assert verified.problems == ()
    assert verified.tasks == 3
    assert left.id in {each.id for each in await yard.find()}


async def test_damage_is_found_also_where_old_work_is_forgotten(open_yard: OpenYard, clock: ManualClock):
    sound = await given_a_sound_yard(open_yard)
    lone = await sound.yard.enqueue("review")
    (held,) = await sound.yard.claim("worker", types=["review"], start=True)
    assert held.id == lone.id
    await sound.yard.complete(held.id, held.lease)
    await elapse(sound.yard, clock, 60)
    clock.advance(seconds=8 * 24 * 3600)
    await sound.yard.sweep()
    assert await sound.yard.store.pruned()

    await a_version_is_skipped(sound)

    assert f"{sound.ready} has versions [1, 3]" in (await sound.yard.verify()).problems


async def test_every_state_of_a_long_story_is_sound(yard: Yard, clock: ManualClock):
    """Failures, a revival at the same moment as the death, and money that is still reserved."""
    await yard.budgets.set(daily_budget_usd="10")
    await given_an_agent(yard, budget_usd="5")
    doomed = await yard.enqueue("code", max_attempts=1, max_cost_usd="1")
    for _ in range(2):
        held = await claim_that(yard, doomed.id, start=True)
        await yard.fail(held.id, held.lease, "crash", cost_usd="0.10")
        await yard.dead_letters.resolve(doomed.id, "retry", by="human:ada")
    (held,) = await claim_all(yard, 1)
    await yard.heartbeat(held.id, held.lease, cost_usd="0.50")

    assert (await yard.verify()).problems == ()


async def test_a_task_without_events_is_found_where_others_were_pruned(open_yard: OpenYard, clock: ManualClock):
    sound = await given_a_sound_yard(open_yard)
    await elapse(sound.yard, clock, 60)
    clock.advance(seconds=8 * 24 * 3600)
    assert (await sound.yard.sweep()).pruned == 1
    assert (await sound.yard.verify()).problems == ()

    await a_task_appears_that_nobody_enqueued(sound)

    assert (await sound.yard.verify()).problems == (f"{NOBODY} has no events",)
