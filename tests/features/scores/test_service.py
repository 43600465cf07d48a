"""Scores of tasks: given, replaced, refused to those who made the output, and forgotten with the task."""

import asyncio

import pytest

from taskyard.core.errors import Forbidden, InvalidInput, NotFound
from taskyard.features.scores import rules
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import elapse, given_a_running_task, given_an_agent


async def totals_of(yard: Yard, type_: str) -> dict[str, tuple[int, float]]:
    found = await yard.store.page(rules.TOTALS, yard.workspace, prefix=rules.totals_prefix(type_), limit=100)
    bodies = [rules.SCORE_TOTALS.of(each) for each in found]
    return {each["name"]: (each["count"], each["sum"]) for each in bodies}


async def test_scores_say_who_gave_them_and_a_second_one_replaces_the_first(yard: Yard):
    task = await yard.enqueue("code")
    await yard.scores.add(task.id, "correct", True, by="human:ann", note="all tests pass")
    await yard.scores.add(task.id, "style", 0.2, by="human:ann")
    await yard.scores.add(task.id, "style", 0.5, by="human:bob")
    again = await yard.scores.add(task.id, "style", 0.4, by="human:ann")

    found = [(each.name, each.by, each.value, each.note) for each in await yard.scores.list(task.id)]
    assert found == [
        ("correct", "human:ann", 1.0, "all tests pass"),
        ("style", "human:ann", 0.4, ""),
        ("style", "human:bob", 0.5, ""),
    ]
    assert again.value == 0.4
    totals = await totals_of(yard, "code")
    assert totals["correct"] == (1, 1.0)
    assert totals["style"] == (2, pytest.approx(0.9))


async def test_scores_of_many_at_once_are_all_counted(yard: Yard):
    tasks = [await yard.enqueue("code") for _ in range(10)]
    await asyncio.gather(*(yard.scores.add(task.id, "good", 1, by="human:ann") for task in tasks))

    assert await totals_of(yard, "code") == {"good": (10, 10.0)}


async def test_an_agent_never_scores_what_it_or_its_type_has_made(yard: Yard):
    held = await given_a_running_task(yard)
    for name, type_ in [("coder-2", "worker"), ("judge", "judge")]:
        await given_an_agent(yard, name, type=type_)
    with pytest.raises(Forbidden, match="worker"):
        await yard.scores.add(held.id, "good", 1, by="agent:worker")  # while it works
    await yard.complete(held.id, held.lease)

    for maker in ("worker", "coder-2"):
        with pytest.raises(Forbidden, match="nobody judges its own output"):
            await yard.scores.add(held.id, "good", 1, by=f"agent:{maker}")
    assert await yard.scores.list(held.id) == []
    assert (await yard.scores.add(held.id, "good", 1, by="agent:judge")).by == "agent:judge"


async def test_scores_go_with_their_task_and_totals_stay(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease)
    await elapse(yard, clock, 60)
    clock.advance(seconds=6 * 86_400)
    await yard.scores.add(held.id, "good", 1)  # days after the end
    kept = await yard.enqueue("code")
    await yard.scores.add(kept.id, "good", 0)
    clock.advance(seconds=2 * 86_400)
    await elapse(yard, clock, 60)  # the task goes
    clock.advance(seconds=3_600)
    await elapse(yard, clock, 60)  # and within the hour its scores

    stored = await yard.store.page(rules.KIND, "*", limit=10)
    assert [each.body["task_id"] for each in stored] == [kept.id]
    assert await totals_of(yard, "code") == {"good": (2, 1.0)}
    with pytest.raises(NotFound):
        await yard.scores.list(held.id)


async def test_what_makes_no_sense_is_refused_by_name(yard: Yard):
    task = await yard.enqueue("code")
    for asked, field in [
        (yard.scores.add(task.id, " ", 1), "name"),
        (yard.scores.add(task.id, "n" * 101, 1), "name"),
        (yard.scores.add(task.id, "good", float("nan")), "value"),
        (yard.scores.add(task.id, "good", 1, note="n" * 2001), "note"),
        (yard.scores.add(task.id, "good", 1, by=""), "by"),
    ]:
        with pytest.raises(InvalidInput, match=field):
            await asked
    with pytest.raises(NotFound):
        await yard.scores.add("task_01J8ZZZZZZZZZZZZZZZZZZZZZZ", "good", 1)
    assert await yard.scores.list(task.id) == []


async def test_a_task_has_at_most_a_hundred_scores(yard: Yard):
    task = await yard.enqueue("code")
    for number in range(rules.MOST_SCORES):
        await yard.scores.add(task.id, f"n{number}", 1)

    with pytest.raises(InvalidInput, match="100 scores"):
        await yard.scores.add(task.id, "more", 1)
    assert (await yard.scores.add(task.id, "n1", 2)).value == 2.0
