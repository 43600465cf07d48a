"""`verify` finds what it is there to find: each damage is planted in a yard that was sound, and is then reported."""

from typing import Any

import pytest

from taskyard.core.changes import Limit, Record, RecordChange
from taskyard.core.task import Hot, Status, TaskId
from taskyard.features.metrics.counting import CURSOR, DAYS
from taskyard.features.metrics.service import DAYS_KEPT
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import claim_all, given_a_graph, task, work_off
from tests.guarantees.damages import (
    DAMAGES,
    NOBODY,
    Damage,
    a_task_appears_that_nobody_enqueued,
    a_version_is_skipped,
    figures_are_lost,
    given_a_sound_yard,
    lying,
)
from tests.guarantees.test_breakers import given_a_probe
from tests.yards import (
    OpenYard,
    claim_that,
    data_of,
    elapse,
    given_a_dead_letter,
    given_a_running_task,
    given_an_agent,
)


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


@pytest.mark.parametrize("reason", ["crash", "rate_limit"])
async def test_a_probe_is_sound_at_work_and_when_it_opened_its_breaker_again_or_has_proved_nothing(
    yard: Yard, clock: ManualClock, reason: str
):
    probe = await given_a_probe(yard, clock)
    assert (await yard.verify()).problems == ()

    await yard.fail(probe.id, probe.lease, reason)

    assert any("probe" in each for each in await data_of(yard, "task.retrying"))
    assert (await yard.verify()).problems == ()


async def test_what_is_at_work_after_a_probe_has_closed_its_breaker_is_sound(yard: Yard, clock: ManualClock):
    probe = await given_a_probe(yard, clock)
    await yard.complete(probe.id, probe.lease)

    assert len(await yard.claim("worker", count=3, start=True)) == 2
    assert (await yard.verify()).problems == ()


async def test_what_an_output_holds_until_it_is_judged_is_sound(yard: Yard):
    """Its key and its money; its slot is free again."""
    await yard.budgets.set(daily_budget_usd="10")
    output = {"validation": "llm-judge", "validation_schema": "Is it good?"}
    held = await given_a_running_task(yard, concurrency_key="repository", max_cost_usd="1", output=output)
    await yard.complete(held.id, held.lease, {"ok": True}, cost_usd="0.25")

    assert (await yard.get(held.id)).status is Status.VALIDATING
    assert (await yard.verify()).problems == ()


async def test_every_way_to_depend_on_another_task_is_sound(yard: Yard):
    """On one that died, on one of a DAG, as its child, and as one that was cancelled before."""
    dead, parent = await given_a_dead_letter(yard), await given_a_running_task(yard)
    await yard.enqueue("code", depends_on=[dead.id])
    dag = await given_a_graph(yard, task("first"), task("second", "first"), task("third", "first"))
    await yard.cancel(dag.tasks["third"].id)
    await yard.enqueue("code", depends_on=[dag.tasks["first"].id])
    await yard.tasks.spawn(parent.id, parent.lease, [{"type": "code"}], name="children")

    assert (await yard.verify()).problems == ()


async def test_figures_of_days_that_are_no_longer_kept_are_not_missed(yard: Yard, clock: ManualClock):
    await yard.enqueue("code")
    await yard.sweep()
    clock.advance(seconds=(DAYS_KEPT + 1) * 24 * 3600)
    await yard.sweep()

    assert await yard.store.records(DAYS, yard.workspace) == []
    assert not await yard.store.pruned(yard.workspace)
    assert (await yard.verify()).problems == ()


async def test_figures_that_begin_after_the_first_event_are_not_compared(open_yard: OpenYard):
    """As where a release without figures pruned events of another workspace."""
    sound = await given_a_sound_yard(open_yard)
    await figures_are_lost(sound)
    record = await sound.yard.store.record(*CURSOR)
    assert record is not None
    await sound.plant(records=(RecordChange(*record[:4], {**record.body, "since": 1}),))

    assert (await sound.yard.verify()).problems == ()


async def test_figures_that_are_counted_meanwhile_are_read_again(open_yard: OpenYard, clock: ManualClock):
    sound = await given_a_sound_yard(open_yard)
    yard = sound.yard
    await yard.sweep()
    await yard.enqueue("code")
    was_counted = False

    async def records(kind: str, *workspace: str) -> list[Record]:
        nonlocal was_counted
        if kind == DAYS and not was_counted:
            was_counted = True
            await elapse(yard, clock, 60)
        return list(await yard.store.records(kind, *workspace))

    assert (await lying(yard, records=records).verify()).problems == ()
    assert was_counted


async def test_money_that_is_held_over_midnight_is_that_of_the_day_of_the_claim(yard: Yard, clock: ManualClock):
    await yard.budgets.set(daily_budget_usd="10")
    clock.advance(seconds=24 * 3600 - 10)
    held = await given_a_running_task(yard, max_cost_usd="1")
    clock.advance(seconds=20)
    await yard.attempts.pin_session(held.id, held.lease, session_id="s")

    assert (await yard.verify()).problems == ()


async def test_a_task_without_events_is_found_where_others_were_pruned(open_yard: OpenYard, clock: ManualClock):
    sound = await given_a_sound_yard(open_yard)
    await elapse(sound.yard, clock, 60)
    clock.advance(seconds=8 * 24 * 3600)
    assert (await sound.yard.sweep()).pruned == 1
    assert (await sound.yard.verify()).problems == ()

    await a_task_appears_that_nobody_enqueued(sound)

    assert (await sound.yard.verify()).problems == (f"{NOBODY} has no events",)
