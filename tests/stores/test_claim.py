"""Choosing and taking in one step: the best tasks of the plan's lanes that every ceiling allows."""

from taskyard.core import transitions
from taskyard.core.changes import Lift, Rescore
from taskyard.core.lease import numbered
from taskyard.core.priority import RANK_UNIT, aged
from taskyard.core.task import LaneId, RuntimeId, Status
from taskyard.core.units import MINUTE, SECOND, Micros, MicroUsd
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Claimed, Stale, Store
from tests.stores.given import (
    ADA,
    BOB,
    ELSEWHERE,
    HERE,
    a_lane,
    an_id,
    at_once,
    cancelling,
    committed,
    every_event,
    given_a_completed_task,
    given_a_pending_task,
    given_a_record,
    given_a_retrying_task,
    given_a_running_task,
    given_a_task,
    given_tasks,
    history,
    ids,
    lane_of,
    reviving,
    row_of,
    step,
)
from tests.stores.plans import a_plan, planned, take


async def test_a_claim_leaves_the_row_as_the_core_would(store: Store, clock: ManualClock):
    task = await given_a_task(store, run_sec=600)
    clock.advance(seconds=3)
    plan = await a_plan(store, runtime=RuntimeId("laptop"))

    claimed = await take(store, plan)

    change = transitions.claim(
        task,
        agent=ADA,
        runtime=RuntimeId("laptop"),
        lease=plan.leases[0],
        circuit=0,
        reserved=MicroUsd(0),
        start=True,
        now=plan.now,
        agent_type=plan.agent_type,
    )
    definitions = await store.definitions([task.id])
    assert claimed == Claimed((change.after,), parked=0, definitions=(definitions[task.id],), took_all=False)
    assert await row_of(store, task.id) == change.after
    assert (await every_event(store))[-1].event == change.event


async def test_a_claim_without_a_start_has_its_own_deadline(store: Store):
    await given_a_task(store, claim_ttl=60)

    [claimed] = (await take(store, await a_plan(store, start=False))).tasks

    assert (claimed.status, claimed.started_at) == (Status.CLAIMED, None)
    assert claimed.lease_expires_at == store.now() + 60 * SECOND


async def test_a_task_without_claim_time_is_running_at_once(store: Store):
    await given_a_task(store, claim_ttl=0)

    [claimed] = (await take(store, await a_plan(store, start=False))).tasks

    assert (claimed.status, claimed.started_at) == (Status.RUNNING, store.now())


async def test_nothing_to_do_is_no_error(store: Store):
    assert await take(store, await a_plan(store, tasks=5)) == Claimed((), 0, took_all=True)


async def test_a_plan_without_lanes_takes_nothing(store: Store):
    task = await given_a_task(store)
    plan = await a_plan(store, await lane_of(store, a_lane(type="another")))

    assert await take(store, plan) == Claimed((), 0, took_all=True)
    assert await row_of(store, task.id) == task


async def test_the_lowest_rank_goes_first_and_of_equals_the_eldest(store: Store):
    ranks = [5, -(2**53 - 1), 5, 2**53 - 1, 0, 5]
    tasks = [await given_a_task(store, rank=rank) for rank in ranks]

    claimed = await take(store, await a_plan(store, tasks=10))

    assert ids(claimed.tasks) == [tasks[index].id for index in (1, 4, 0, 2, 5, 3)]


async def test_the_order_of_ids_means_nothing(store: Store):
    late_name = await given_a_task(store, id=an_id("z"))
    early_name = await given_a_task(store, id=an_id("a"))

    assert ids((await take(store, await a_plan(store, tasks=2))).tasks) == [late_name.id, early_name.id]


async def test_the_nth_task_has_the_nth_lease(store: Store):
    await given_tasks(store, 3)
    plan = await a_plan(store, tasks=5)

    claimed = await take(store, plan)

    assert [task.lease for task in claimed.tasks] == [numbered(stem, 1) for stem in plan.leases[:3]]


async def test_no_more_is_taken_than_there_are_leases(store: Store):
    tasks = await given_tasks(store, 5)

    claimed = await take(store, await a_plan(store, tasks=2))

    assert ids(claimed.tasks) == ids(tasks[:2])
    assert [await row_of(store, task.id) for task in tasks[2:]] == tasks[2:]


async def test_lanes_are_merged_by_what_their_tasks_are_worth_now(store: Store, clock: ManualClock):
    steady, ageing = [await lane_of(store, a_lane(type=f"t{boost}", boost=boost)) for boost in (0, 100)]
    born = aged(100, store.now())
    first = await given_a_task(store, lane=steady, rank=50 * RANK_UNIT)
    second = await given_a_task(store, lane=ageing, rank=60 * RANK_UNIT + born)
    lanes = planned(steady), planned(ageing, boost=100)

    at_first = await take(store, await a_plan(store, *lanes))
    clock.advance(seconds=11 * 60)
    third = await given_a_task(store, lane=steady, rank=50 * RANK_UNIT)
    later = await take(store, await a_plan(store, *lanes, tasks=2))

    assert store.now() - first.created_at == 11 * MINUTE
    assert ids(at_first.tasks) == [first.id]
    assert ids(later.tasks) == [second.id, third.id]


async def test_only_the_lanes_of_the_plan_are_taken_from(store: Store):
    mine, others = [await lane_of(store, a_lane(type=type)) for type in ("code", "review")]
    wanted, left = await given_a_task(store, lane=mine), await given_a_task(store, lane=others, rank=-1)

    claimed = await take(store, await a_plan(store, mine, tasks=5))

    assert ids(claimed.tasks) == [wanted.id]
    assert await row_of(store, left.id) == left


async def test_only_what_is_ready_is_taken(store: Store):
    busy = [
        await given_a_pending_task(store, "signal:go"),
        await given_a_running_task(store),
        await given_a_completed_task(store),
        await given_a_retrying_task(store, until=Micros(store.now() + SECOND)),
        await step(store, cancelling(store, await given_a_task(store))),
    ]

    assert await take(store, await a_plan(store, tasks=10)) == Claimed((), 0, took_all=True)
    assert await store.load(ids(busy)) == {task.id: task for task in busy}


async def test_what_has_expired_is_not_handed_out_though_no_sweep_has_come_by(store: Store, clock: ManualClock):
    expired = await given_a_task(store, expires_at=Micros(store.now() + SECOND))
    fresh = await given_a_task(store, expires_at=Micros(store.now() + 2 * SECOND))
    clock.advance(seconds=1)

    claimed = await take(store, await a_plan(store, tasks=5))

    assert (ids(claimed.tasks), claimed.parked) == ([fresh.id], 0)
    assert await row_of(store, expired.id) == expired


async def test_what_becomes_ready_by_any_way_can_be_claimed(store: Store):
    released = await given_a_running_task(store)
    await step(store, transitions.release(released, now=store.now()))
    promoted = await given_a_retrying_task(store, until=Micros(store.now() + SECOND))
    await step(store, transitions.promote(promoted, now=store.now()))
    lifted = await given_a_pending_task(store, "signal:go")
    await committed(store, lifts=(Lift("signal:go"),))
    buried = await given_a_running_task(store)
    dead = await step(store, transitions.bury(buried, reason="", error="", counted=True, poison=False, now=store.now()))
    await step(store, reviving(store, dead))

    claimed = await take(store, await a_plan(store, tasks=10))

    assert ids(claimed.tasks) == [released.id, promoted.id, lifted.id, dead.id]
    assert [task.attempt for task in claimed.tasks] == [2, 2, 1, 2]


async def test_a_rescored_task_has_its_new_place(store: Store):
    first, second = await given_tasks(store, 2, rank=10)

    await committed(store, rescores=(Rescore(second.id, 9, 0, None),))

    assert ids((await take(store, await a_plan(store, tasks=2))).tasks) == [second.id, first.id]


async def test_a_task_that_changed_its_lane_is_found_in_the_new_one_only(store: Store):
    running = await given_a_running_task(store)
    fallback = await lane_of(store, a_lane(model="fallback"))
    retry = transitions.retry(
        running, reason="", error="", counted=True, wake_at=store.now(), now=store.now(), lane=fallback
    )
    await step(store, retry)

    assert await take(store, await a_plan(store, running.lane)) == Claimed((), 0, took_all=True)
    assert ids((await take(store, await a_plan(store, fallback))).tasks) == [running.id]


async def test_a_task_that_started_lets_go_of_a_key_for_waiting(store: Store):
    await given_a_task(store, idempotency_key="k", traits=8)

    [claimed] = (await take(store, await a_plan(store))).tasks

    assert claimed.idempotency_key is None
    assert await store.by_key(HERE, ["k"]) == {}


async def test_what_is_claimed_is_not_claimed_again(store: Store):
    task = await given_a_task(store)
    plan = await a_plan(store, tasks=1)

    assert ids((await take(store, plan)).tasks) == [task.id]
    assert await take(store, plan) == Claimed((), 0, took_all=True)
    assert await history(store, task.id) == ["task.created", "task.running"]


async def test_many_who_claim_at_once_share_the_tasks_out(store: Store, other: Store):
    tasks = await given_tasks(store, 40)
    plans = [await a_plan(store, tasks=7, agent=agent) for agent in (ADA, BOB) * 5]

    answers = await at_once(*(take((store, other)[n % 2], plan) for n, plan in enumerate(plans)))
    # A claim may pass over tasks that another has locked and then does not take: these are there for the next one.
    answers.append(await take(store, await a_plan(store, tasks=40)))

    taken = [task for claimed in answers for task in claimed.tasks]
    assert sorted(ids(taken)) == sorted(ids(tasks))
    assert len({task.lease for task in taken}) == 40
    rows = await store.load(ids(tasks))
    assert {task.id: task for task in taken} == rows
    assert sum(stored.event.event == "task.running" for stored in await every_event(store)) == 40


async def test_two_who_claim_at_once_stay_under_one_agents_slots(store: Store, other: Store):
    await given_tasks(store, 20)
    plans = [await a_plan(store, tasks=3, slots=5) for _ in range(6)]

    answers = await at_once(*(take((store, other)[n % 2], plan) for n, plan in enumerate(plans)))

    assert sum(len(claimed.tasks) for claimed in answers) == 5
    limits = await store.limits(HERE, ["slots:ada"])
    assert limits["slots:ada"].held == 5


async def test_a_plan_made_before_a_new_lane_is_stale_and_takes_nothing(store: Store):
    task = await given_a_task(store)
    plan = await a_plan(store)
    await lane_of(store, a_lane(type="new"))

    assert await store.claim(plan) == Stale((await store.config(HERE, LaneId(0))).epoch)
    assert await row_of(store, task.id) == task

    assert ids((await take(store, await a_plan(store))).tasks) == [task.id]


async def test_a_known_lane_keeps_its_id_and_makes_no_plan_stale(store: Store, other: Store):
    lane_id = await lane_of(store)
    plan = await a_plan(store)

    assert await store.lanes([a_lane(), a_lane()]) == [lane_id, lane_id]
    assert await other.lanes([a_lane()]) == [lane_id]
    assert await take(store, plan) == Claimed((), 0, took_all=True)


async def test_lanes_that_differ_in_anything_are_different(store: Store):
    plain = a_lane()
    lanes = [
        plain,
        plain._replace(workspace=ELSEWHERE),
        plain._replace(queue="other"),
        plain._replace(type="review"),
        plain._replace(agent="ada"),
        plain._replace(agent=""),
        plain._replace(capabilities=("a",)),
        plain._replace(capabilities=("a", "b")),
        plain._replace(capabilities=("a,b",)),
        plain._replace(boost=1),
        plain._replace(cost_class=1),
        plain._replace(model="m"),
        plain._replace(model=""),
    ]

    lane_ids = await store.lanes(lanes)

    assert len(set(lane_ids)) == len(lanes)
    assert min(lane_ids) > 0
    assert await store.lanes(list(reversed(lanes))) == list(reversed(lane_ids))
    known = (await store.config(HERE, LaneId(0))).lanes
    assert {lane_id: lane for lane_id, lane in known.items() if lane.workspace == HERE} == {
        lane_id: lane for lane_id, lane in zip(lane_ids, lanes, strict=True) if lane.workspace == HERE
    }


async def test_two_processes_that_meet_a_new_lane_give_it_one_id(store: Store, other: Store):
    lane = a_lane(type="new")

    answers = await at_once(*(each.lanes([lane]) for each in (store, other) * 5))

    assert len({lane_id for [lane_id] in answers}) == 1


async def test_configuration_is_read_with_its_epoch_and_only_the_lanes_not_known_yet(store: Store):
    [old, new] = await store.lanes([a_lane(type="old"), a_lane(type="new")])
    await given_a_record(store, "queue", "default", {"paused": True})
    await given_a_record(store, "agent", "ada", {}, workspace=ELSEWHERE)
    await given_a_record(store, "note", "n", {})

    config = await store.config(HERE, min(old, new))

    assert [(record.kind, record.id, record.body) for record in config.records] == [
        ("queue", "default", {"paused": True})
    ]
    assert max(old, new) in config.lanes
    assert min(old, new) not in config.lanes


async def test_another_process_sees_that_the_plan_is_stale(store: Store, other: Store):
    await given_a_task(store)
    plan = await a_plan(other)
    await given_a_record(store, "breaker", "code", {"open": True})

    assert isinstance(await other.claim(plan), Stale)


async def test_a_plan_that_was_made_long_ago_is_stale_and_takes_nothing(store: Store, clock: ManualClock):
    task = await given_a_task(store)
    plan = await a_plan(store)
    clock.advance(seconds=6)

    assert isinstance(await store.claim(plan), Stale)

    assert (await row_of(store, task.id)).status is Status.READY
    assert len((await take(store, await a_plan(store))).tasks) == 1
