"""Who comes first, at every moment: by the formula of the rule book, seen through real claims."""

import asyncio
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

import pytest

from taskyard.core.task import Hot, TaskId
from taskyard.core.units import MINUTE, Micros, to_iso
from taskyard.features.tasks.views import Task
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import given_a_graph, task, work_off
from tests.yards import claim_that, elapse, given_an_agent, pass_unswept

DAY = 24 * 60  # minutes
NEVER = "2035-01-01T00:00:00Z"


def minutes(clock: ManualClock, count: float) -> None:
    clock.advance(seconds=60 * count)


def in_minutes(yard: Yard, count: float) -> str:
    return to_iso(Micros(yard.now() + int(count * MINUTE)))


def effective(each: Task, now: Micros) -> Fraction:
    """The rule book's formula, for a task on its own: what it is worth now. Lower goes first."""
    boost = Fraction(each.priority_boost_per_minute).limit_denominator(100)
    worth = each.priority - boost * Fraction(now - each.created_at, MINUTE)
    if each.deadline is not None:
        worth -= Fraction(40 * 2.0 ** -(max(each.deadline - now, 0) / (30 * MINUTE)))
    return worth


async def order_of_claims(yard: Yard, count: int) -> list[str]:
    """Everything there is, in the order it is handed out; then it is given back."""
    held = await yard.claim("worker", count=count + 1)
    assert len(held) == count
    await asyncio.gather(*(yard.release(each.id, each.lease) for each in held))
    return [each.id for each in held]


async def rows(yard: Yard, *task_ids: str) -> dict[TaskId, Hot]:
    return await yard.store.load([TaskId(each) for each in task_ids])


async def test_the_lower_priority_goes_first_and_of_equals_the_first_that_came(yard: Yard):
    await given_an_agent(yard)
    ids = [(await yard.enqueue("code", priority=priority)).id for priority in (50, 0, 100, 50, 49)]

    assert await order_of_claims(yard, 5) == [ids[1], ids[4], ids[0], ids[3], ids[2]]


@pytest.mark.parametrize("type_of_the_fresh", ["code", "review"])
async def test_a_background_task_overtakes_a_fresh_one_after_four_hours(
    yard: Yard, clock: ManualClock, type_of_the_fresh: str
):
    """90 less 0.1 a minute comes to 65 at minute 250, whether the two are alike to a claimer or not."""
    await given_an_agent(yard)
    background = await yard.enqueue("code", priority=90)

    minutes(clock, 240)
    fresh = await yard.enqueue(type_of_the_fresh, priority=65)
    assert await order_of_claims(yard, 2) == [fresh.id, background.id]
    await yard.cancel(fresh.id)

    minutes(clock, 20)
    fresh = await yard.enqueue(type_of_the_fresh, priority=65)
    assert await order_of_claims(yard, 2) == [background.id, fresh.id]


async def test_tasks_of_different_boosts_are_ordered_by_the_formula_all_day(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    tasks: list[Task] = []
    for born, boost in enumerate([0, 0.01, 0.05, 0.1, 0.1, 0.5, 0, 1, 0.02, 0.1]):
        tasks.append(
            await yard.enqueue("code", priority=(37 * born + 20) % 101, priority_boost_per_minute=boost),
        )
        minutes(clock, 7)

    orders: set[tuple[str, ...]] = set()
    for _ in range(0, DAY, 30):
        now = yard.now()
        claimed = await order_of_claims(yard, len(tasks))
        # Sorting keeps the order of equals, which is the order they came in.
        assert claimed == [each.id for each in sorted(tasks, key=lambda each: effective(each, now))]
        orders.add(tuple(claimed))
        minutes(clock, 30)

    assert len(orders) > 10  # or the day would have shown nothing


async def test_a_task_climbs_as_its_deadline_nears(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    urgent = await yard.enqueue("code", priority=80, priority_boost_per_minute=0, deadline=in_minutes(yard, 180))
    others = [await yard.enqueue("code", priority=each, priority_boost_per_minute=0) for each in (72, 62, 50, 41)]

    places: list[int] = []
    for _ in range(0, 181, 10):
        await yard.sweep()
        places.append((await order_of_claims(yard, 5)).index(urgent.id))
        minutes(clock, 10)

    assert places == sorted(places, reverse=True)
    assert (places[0], places[-1]) == (4, 0)
    assert set(places) == {0, 1, 2, 3, 4}
    # An hour before its deadline it is worth 80 − 10, and half an hour before, 80 − 20.
    assert (places[11:13], places[14:16]) == ([4, 3], [3, 2])
    assert await order_of_claims(yard, 5) == [urgent.id, *(each.id for each in reversed(others))]


async def test_deadline_tasks_are_ordered_by_the_formula_up_to_one_step_of_rescoring(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    tasks = [
        await yard.enqueue("code", priority=priority, priority_boost_per_minute=boost, deadline=in_minutes(yard, after))
        for priority, boost, after in [(70, 0, 60), (60, 0.1, 600), (90, 0.05, 300), (55, 0, 900), (40, 0.01, 1300)]
    ]
    tasks += [await yard.enqueue("code", priority=priority) for priority in (30, 45, 60)]
    by_id: Mapping[str, Task] = {each.id: each for each in tasks}

    for _ in range(0, DAY, 30):
        await yard.sweep()
        now = yard.now()
        worth = [effective(by_id[each], now) for each in await order_of_claims(yard, len(tasks))]
        assert all(before <= after + Fraction(1, 2) for before, after in pairwise(worth))
        minutes(clock, 30)


async def test_a_task_that_much_hangs_below_goes_before_its_equals(yard: Yard):
    await given_an_agent(yard)
    lone = await yard.enqueue("code")
    short = await given_a_graph(yard, task("a"), task("b", "a"))
    chain = [task("0"), *(task(str(number), str(number - 1)) for number in range(1, 13))]
    long = await given_a_graph(yard, *chain)
    nearly = await yard.enqueue("code", priority=41)
    first = await yard.enqueue("code", priority=39)

    # Twelve levels hang below the long chain's first task, of which ten count: it is worth 40.
    assert await order_of_claims(yard, 5) == [
        first.id,
        long.tasks["0"].id,
        nearly.id,
        short.tasks["a"].id,
        lone.id,
    ]


# What is stored


async def test_time_alone_rewrites_no_rank(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    plain = await yard.enqueue("code", priority=90)
    far = await yard.enqueue("code", deadline=NEVER)
    dag = await given_a_graph(yard, task("a"), task("b", "a"))
    ids = [plain.id, far.id, *(each.id for each in dag.tasks.values())]
    before = await rows(yard, *ids)

    for _ in range(0, DAY, 120):
        minutes(clock, 120)
        assert (await yard.sweep()).rescored == 0
        await order_of_claims(yard, 3)

    assert {each: hot.rank for each, hot in (await rows(yard, *ids)).items()} == {
        each: hot.rank for each, hot in before.items()
    }


async def test_a_nearing_deadline_rewrites_that_tasks_rank_and_no_other_column(yard: Yard, clock: ManualClock):
    near = await yard.enqueue("code", deadline=in_minutes(yard, 240))
    plain = await yard.enqueue("code")
    before = await rows(yard, near.id, plain.id)

    minutes(clock, 30)
    assert (await yard.sweep()).rescored == 0  # its boost has not grown by half a point yet
    minutes(clock, 90)
    assert (await yard.sweep()).rescored == 1
    assert (await yard.sweep()).rescored == 0

    after = await rows(yard, near.id, plain.id)
    assert after[plain.id] == before[plain.id]
    assert after[near.id].rank < before[near.id].rank
    moved = after[near.id]._replace(rank=before[near.id].rank, rescore_at=before[near.id].rescore_at)
    assert moved == before[near.id]


async def test_a_deadline_that_is_past_moves_nothing_any_more(yard: Yard, clock: ManualClock):
    near = await yard.enqueue("code", deadline=in_minutes(yard, 10))
    await elapse(yard, clock, 660)
    full = await rows(yard, near.id)

    await pass_unswept(yard, clock, 3600)

    assert await rows(yard, near.id) == full
    assert full[near.id].rescore_at is None


async def test_a_graph_that_grows_rescores_its_own_waiting_tasks_only(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("done", priority=0), task("top"), task("middle", "top"))
    done = await claim_that(yard, dag.tasks["done"].id, start=True)
    await yard.complete(done.id, done.lease)
    other = await given_a_graph(yard, task("top"), task("middle", "top"))
    lone = await yard.enqueue("code")
    still = [done.id, lone.id, *(each.id for each in other.tasks.values())]
    grown = [dag.tasks[name].id for name in ("top", "middle")]
    before = await rows(yard, *still, *grown)

    await yard.dags.add(dag.id, [task("below", dag.tasks["middle"].id), task("lowest", "below")])

    after = await rows(yard, *still, *grown)
    assert [after[TaskId(each)] for each in still] == [before[TaskId(each)] for each in still]
    assert [after[TaskId(each)].height for each in grown] == [3, 2]
    assert all(after[TaskId(each)].rank == before[TaskId(each)].rank - 2_000_000 for each in grown)
    assert (await work_off(yard))[0] == dag.tasks["top"].id
