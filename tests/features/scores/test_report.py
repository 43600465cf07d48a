"""The report by variant, from tasks that were worked on."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.features.scores import service
from taskyard.features.scores.views import Figure, VariantDifference, VariantReport
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import claim_that, elapse, fail_once, given_an_agent

VARIANTS = [{"name": "plain"}, {"name": "careful"}]


async def given_done(yard: Yard, clock: ManualClock, variant: str, *, seconds: int, cost: float, score: float) -> None:
    task = await yard.enqueue("code", variant=variant)
    held = await claim_that(yard, task.id, start=True)
    clock.advance(seconds=seconds)
    await yard.complete(held.id, held.lease, cost_usd=cost)
    await yard.scores.add(task.id, "good", score, by="human:ann")


def found(report: VariantReport, measure: str) -> VariantDifference:
    (one,) = [each for each in report.differences if each.measure == measure]
    return one


async def test_variants_stand_beside_each_other(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    await yard.variants.set("code", VARIANTS)
    for number in range(6):
        await given_done(yard, clock, "plain", seconds=10, cost=0.1, score=0.4 + number / 100)
        await given_done(
            yard, clock, "careful", seconds=10 + number % 2, cost=0.3 + number / 100, score=0.9 + number / 100
        )
    dead = await yard.enqueue("code", variant="plain", max_attempts=1)
    await fail_once(yard, clock, dead.id, reason="bad_output")
    await yard.enqueue("code", variant="plain", agent="nobody")

    report = await yard.scores.report("code")
    plain, careful = report.variants
    assert (plain.name, plain.tasks, plain.ended, plain.completed) == ("plain", 8, 7, 6)
    assert (plain.failures, careful.failures) == ({"bad_output": 1}, {})
    assert plain.total_cost == pytest.approx(0.6)
    assert careful.cost.mean == pytest.approx(0.325)
    assert (careful.p50_sec, careful.p95_sec) == (10, 11)
    assert [(each.name, each.count, each.ever) for each in careful.scores] == [("good", 6, 6)]
    assert careful.scores[0].mean == pytest.approx(0.925)
    good = found(report, "good")
    assert (good.base, good.variant, good.words) == ("plain", "careful", "more than chance: higher")
    assert found(report, "cost").words == "more than chance: higher"
    assert found(report, "completed").words == "may be chance"
    assert found(report, "completed").difference == pytest.approx(1 - 6 / 7)  # of those that have ended
    assert not report.is_cut


async def test_scores_of_one_task_by_many_count_once(yard: Yard):
    task = await yard.enqueue("code")
    for value, who in enumerate(("ann", "bob", "cy")):
        await yard.scores.add(task.id, "good", value, by=f"human:{who}")

    (only,) = (await yard.scores.report("code")).variants
    assert [(each.count, each.mean, each.ever) for each in only.scores] == [(1, 1.0, 3)]
    assert only.name is None


async def test_what_costs_nothing_has_no_interval_of_a_rate(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    for variant in ("plain", "careful") * 5:
        await given_done(yard, clock, variant, seconds=1, cost=0, score=1)
    report = await yard.scores.report("code")
    assert [each.cost for each in report.variants] == [Figure(mean=0, low=0, high=0)] * 2
    assert [found(report, each).words for each in ("cost", "seconds")] == ["no difference"] * 2
    assert found(report, "good").words == "may be chance"  # of ten yeses, the next may be a no


async def test_few_tasks_are_not_compared(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    for variant, score in (("a", 0.1), ("b", 0.9)):
        await given_done(yard, clock, variant, seconds=1, cost=0, score=score)

    report = await yard.scores.report("code")
    assert found(report, "good").words == "too few to say: 1 and 1 values, and each side needs 5"
    assert (await yard.scores.report("nothing")).variants == ()


async def test_old_tasks_and_too_many_are_left_out(yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch):
    await yard.enqueue("code")
    await elapse(yard, clock, 2 * 86_400)
    await yard.enqueue_many([{"type": "code"}] * 5)
    await yard.enqueue("test")

    assert (await yard.scores.report("code", days=1)).tasks == 5
    assert (await yard.scores.report("code")).tasks == 6
    monkeypatch.setattr(service, "AT_ONCE", 2)
    monkeypatch.setattr(service, "MOST_TASKS", 4)
    cut = await yard.scores.report("code")
    assert (cut.tasks, cut.is_cut) == (4, True)
    with pytest.raises(InvalidInput, match="days"):
        await yard.scores.report("code", days=-1)
