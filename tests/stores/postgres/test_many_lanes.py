"""A claim from many lanes: it takes what the core would, and reads few rows of each lane."""

from collections.abc import Awaitable, Callable
from itertools import cycle
from random import Random

import pytest

from taskyard.core import claiming
from taskyard.core.changes import Limit
from taskyard.core.claiming import ClaimPlan, PlannedLane
from taskyard.core.priority import RANK_UNIT, aged
from taskyard.core.task import Hot, LaneId, TaskId
from taskyard.core.units import MicroUsd
from taskyard.stores.postgres import PostgresStore
from tests.stores.given import a_lane, a_new_task, committed, lane_of
from tests.stores.plans import a_plan, planned, take
from tests.stores.postgres.conftest import Gate

LANES = 60
BOOSTS = (0, 10)
MONEY, DEAR = 10, MicroUsd(100)
SIZES = {
    "even": [10] * LANES,
    "a few have all": [40] * 12 + [0] * (LANES - 12),
    "one has most": [200, *([2] * (LANES - 1))],
    "one has all": [60, *([0] * (LANES - 1))],
    "one each": [1] * LANES,
}


async def given_lanes(
    store: PostgresStore, sizes: list[int], dice: Random, *, dear: float = 0, apart: int = 0
) -> tuple[list[PlannedLane], list[Hot]]:
    """Lanes with so many tasks, each lane a little worse than the one before. Ranks are drawn, and some are alike."""
    lanes: list[PlannedLane] = []
    for number in range(len(sizes)):
        lane_id = await lane_of(store, a_lane(type=f"type {number}"))
        lanes.append(planned(lane_id, boost=BOOSTS[number % len(BOOSTS)]))
    tasks = [
        await a_new_task(
            store,
            lane=lane.id,
            rank=aged(lane.boost, store.now()) + (dice.randrange(50) + apart * number) * RANK_UNIT,
            reserve=DEAR if dice.random() < dear else MicroUsd(0),
        )
        for number, lane in enumerate(lanes)
        for _ in range(sizes[number])
    ]
    await committed(store, tasks=tuple(tasks))
    return lanes, list((await store.load([task.hot.id for task in tasks])).values())


def chosen_by_the_core(plan: ClaimPlan, waiting: list[Hot]) -> list[TaskId]:
    by_lane: dict[LaneId, list[Hot]] = {lane.id: [] for lane in plan.lanes}
    for hot in sorted(waiting, key=lambda hot: (hot.rank, hot.seq)):
        by_lane[hot.lane].append(hot)
    rows = {lane: iter(tasks) for lane, tasks in by_lane.items()}
    choice = claiming.choose(plan, rows, lambda name: Limit(plan.workspace, name, None, 0, 0))
    return [change.before.id for change in choice.taken]


@pytest.mark.parametrize("money", [None, MONEY], ids=["fast path", "what is dear is left"])
@pytest.mark.parametrize("shape", SIZES)
async def test_claims_from_many_lanes_take_what_the_core_would(store: PostgresStore, shape: str, money: int | None):
    dice = Random(shape)
    lanes, waiting = await given_lanes(store, SIZES[shape], dice, dear=0.8 if money else 0, apart=20)
    for number in cycle((3, 1, 10, 50, 3, 130)):
        plan = await a_plan(store, *lanes, tasks=number, agent_money=money)
        expected = chosen_by_the_core(plan, waiting)

        claimed = await take(store, plan)

        assert [hot.id for hot in claimed.tasks] == expected
        if not expected:
            break
        waiting = [hot for hot in waiting if hot.id not in expected]


SCANS = "select sum(idx_scan)::bigint from pg_stat_user_indexes where schemaname = $1 and indexrelname = 'ready_pkey'"


async def test_a_claim_reads_on_only_in_lanes_that_have_some_of_the_best(
    connect: Callable[[], Awaitable[PostgresStore]], gate: Gate
):
    store = await connect()
    lanes, _ = await given_lanes(store, [20] * LANES, Random(1))
    before, scans = await gate.read_of_ready(), await gate.ask(SCANS, gate.schema)
    assert len((await take(store, await a_plan(store, *lanes, tasks=10))).tasks) == 10
    await store.close()  # what a session has read is counted at its end

    read = await gate.read_of_ready() - before
    assert read <= 3 * LANES  # one of each, those behind the ten best of these, and what is taken again to be deleted
    assert await gate.ask(SCANS, gate.schema) - scans <= LANES + 4 * 10
