"""One rule for all ceilings: held + spent + amount ≤ ceiling. What met one is let go when there is room again."""

import pytest

from taskyard.core import transitions
from taskyard.core.changes import Blocker, Ceiling, Committed, Conflict, Limit, Spend
from taskyard.core.claiming import PARKED_PER_CLAIM
from taskyard.core.identifiers import blocker_for
from taskyard.core.task import Status
from taskyard.core.units import MicroUsd
from taskyard.stores.contract import Claimed, Store
from tests.stores.given import (
    BOB,
    ELSEWHERE,
    HERE,
    a_dag_id,
    a_lane,
    a_set,
    at_once,
    cancelling,
    commit,
    committed,
    completing,
    every_event,
    given_a_ceiling,
    given_a_parked_task,
    given_a_pending_task,
    given_a_record,
    given_a_running_task,
    given_a_task,
    given_tasks,
    history,
    ids,
    lane_of,
    row_of,
    signalling,
    step,
    today,
)
from tests.stores.plans import a_plan, planned, take


async def limit_of(store: Store, name: str, workspace: str = HERE) -> Limit | None:
    return (await store.limits(workspace, [name])).get(name)


def parked_by(limit_name: str) -> str:
    """The blocker of what waits for room under this ceiling."""
    blocker = blocker_for(limit_name)
    assert blocker is not None
    return blocker


async def test_spends_add_up(store: Store):
    await committed(store, spends=(Spend(HERE, "agent:ada", 70), Spend(HERE, "agent:ada", 30, 5)))
    await committed(store, spends=(Spend(HERE, "agent:ada", -60, 40), Spend(ELSEWHERE, "agent:ada", 1)))

    assert await limit_of(store, "agent:ada") == Limit(HERE, "agent:ada", None, 40, 45)
    assert await limit_of(store, "agent:ada", ELSEWHERE) == Limit(ELSEWHERE, "agent:ada", None, 1, 0)


async def test_a_limit_without_ceiling_and_use_is_gone(store: Store):
    await committed(store, spends=(Spend(HERE, "key:k", 1), Spend(HERE, "dag:d", 5, 5)))
    await committed(store, spends=(Spend(HERE, "key:k", -1), Spend(HERE, "dag:d", -5)))

    assert await store.limits(HERE, ["key:k", "dag:d"]) == {"dag:d": Limit(HERE, "dag:d", None, 0, 5)}


async def test_a_ceiling_can_be_set_moved_and_lifted(store: Store):
    await given_a_ceiling(store, "dag:d", 2**53 - 1)
    assert await limit_of(store, "dag:d") == Limit(HERE, "dag:d", 2**53 - 1, 0, 0)
    await committed(store, spends=(Spend(HERE, "dag:d", 3),))

    await given_a_ceiling(store, "dag:d", 0)
    assert await limit_of(store, "dag:d") == Limit(HERE, "dag:d", 0, 3, 0)

    await given_a_ceiling(store, "dag:d", None)
    assert await limit_of(store, "dag:d") == Limit(HERE, "dag:d", None, 3, 0)
    await committed(store, spends=(Spend(HERE, "dag:d", -3),))
    assert await limit_of(store, "dag:d") is None


async def test_spends_of_one_batch_never_conflict(store: Store):
    sets = [a_set(store, spends=(Spend(HERE, "agent:ada", 1, 2),)) for _ in range(20)]

    results = await store.commit(sets)

    assert all(isinstance(result, Committed) for result in results)
    assert await limit_of(store, "agent:ada") == Limit(HERE, "agent:ada", None, 20, 40)


async def test_spends_of_many_processes_are_all_counted(store: Store, other: Store):
    await at_once(*(committed(each, spends=(Spend(HERE, "agent:ada", 1),)) for each in (store, other) * 20))

    assert await limit_of(store, "agent:ada") == Limit(HERE, "agent:ada", None, 40, 0)


async def test_what_a_refused_set_would_have_given_back_stays_held(store: Store):
    running = await given_a_running_task(store, key="k")
    await committed(store, spends=(Spend(HERE, "key:k", 1),))
    parked = await given_a_parked_task(store, "key:k", key="k")
    finishing = a_set(store, changes=(completing(store, running),), spends=(Spend(HERE, "key:k", -1),))

    [landed] = await store.commit([finishing])
    next_one = await row_of(store, parked.id)
    await committed(store, spends=(Spend(HERE, "key:k", 1),))
    [replayed] = await store.commit([finishing])

    assert (type(landed), type(replayed)) == (Committed, Conflict)
    assert await limit_of(store, "key:k") == Limit(HERE, "key:k", None, 1, 0)
    assert await row_of(store, parked.id) == next_one


async def test_an_agent_takes_no_more_than_its_slots(store: Store):
    tasks = await given_tasks(store, 5)

    first = await take(store, await a_plan(store, tasks=10, slots=3))
    second = await take(store, await a_plan(store, tasks=10, slots=3))
    by_bob = await take(store, await a_plan(store, tasks=10, slots=1, agent=BOB))

    assert ids(first.tasks) == ids(tasks[:3])
    assert second == Claimed((), 0, took_all=False)
    assert ids(by_bob.tasks) == [tasks[3].id]
    assert await limit_of(store, "slots:ada") == Limit(HERE, "slots:ada", None, 3, 0)
    assert await row_of(store, tasks[4].id) == tasks[4]


async def test_of_two_tasks_of_one_key_in_one_claim_one_is_taken_and_one_parked(store: Store):
    first, second = await given_tasks(store, 2, key="k")
    free = await given_a_task(store)
    plan = await a_plan(store, tasks=5)

    claimed = await take(store, plan)

    parking = transitions.park(second, blocker="key:k", now=plan.now)
    assert ids(claimed.tasks) == [first.id, free.id]
    assert claimed.parked == 1
    assert await row_of(store, second.id) == parking.after
    assert await store.blockers([second.id]) == [Blocker(second.id, parking.after.wait, "key:k")]
    assert parking.event in [stored.event for stored in await every_event(store)]
    assert await limit_of(store, "key:k") == Limit(HERE, "key:k", None, 1, 0)


async def test_a_held_key_holds_across_claims_and_agents_but_not_across_workspaces(store: Store):
    await given_tasks(store, 2, key="k")
    there = await given_a_task(store, key="k", workspace=ELSEWHERE)
    await take(store, await a_plan(store))

    by_bob = await take(store, await a_plan(store, agent=BOB))
    elsewhere = await take(store, await a_plan(store, workspace=ELSEWHERE))

    assert by_bob == Claimed((), parked=1, took_all=True)
    assert ids(elsewhere.tasks) == [there.id]


async def test_of_many_who_claim_tasks_of_one_key_at_once_one_gets_one(store: Store, other: Store):
    tasks = await given_tasks(store, 12, key="k")
    plans = [await a_plan(store, tasks=3) for _ in range(6)]

    answers = await at_once(*(take((store, other)[n % 2], plan) for n, plan in enumerate(plans)))

    assert sum(len(claimed.tasks) for claimed in answers) == 1
    assert sum(claimed.parked for claimed in answers) == 11
    assert len(await store.blockers(ids(tasks))) == 11


async def test_a_claim_stops_once_it_has_set_enough_aside_and_the_next_goes_on(store: Store):
    tasks = await given_tasks(store, PARKED_PER_CLAIM + 3, key="k")
    free = await given_a_task(store)

    claimed = await take(store, await a_plan(store, tasks=2))

    assert (ids(claimed.tasks), claimed.parked) == ([tasks[0].id], PARKED_PER_CLAIM)
    left = [*tasks[PARKED_PER_CLAIM + 1 :], free]
    assert [await row_of(store, task.id) for task in left] == left
    again = await take(store, await a_plan(store, tasks=2))
    assert (ids(again.tasks), again.parked) == ([free.id], 2)


async def test_freeing_a_key_lets_the_best_of_each_lane_go(store: Store):
    lanes = [await lane_of(store, a_lane(type=type)) for type in ("code", "review")]
    await committed(store, spends=(Spend(HERE, "key:k", 1),))
    worse = [await given_a_parked_task(store, "key:k", key="k", lane=lane, rank=9) for lane in lanes]
    best = [await given_a_parked_task(store, "key:k", key="k", lane=lane, rank=8) for lane in lanes]
    other_key = await given_a_parked_task(store, "key:kk", key="kk", rank=1)
    elsewhere = await given_a_parked_task(store, "key:k", key="k", rank=1, workspace=ELSEWHERE)

    result = await committed(store, spends=(Spend(HERE, "key:k", -1),))

    assert sorted(result.readied) == sorted(ids(best))
    for task in best:
        assert await row_of(store, task.id) == transitions.ready(task, now=store.now()).after
        assert await history(store, task.id) == ["task.created", "task.parked", "task.ready"]
    for task in [*worse, other_key, elsewhere]:
        assert await row_of(store, task.id) == task
    blocked = await store.blockers(ids([*worse, *best, other_key, elsewhere]))
    assert sorted(blocker.task_id for blocker in blocked) == sorted(ids([*worse, other_key, elsewhere]))


async def test_a_key_that_is_handed_on_is_held_by_one_after_another(store: Store):
    tasks = await given_tasks(store, 4, key="k")

    for number, task in enumerate(tasks):
        claimed = await take(store, await a_plan(store, tasks=4))
        assert ids(claimed.tasks) == [task.id]
        assert claimed.parked == (3 if number == 0 else 0)
        [running] = claimed.tasks
        spends = Spend(HERE, "key:k", -1), Spend(HERE, "slots:ada", -1)
        await committed(store, changes=(completing(store, running),), spends=spends)

    assert await store.limits(HERE, ["key:k", "slots:ada"]) == {}
    assert await store.blockers(ids(tasks)) == []


async def test_room_that_did_not_come_back_lets_nothing_go(store: Store):
    await committed(store, spends=(Spend(HERE, "key:k", 2),))
    parked = await given_a_parked_task(store, "key:k", key="k")

    result = await committed(store, spends=(Spend(HERE, "key:k", -1),))

    assert result == Committed({}, ())
    assert await row_of(store, parked.id) == parked


async def test_what_waited_for_a_key_in_an_earlier_wait_does_not_stand_in_the_way(store: Store):
    await committed(store, spends=(Spend(HERE, "key:k", 1),))
    elsewhere = await given_a_pending_task(store, "signal:go", key="k", wait=2, rank=1)
    await committed(store, blockers=(Blocker(elsewhere.id, 1, "key:k"),))
    waiting = await given_a_parked_task(store, "key:k", key="k", rank=2)

    result = await committed(store, spends=(Spend(HERE, "key:k", -1),))

    assert result.readied == (waiting.id,)
    assert await row_of(store, elsewhere.id) == elsewhere


async def test_what_a_set_parks_on_a_key_that_it_frees_is_let_go_at_once(store: Store):
    await committed(store, spends=(Spend(HERE, "key:k", 1),))
    parking = transitions.park(await given_a_task(store, key="k"), blocker="key:k", now=store.now())
    blocker = Blocker(parking.after.id, parking.after.wait, "key:k")

    result = await committed(store, changes=(parking,), blockers=(blocker,), spends=(Spend(HERE, "key:k", -1),))

    assert result.readied == (blocker.task_id,)
    assert await row_of(store, blocker.task_id) == transitions.ready(parking.after, now=store.now()).after


async def test_what_was_cancelled_while_parked_is_not_let_go(store: Store):
    await committed(store, spends=(Spend(HERE, "key:k", 1),))
    gone = await given_a_parked_task(store, "key:k", key="k", rank=1)
    gone = await step(store, cancelling(store, gone))
    waiting = await given_a_parked_task(store, "key:k", key="k", rank=2)

    result = await committed(store, spends=(Spend(HERE, "key:k", -1),))

    assert result.readied == (waiting.id,)
    assert await row_of(store, gone.id) == gone


async def test_a_task_that_steps_back_leaves_its_room_to_the_next(store: Store):
    waiting = await given_a_parked_task(store, "key:k", key="k")
    up_for_it = await given_a_task(store, key="k")
    there = await given_a_parked_task(store, "key:k", key="k", workspace=ELSEWHERE)

    result = await committed(store, changes=(cancelling(store, up_for_it),), spends=(Spend(HERE, "key:k", 0),))

    assert result.readied == (waiting.id,)
    assert await row_of(store, there.id) == there
    assert await store.limits(HERE, None) == {}


async def test_a_claim_that_sets_a_task_aside_leaves_the_key_it_was_up_for_to_the_next(store: Store):
    dag_id = a_dag_id()
    await given_a_ceiling(store, f"dag:{dag_id}", 10)
    await committed(store, spends=(Spend(HERE, "key:k", 1),))
    dear = await given_a_parked_task(store, "key:k", key="k", dag_id=dag_id, reserve=MicroUsd(20), rank=1)
    waiting = await given_a_parked_task(store, "key:k", key="k", rank=2)
    await committed(store, spends=(Spend(HERE, "key:k", -1),))
    plan = await a_plan(store)

    assert await take(store, plan) == Claimed((), parked=1, took_all=True)

    assert [blocker.name for blocker in await store.blockers([dear.id, waiting.id])] == [parked_by(f"dag:{dag_id}")]
    assert await row_of(store, waiting.id) == transitions.ready(waiting, now=plan.now).after
    assert await history(store, waiting.id) == ["task.created", "task.parked", "task.ready"]
    assert ids((await take(store, await a_plan(store))).tasks) == [waiting.id]


async def test_a_task_that_is_signalled_while_parked_is_let_go_at_its_new_version(store: Store):
    await committed(store, spends=(Spend(HERE, "key:k", 1),))
    parked = await given_a_parked_task(store, "key:k", key="k")
    signal = signalling(store, parked)

    await committed(store, changes=(signal,), spends=(Spend(HERE, "key:k", -1),))

    assert await row_of(store, parked.id) == transitions.ready(signal.after, now=store.now()).after
    assert await history(store, parked.id) == ["task.created", "task.parked", "task.signalled", "task.ready"]


async def test_a_task_dearer_than_what_its_agent_has_left_is_left_for_others(store: Store):
    dear, cheap = await given_a_task(store, reserve=MicroUsd(80)), await given_a_task(store, reserve=MicroUsd(30))
    await committed(store, spends=(Spend(HERE, "agent:ada", 0, 30),))

    claimed = await take(store, await a_plan(store, tasks=5, agent_money=100))

    assert ids(claimed.tasks) == [cheap.id]
    assert claimed.parked == 0
    assert claimed.tasks[0].reserved == 30
    assert await row_of(store, dear.id) == dear
    assert await limit_of(store, "agent:ada") == Limit(HERE, "agent:ada", None, 30, 30)
    assert ids((await take(store, await a_plan(store, agent=BOB, agent_money=100))).tasks) == [dear.id]


async def test_a_lane_that_is_too_dear_for_the_agent_is_passed_over(store: Store):
    dear, cheap = [await lane_of(store, a_lane(type=type)) for type in ("dear", "cheap")]
    left = await given_a_task(store, lane=dear, reserve=MicroUsd(64), rank=1)
    taken = await given_a_task(store, lane=cheap, reserve=MicroUsd(10), rank=2)
    plan = await a_plan(store, planned(dear, floor=64), planned(cheap, floor=8), tasks=5, agent_money=63)

    assert ids((await take(store, plan)).tasks) == [taken.id]
    assert await row_of(store, left.id) == left


async def test_a_task_without_a_maximum_reserves_the_default_where_money_is_limited(store: Store):
    await given_a_task(store)
    await given_a_task(store)

    [unlimited] = (await take(store, await a_plan(store, default_reserve=7))).tasks
    [limited] = (await take(store, await a_plan(store, default_reserve=7, agent_money=10))).tasks

    assert (unlimited.reserved, limited.reserved) == (0, 7)
    assert await limit_of(store, "agent:ada") == Limit(HERE, "agent:ada", None, 7, 0)


async def test_a_dag_out_of_money_parks_its_tasks_and_not_those_of_others(store: Store):
    poor, rich = a_dag_id(), a_dag_id()
    await given_a_ceiling(store, f"dag:{poor}", 100)
    first, second = await given_tasks(store, 2, dag_id=poor, reserve=MicroUsd(60))
    third = await given_a_task(store, dag_id=poor, reserve=MicroUsd(40))
    unlimited = await given_a_task(store, dag_id=rich, reserve=MicroUsd(1000))

    claimed = await take(store, await a_plan(store, tasks=5))

    assert ids(claimed.tasks) == [first.id, third.id, unlimited.id]
    assert [task.reserved for task in claimed.tasks] == [60, 40, 0]
    assert await store.blockers([second.id]) == [Blocker(second.id, 1, parked_by(f"dag:{poor}"))]
    assert await limit_of(store, f"dag:{poor}") == Limit(HERE, f"dag:{poor}", 100, 100, 0)
    assert await limit_of(store, f"dag:{rich}") is None


async def test_a_day_out_of_money_parks_what_it_meets(store: Store):
    affordable = await given_a_task(store, reserve=MicroUsd(60))
    dear = await given_a_task(store, reserve=MicroUsd(60))

    claimed = await take(store, await a_plan(store, tasks=5, day_money=100))

    assert ids(claimed.tasks) == [affordable.id]
    assert await store.blockers([dear.id]) == [Blocker(dear.id, 1, parked_by(today(store)))]
    assert await limit_of(store, today(store)) == Limit(HERE, today(store), None, 60, 0)


async def test_money_that_comes_back_lets_go_what_it_pays_for(store: Store):
    dag_id = a_dag_id()
    name = f"dag:{dag_id}"
    await committed(store, ceilings=(Ceiling(HERE, name, 100),), spends=(Spend(HERE, name, 100),))
    prices = [50, 30, 25, 10]
    parked = [
        await given_a_parked_task(store, parked_by(name), dag_id=dag_id, reserve=MicroUsd(price)) for price in prices
    ]

    result = await committed(store, spends=(Spend(HERE, name, -100, 35),))

    assert list(result.readied) == [parked[0].id, parked[3].id]
    assert [(await row_of(store, task.id)).status for task in parked] == [
        Status.READY,
        Status.PENDING,
        Status.PENDING,
        Status.READY,
    ]


async def test_a_raised_ceiling_lets_go_and_a_lowered_one_does_not(store: Store):
    dag_id = a_dag_id()
    name = f"dag:{dag_id}"
    await committed(store, ceilings=(Ceiling(HERE, name, 10),), spends=(Spend(HERE, name, 0, 10),))
    parked = await given_a_parked_task(store, parked_by(name), dag_id=dag_id, reserve=MicroUsd(5))

    lowered = await committed(store, ceilings=(Ceiling(HERE, name, 9),))
    raised = await committed(store, ceilings=(Ceiling(HERE, name, 15),))

    assert (lowered.readied, raised.readied) == ((), (parked.id,))


async def test_a_lifted_ceiling_lets_all_go(store: Store):
    name = f"dag:{(dag_id := a_dag_id())}"
    await given_a_ceiling(store, name, 0)
    parked = [await given_a_parked_task(store, parked_by(name), dag_id=dag_id) for _ in range(3)]

    result = await committed(store, ceilings=(Ceiling(HERE, name, None),))

    assert sorted(result.readied) == sorted(ids(parked))
    assert await limit_of(store, name) is None


async def test_a_task_without_a_maximum_is_let_go_by_the_default_of_its_workspace(store: Store):
    name = f"dag:{(dag_id := a_dag_id())}"
    await given_a_record(store, "workspace", "another", {"default_reserve": 2})
    await given_a_record(store, "workspace", ELSEWHERE, {"default_reserve": 1}, workspace=ELSEWHERE)
    await given_a_record(store, "workspace", HERE, {"default_reserve": 40})
    await committed(store, ceilings=(Ceiling(HERE, name, 100),), spends=(Spend(HERE, name, 100),))
    parked = [await given_a_parked_task(store, parked_by(name), dag_id=dag_id) for _ in range(3)]

    result = await committed(store, spends=(Spend(HERE, name, -100),))

    assert list(result.readied) == ids(parked[:2])


async def test_money_of_a_day_that_comes_back_lets_go_in_its_workspace_only(store: Store):
    await committed(store, spends=(Spend(HERE, today(store), 60), Spend(ELSEWHERE, today(store), 60)))
    here = await given_a_parked_task(store, parked_by(today(store)))
    there = await given_a_parked_task(store, parked_by(today(store)), workspace=ELSEWHERE)

    result = await committed(store, spends=(Spend(HERE, today(store), -60, 20),))

    assert result.readied == (here.id,)
    assert await row_of(store, there.id) == there


async def test_a_half_open_breaker_lets_one_probe_through(store: Store):
    probed = planned(await lane_of(store), circuit=3, probe="probe:code:3")
    free = await lane_of(store, a_lane(type="review"))
    first, second = await given_tasks(store, 2)
    unguarded = await given_a_task(store, lane=free, rank=2**53 - 1)

    claimed = await take(store, await a_plan(store, probed, free, tasks=5))
    again = await take(store, await a_plan(store, probed, tasks=5))

    assert [(task.id, task.circuit) for task in claimed.tasks] == [(first.id, 3), (unguarded.id, 0)]
    assert again == Claimed((), 0, took_all=False)
    assert await row_of(store, second.id) == second
    await committed(store, spends=(Spend(HERE, "probe:code:3", -1),))
    assert ids((await take(store, await a_plan(store, probed))).tasks) == [second.id]


async def test_a_closed_breaker_marks_what_is_taken_with_its_generation(store: Store):
    await given_a_task(store)

    [claimed] = (await take(store, await a_plan(store, planned(await lane_of(store), circuit=4)))).tasks

    assert claimed.circuit == 4


async def test_a_claim_that_was_stale_holds_nothing(store: Store):
    await given_a_task(store, key="k")
    plan = await a_plan(store)
    await given_a_record(store, "queue", "default", {"paused": True})

    await store.claim(plan)

    assert await store.limits(HERE, ["key:k", "slots:ada"]) == {}


@pytest.mark.parametrize("name", ["key:50%", "key:a_b", "key:", "key:ünï", "key:k:k"])
async def test_the_name_of_a_key_may_be_anything(store: Store, name: str):
    key = name.removeprefix("key:")
    tasks = await given_tasks(store, 2, key=key)
    await given_a_parked_task(store, "key:500", key="500")
    [running] = (await take(store, await a_plan(store, tasks=5))).tasks

    result = await committed(store, changes=(completing(store, running),), spends=(Spend(HERE, name, -1),))

    assert running.id == tasks[0].id
    assert result.readied == (tasks[1].id,)


async def test_limits_that_are_not_asked_for_are_not_answered(store: Store):
    await committed(store, spends=(Spend(HERE, "slots:ada", 1), Spend(HERE, "slots:bob", 1)))

    assert list(await store.limits(HERE, ["slots:bob", "slots:eve"])) == ["slots:bob"]
    assert await store.limits(HERE, []) == {}
    assert sorted(await store.limits(HERE, None)) == ["slots:ada", "slots:bob"]
    assert await store.limits(ELSEWHERE, None) == {}


async def test_a_ceiling_in_a_refused_set_is_not_set(store: Store):
    moved = await given_a_task(store)
    await step(store, signalling(store, moved))

    result = await commit(store, changes=(cancelling(store, moved),), ceilings=(Ceiling(HERE, "dag:d", 1),))

    assert isinstance(result, Conflict)
    assert await limit_of(store, "dag:d") is None
