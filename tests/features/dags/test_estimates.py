"""What a graph would cost, by what tasks of its types have cost before."""

import pytest

from taskyard.core.errors import TaskyardError
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import claim_that, given_an_agent

CHAIN = [
    {"name": "plan", "type": "plan"},
    {"name": "build", "type": "build", "depends_on": ["plan"]},
    {"name": "test", "type": "test", "depends_on": ["build"]},
    {"name": "other", "type": "plan"},
]


async def given_history(yard: Yard, clock: ManualClock, type_: str, seconds: int, *costs: str) -> None:
    for cost in costs:
        task = await yard.enqueue(type_)
        held = await claim_that(yard, task.id, start=True)
        clock.advance(seconds=seconds)
        await yard.complete(held.id, held.lease, {}, cost_usd=cost)


async def test_a_graph_costs_what_its_types_cost_and_takes_as_long_as_its_longest_chain(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    await given_history(yard, clock, "plan", 10, "0.10", "0.30")
    await given_history(yard, clock, "build", 50, "1")

    found = await yard.dags.estimate({"tasks": CHAIN, "budget_ceiling_usd": "1"})

    assert (found.tasks, found.cost, found.seconds) == (4, 1_400_000, 60.0)
    assert found.chain == ("plan", "build", "test")
    assert found.unknown == ("test",)
    assert found.is_over_ceiling
    assert [(each.type, each.tasks, each.seen, each.cost) for each in found.types] == [
        ("build", 1, 1, 1_000_000),
        ("plan", 2, 2, 200_000),
        ("test", 1, 0, None),
    ]


async def test_what_failed_has_cost_too_and_says_nothing_of_the_time(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    await given_history(yard, clock, "plan", 10, "0.10")
    task = await yard.enqueue("plan", max_attempts=1)
    held = await claim_that(yard, task.id, start=True)
    clock.advance(seconds=80)
    await yard.fail(held.id, held.lease, "crash", cost_usd="0.30")

    found = await yard.dags.estimate({"tasks": [{"type": "plan"}]})

    assert (found.cost, found.seconds, found.is_over_ceiling) == (200_000, 10.0, False)


async def test_an_estimate_stores_nothing(yard: Yard):
    await yard.dags.estimate({"tasks": CHAIN})

    assert await yard.find() == []
    assert await yard.dags.list() == []


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ([{"name": "a", "type": "x", "depends_on": ["b"]}, {"name": "b", "type": "x", "depends_on": ["a"]}], "cycle"),
        ([{"name": "a", "type": "x", "depends_on": ["nobody"]}], "nobody"),
        ([{"name": "a"}], "type"),
    ],
)
async def test_what_could_not_be_put_in_is_refused_in_the_same_words(yard: Yard, tasks: list[object], words: str):
    with pytest.raises(TaskyardError, match=words) as estimated:
        await yard.dags.estimate({"tasks": tasks})
    with pytest.raises(TaskyardError) as submitted:
        await yard.submit({"tasks": tasks})

    assert type(estimated.value) is type(submitted.value)
