"""The bad interleavings, one by one: both sides are held at the row they meet at, then let go."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from taskyard.core import transitions
from taskyard.core.changes import (
    Blocker,
    ChangeSet,
    Committed,
    Conflict,
    Edge,
    Lift,
    RecordChange,
    Spend,
    Taken,
    expected,
)
from taskyard.core.task import Hot, Status
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Claimed, Extended
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.transaction import PostgresTransaction
from tests.stores.given import (
    BOB,
    HERE,
    a_beat,
    a_new_task,
    a_set,
    cancelling,
    committed,
    completing,
    expiring,
    given_a_parked_task,
    given_a_pending_task,
    given_a_running_task,
    given_a_task,
    given_tasks,
    history,
    ids,
    row_of,
    signalling,
    step,
)
from tests.stores.plans import a_plan
from tests.stores.postgres.conftest import Gate


async def in_turn(gate: Gate, *calls: Coroutine[Any, Any, Any]) -> list[Any]:
    """Start each once the one before stands at the gate; open it when all do."""
    started: list[asyncio.Task[Any]] = []
    for call in calls:
        started.append(asyncio.create_task(call))
        await gate.standing(len(started))
    await gate.open()
    return await asyncio.gather(*started)


def ending(store: PostgresStore, running: Hot) -> ChangeSet:
    return a_set(store, changes=(completing(store, running),), lifts=(Lift(f"task:{running.id}"),))


async def test_two_parents_that_end_at_once_free_their_child_once(
    store: PostgresStore, other: PostgresStore, gate: Gate
):
    parents = [await given_a_running_task(store) for _ in range(2)]
    child = await given_a_pending_task(store, *(f"task:{parent.id}" for parent in parents))
    await gate.shut_task(child)

    first, second = await in_turn(
        gate, store.commit([ending(store, parents[0])]), other.commit([ending(other, parents[1])])
    )

    assert [type(answer) for answer in (*first, *second)] == [Committed, Committed]
    assert (await row_of(store, child.id)).status is Status.READY
    assert await history(store, child.id) == ["task.created", "task.ready"]
    assert await store.blockers([child.id]) == []


@pytest.mark.parametrize("edge_first", [True, False])
async def test_an_edge_that_comes_while_its_parent_ends_blocks_nothing_for_ever(
    store: PostgresStore, other: PostgresStore, gate: Gate, edge_first: bool
):
    parent = await given_a_running_task(store)
    late = await a_new_task(other, status=Status.PENDING)
    edge = a_set(
        other,
        expects=(expected(parent),),
        tasks=(late,),
        edges=(Edge(parent.id, late.hot.id, "depends"),),
        blockers=(Blocker(late.hot.id, 0, f"task:{parent.id}"),),
    )
    calls = [other.commit([edge]), store.commit([ending(store, parent)])]
    await gate.shut_task(parent)

    answers = await in_turn(gate, *(calls if edge_first else calls[::-1]))

    [added], [ended] = answers if edge_first else answers[::-1]
    assert isinstance(ended, Committed)
    if edge_first:
        assert isinstance(added, Committed)
        assert (await row_of(store, late.hot.id)).status is Status.READY
    else:
        assert isinstance(added, Conflict)
        assert await store.load([late.hot.id]) == {}


@pytest.mark.parametrize("cancel_first", [True, False])
async def test_of_cancel_and_complete_one_wins_and_both_are_notified(
    store: PostgresStore, other: PostgresStore, gate: Gate, cancel_first: bool
):
    running = await given_a_running_task(store)
    calls = [
        other.commit([a_set(other, changes=(cancelling(other, running),))]),
        store.commit([ending(store, running)]),
    ]
    await gate.shut_task(running)

    [[first], [second]] = await in_turn(gate, *(calls if cancel_first else calls[::-1]))

    assert (type(first), type(second)) == (Committed, Conflict)
    expected = Status.CANCELLED if cancel_first else Status.COMPLETED
    assert (await row_of(store, running.id)).status is expected


async def test_of_two_who_claim_the_last_slot_one_gets_it(store: PostgresStore, other: PostgresStore, gate: Gate):
    tasks = await given_tasks(store, 3)
    await store.claim(await a_plan(store, slots=2))
    plans = [await a_plan(each, slots=2) for each in (store, other)]
    await gate.shut("ceiling", name="slots:ada")

    claimed = await in_turn(gate, store.claim(plans[0]), other.claim(plans[1]))

    assert sorted(len(each.tasks) for each in claimed) == [0, 1]
    limits = await store.limits(HERE, ["slots:ada"])
    assert limits["slots:ada"].held == 2
    assert sum(row.status is Status.READY for row in (await store.load(ids(tasks))).values()) == 1


async def test_two_who_claim_from_one_lane_pass_each_other_by(store: PostgresStore, other: PostgresStore, gate: Gate):
    best, second = await given_tasks(store, 2)
    await gate.shut_task(best)

    claimed = await other.claim(await a_plan(other))

    await gate.open()
    assert isinstance(claimed, Claimed)
    assert ids(claimed.tasks) == [second.id]


@pytest.mark.parametrize("claim_first", [True, False])
async def test_a_task_that_meets_its_key_while_that_is_freed_is_not_left_behind(
    store: PostgresStore, other: PostgresStore, gate: Gate, claim_first: bool
):
    holder, waiting = await given_tasks(store, 2, key="k")
    claimed = await store.claim(await a_plan(store))
    assert isinstance(claimed, Claimed)
    freeing = a_set(
        store,
        changes=(completing(store, claimed.tasks[0]),),
        spends=(Spend(HERE, "key:k", -1), Spend(HERE, "slots:ada", -1)),
    )
    calls = [other.claim(await a_plan(other, agent=BOB)), store.commit([freeing])]
    await gate.shut("ceiling", name="key:k")

    await in_turn(gate, *(calls if claim_first else calls[::-1]))

    # Parked and let go again, or claimed at once: what it must not be is parked on a key that nobody holds.
    row = await row_of(store, waiting.id)
    assert row.status is (Status.READY if claim_first else Status.RUNNING)
    assert await store.blockers([waiting.id]) == []
    assert holder.id == claimed.tasks[0].id


async def test_a_parked_task_that_is_cancelled_while_its_key_is_freed_leaves_it_to_the_next(
    store: PostgresStore, other: PostgresStore, gate: Gate
):
    await committed(store, spends=(Spend(HERE, "key:k", 1),))
    best = await given_a_parked_task(store, "key:k", key="k", rank=1)
    next_best = await given_a_parked_task(store, "key:k", key="k", rank=2)
    cancel = a_set(other, changes=(cancelling(other, best),))
    await gate.shut_task(best)
    cancelled = asyncio.create_task(other.commit([cancel]))
    await gate.standing(1)

    freed = asyncio.create_task(store.commit([a_set(store, spends=(Spend(HERE, "key:k", -1),))]))
    await gate.standing(2)
    await gate.open()

    [[told], [answer]] = await asyncio.gather(cancelled, freed)
    assert isinstance(told, Committed)
    assert isinstance(answer, Committed)
    assert answer.readied == (next_best.id,)
    assert (await row_of(store, best.id)).status is Status.CANCELLED


@pytest.mark.parametrize("beat_first", [True, False])
async def test_of_a_heartbeat_and_the_reaper_the_first_wins(
    store: PostgresStore, other: PostgresStore, gate: Gate, clock: ManualClock, beat_first: bool
):
    running = await given_a_running_task(store)
    clock.advance(seconds=91)
    calls = [other.extend([a_beat(running)]), store.commit([a_set(store, changes=(expiring(store, running),))])]
    await gate.shut_task(running)

    answers = await in_turn(gate, *(calls if beat_first else calls[::-1]))

    [beaten], [reaped] = answers if beat_first else answers[::-1]
    assert isinstance(beaten, Extended)
    assert beaten.accepted is beat_first
    assert isinstance(reaped, Conflict if beat_first else Committed)


@pytest.mark.parametrize("kept", [True, False])
async def test_of_two_who_enqueue_one_key_one_is_committed_and_the_other_learns_of_it(
    store: PostgresStore, gate: Gate, mine: Any, kept: bool
):
    await given_a_task(store)
    first = await a_new_task(store, idempotency_key="k")
    second = await a_new_task(store, idempotency_key="k")
    transaction = mine.transaction()
    await transaction.start()
    await store.join(mine).insert([first], [])

    landing = asyncio.create_task(store.commit([a_set(store, tasks=(second,))]))
    await gate.standing(1)
    await (transaction.commit() if kept else transaction.rollback())

    [answer] = await landing
    assert answer == (Taken({"k": first.hot.id}) if kept else Committed({}, (second.hot.id,)))
    assert await store.by_key(HERE, ["k"]) == {"k": first.hot.id if kept else second.hot.id}


async def test_a_claim_planned_before_a_change_of_configuration_is_not_made_after_it(
    store: PostgresStore, other: PostgresStore, gate: Gate
):
    await given_a_task(store)
    await store.claim(await a_plan(store))
    await given_a_task(store)
    plan = await a_plan(store)
    await gate.shut("ceiling", name="slots:ada")
    claiming = asyncio.create_task(store.claim(plan))
    await gate.standing(1)

    configuring = asyncio.create_task(
        committed(other, records=(RecordChange("queue", HERE, "default", 0, {"paused": True}),))
    )
    await gate.standing(2)  # it waits for the claim, which came first
    await gate.open()

    claimed = await claiming
    await configuring
    assert isinstance(claimed, Claimed)
    assert len(claimed.tasks) == 1
    assert not isinstance(await store.claim(plan), Claimed)


async def test_committers_that_meet_in_every_order_never_deadlock(
    store: PostgresStore, other: PostgresStore, gate: Gate
):
    before = await gate.ask("select deadlocks from pg_stat_database where datname = current_database()")
    tasks = [await given_a_running_task(store) for _ in range(8)]
    for parent in tasks:
        await given_a_pending_task(store, f"task:{parent.id}")

    async def signal(each: PostgresStore, number: int) -> None:
        rows = list((await each.load(ids(tasks))).values())
        ordered = rows[number % 8 :] + rows[: number % 8]
        spends = tuple(Spend(HERE, name, 1) for name in ("key:b", "key:a", "dag:x")[:: 1 if number % 2 else -1])
        changes = tuple(signalling(each, row) for row in ordered)
        await each.commit([a_set(each, changes=changes, spends=spends)])

    await asyncio.gather(*(signal((store, other)[number % 2], number) for number in range(60)))

    assert await gate.ask("select deadlocks from pg_stat_database where datname = current_database()") == before
    limits = await store.limits(HERE, ["key:a", "key:b", "dag:x"])
    versions = {row.version for row in (await store.load(ids(tasks))).values()}
    assert len(versions) == 1
    assert {limit.held for limit in limits.values()} == {versions.pop() - tasks[0].version}
    await step(store, cancelling(store, await row_of(store, tasks[0].id)))


async def test_a_wait_that_begins_while_its_end_is_written_comes_before_it_in_the_log(
    store: PostgresStore, other: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    parent, child = await given_a_running_task(store), await given_a_running_task(store)
    name = f"child:{child.id}"
    wait = transitions.suspend(parent, blockers=[name], wake_at=None, now=other.now())
    draw = PostgresTransaction.draw_numbers

    async def drawn_too_early(self: PostgresTransaction, number: int) -> list[int]:
        monkeypatch.setattr(PostgresTransaction, "draw_numbers", draw)
        drawn = await draw(self, number)
        await committed(other, changes=(wait,), blockers=(Blocker(parent.id, 1, name),))
        return drawn

    monkeypatch.setattr(PostgresTransaction, "draw_numbers", drawn_too_early)
    await committed(store, changes=(completing(store, child),), lifts=(Lift(name),))

    assert (await row_of(store, parent.id)).status is Status.READY
    assert await history(store, parent.id) == ["task.created", "task.running", "task.suspended", "task.ready"]
    assert await history(store, child.id) == ["task.created", "task.running", "task.completed"]
