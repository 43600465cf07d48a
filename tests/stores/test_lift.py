"""Taking a blocker off: what has none left becomes ready, once."""

import pytest

from taskyard.core import transitions
from taskyard.core.changes import Blocker, ChangeSet, Committed, Conflict, Edge, Lift, Rescore, expected
from taskyard.core.task import Hot, Status
from taskyard.core.units import SECOND, Micros
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from tests.stores.given import (
    ELSEWHERE,
    a_new_task,
    a_set,
    at_once,
    cancelling,
    commit,
    committed,
    completing,
    every_event,
    finish,
    given_a_pending_task,
    given_a_running_task,
    given_a_task,
    history,
    ids,
    row_of,
    signalling,
    step,
)
from tests.stores.plans import a_plan, take


async def given_a_child_of(store: Store, *parents: Hot) -> Hot:
    return await given_a_pending_task(store, *(f"task:{parent.id}" for parent in parents))


async def test_what_has_no_blocker_left_is_made_ready_as_the_core_would(store: Store, clock: ManualClock):
    parent = await given_a_running_task(store)
    child = await given_a_child_of(store, parent)
    clock.advance(seconds=5)

    await store.commit([finish(store, parent)])

    freed = transitions.ready(child, now=store.now())
    assert await row_of(store, child.id) == freed.after
    assert (await every_event(store))[-1].event == freed.event
    assert await store.blockers([child.id]) == []


async def test_it_becomes_ready_at_the_time_the_set_was_decided(store: Store, clock: ManualClock):
    child = await given_a_pending_task(store, "signal:go")
    decided = store.now()
    lift = ChangeSet(lifts=(Lift("signal:go", child.id),), at=decided)
    clock.advance(seconds=7)

    await store.commit([lift])

    assert (await row_of(store, child.id)).updated_at == decided


async def test_a_wait_with_a_time_is_over_when_its_last_blocker_goes(store: Store):
    child = await given_a_pending_task(store, "signal:go", wake_at=Micros(store.now() + 60 * SECOND))
    assert child.due_at is not None

    await committed(store, lifts=(Lift("signal:go", child.id),))

    row = await row_of(store, child.id)
    assert (row.status, row.wake_at, row.due_at) == (Status.READY, None, None)


async def test_a_task_waits_for_all_its_blockers(store: Store):
    first, second = await given_a_running_task(store), await given_a_running_task(store)
    child = await given_a_child_of(store, first, second)

    await store.commit([finish(store, first)])
    assert await row_of(store, child.id) == child
    assert await store.blockers([child.id]) == [Blocker(child.id, 0, f"task:{second.id}")]

    await store.commit([finish(store, second)])
    assert (await row_of(store, child.id)).status is Status.READY
    assert await history(store, child.id) == ["task.created", "task.ready"]


async def test_a_task_frees_everything_that_waits_for_it(store: Store):
    parent, stranger = await given_a_running_task(store), await given_a_running_task(store)
    children = [await given_a_child_of(store, parent) for _ in range(20)]
    waiting = await given_a_child_of(store, stranger)

    [result] = await store.commit([finish(store, parent)])

    assert isinstance(result, Committed)
    assert sorted(result.readied) == sorted(child.id for child in children)
    assert len(result.readied) == 20
    rows = await store.load([child.id for child in children])
    assert {row.status for row in rows.values()} == {Status.READY}
    assert await row_of(store, waiting.id) == waiting


async def test_two_parents_that_finish_in_one_batch_free_their_child_once(store: Store):
    parents = [await given_a_running_task(store) for _ in range(2)]
    child = await given_a_child_of(store, *parents)

    results = await store.commit([finish(store, parent) for parent in parents])

    freed = [result.readied for result in results if isinstance(result, Committed)]
    assert sorted(freed) == [(), (child.id,)]
    assert await history(store, child.id) == ["task.created", "task.ready"]
    assert (await row_of(store, child.id)).version == 2


@pytest.mark.parametrize("parents_each", [2, 5])
async def test_parents_that_finish_at_once_in_several_processes_free_each_child_once(
    store: Store, other: Store, parents_each: int
):
    parents = [await given_a_running_task(store) for _ in range(parents_each)]
    children = [await given_a_child_of(store, *parents) for _ in range(10)]

    await at_once(*((store, other)[n % 2].commit([finish(store, parent)]) for n, parent in enumerate(parents)))

    rows = await store.load([child.id for child in children])
    assert {(row.status, row.version) for row in rows.values()} == {(Status.READY, 2)}
    assert await store.blockers([child.id for child in children]) == []
    assert [await history(store, child.id) for child in children] == [["task.created", "task.ready"]] * 10


async def test_a_refused_completion_frees_nothing(store: Store):
    parent = await given_a_running_task(store)
    child = await given_a_child_of(store, parent)
    await step(store, signalling(store, parent))

    [result] = await store.commit([finish(store, parent)])

    assert isinstance(result, Conflict)
    assert await row_of(store, child.id) == child
    assert await store.blockers([child.id]) == [Blocker(child.id, 0, f"task:{parent.id}")]


async def test_a_task_that_is_not_pending_only_loses_the_blocker(store: Store):
    parent = await given_a_running_task(store)
    cancelled = await given_a_child_of(store, parent)
    cancelled = await step(store, cancelling(store, cancelled))
    running = await given_a_running_task(store)
    await committed(store, blockers=(Blocker(running.id, 0, f"task:{parent.id}"),))

    [result] = await store.commit([finish(store, parent)])

    assert result == Committed({}, ())
    assert await row_of(store, cancelled.id) == cancelled
    assert await row_of(store, running.id) == running
    assert await store.blockers([cancelled.id, running.id]) == []


async def test_a_signal_frees_only_the_task_it_was_sent_to(store: Store):
    meant, another = [await given_a_pending_task(store, "signal:go") for _ in range(2)]

    await committed(store, lifts=(Lift("signal:go", meant.id),))

    assert (await row_of(store, meant.id)).status is Status.READY
    assert await row_of(store, another.id) == another
    assert await store.blockers([meant.id, another.id]) == [Blocker(another.id, 0, "signal:go")]


async def test_a_signal_takes_only_its_own_blocker_off(store: Store):
    child = await given_a_pending_task(store, "signal:go", "signal:stop")

    await committed(store, lifts=(Lift("signal:go", child.id),))

    assert await row_of(store, child.id) == child
    assert await store.blockers([child.id]) == [Blocker(child.id, 0, "signal:stop")]


async def test_a_name_is_matched_as_it_is_written(store: Store):
    names = ("signal:GO", "signal:g%", "signal:g_", "signal:go ", "signal:go\N{COMBINING ACUTE ACCENT}")
    children = [await given_a_pending_task(store, name) for name in names]

    await committed(store, lifts=(Lift("signal:go"), Lift("signal:g?"), Lift("signal:*")))

    assert [await row_of(store, child.id) for child in children] == children


async def test_a_time_out_ends_the_whole_wait(store: Store):
    child = await given_a_pending_task(store, "signal:go", "child:x", "time")
    another = await given_a_pending_task(store, "time")

    await committed(store, lifts=(Lift("time", child.id, ends_wait=True),))

    assert await row_of(store, child.id) == transitions.ready(child, now=store.now()).after
    assert await store.blockers([child.id]) == []
    assert await row_of(store, another.id) == another


async def test_blockers_of_an_earlier_wait_do_not_hold_the_present_one(store: Store):
    child = await given_a_pending_task(store, "signal:go", wait=2)
    await committed(store, blockers=(Blocker(child.id, 1, "signal:old"), Blocker(child.id, 1, "task:old")))

    await committed(store, lifts=(Lift("task:old"),))
    assert await row_of(store, child.id) == child

    await committed(store, lifts=(Lift("signal:go", child.id),))
    assert (await row_of(store, child.id)).status is Status.READY


async def test_a_late_signal_for_an_earlier_wait_does_not_touch_the_present_one(store: Store):
    child = await given_a_pending_task(store, "signal:go", wait=2)
    await committed(store, blockers=(Blocker(child.id, 1, "signal:old"),))

    result = await committed(store, lifts=(Lift("signal:old", child.id),))

    assert result.readied == ()
    assert await row_of(store, child.id) == child
    assert Blocker(child.id, 2, "signal:go") in await store.blockers([child.id])


async def test_lifting_what_blocks_nothing_changes_nothing(store: Store):
    ready = await given_a_task(store)
    pending = await given_a_pending_task(store, "signal:go")
    before = await every_event(store)

    assert await committed(store, lifts=(Lift("task:unheard of"), Lift("signal:go", ready.id))) == Committed({}, ())

    assert await row_of(store, pending.id) == pending
    assert await every_event(store) == before


async def test_lifting_twice_in_one_set_frees_once(store: Store):
    child = await given_a_pending_task(store, "signal:go")

    result = await committed(store, lifts=(Lift("signal:go"), Lift("signal:go", child.id)))

    assert result.readied == (child.id,)
    assert await history(store, child.id) == ["task.created", "task.ready"]


async def test_a_signal_and_what_it_frees_are_two_steps_of_one_set(store: Store):
    waiting = await given_a_pending_task(store, "signal:go")
    signal = signalling(store, waiting)

    await committed(store, changes=(signal,), lifts=(Lift("signal:go", waiting.id),))

    assert await row_of(store, waiting.id) == transitions.ready(signal.after, now=store.now()).after
    assert await history(store, waiting.id) == ["task.created", "task.signalled", "task.ready"]


async def test_what_is_suspended_on_blockers_of_its_own_set_waits_for_them(store: Store):
    running = await given_a_running_task(store)
    suspension = transitions.suspend(running, blockers=["signal:go"], wake_at=None, now=store.now())

    await committed(store, changes=(suspension,), blockers=(Blocker(running.id, 1, "signal:go"),))
    assert await row_of(store, running.id) == suspension.after

    await committed(store, lifts=(Lift("signal:go", running.id),))
    assert (await row_of(store, running.id)).status is Status.READY


async def test_blockers_are_put_on_before_they_are_taken_off(store: Store):
    task = await a_new_task(store, status=Status.PENDING)

    result = await committed(
        store, tasks=(task,), blockers=(Blocker(task.hot.id, 0, "signal:go"),), lifts=(Lift("signal:go"),)
    )

    assert result.readied == (task.hot.id,)
    assert await history(store, task.hot.id) == ["task.created", "task.ready"]


async def test_an_edge_to_a_parent_that_has_finished_since_is_a_conflict(store: Store):
    parent = await given_a_running_task(store)
    child = await a_new_task(store, status=Status.PENDING)
    late = a_set(
        store,
        expects=(expected(parent),),
        tasks=(child,),
        edges=(Edge(parent.id, child.hot.id, "depends"),),
        blockers=(Blocker(child.hot.id, 0, f"task:{parent.id}"),),
    )

    results = await store.commit([finish(store, parent), late])

    assert [type(result) for result in results] == [Committed, Conflict]
    assert await store.edges([parent.id]) == []
    assert await store.load([child.hot.id]) == {}


async def test_a_child_added_before_its_parent_finishes_in_the_same_batch_is_freed(store: Store):
    parent = await given_a_running_task(store)
    child = await a_new_task(store, status=Status.PENDING)
    early = a_set(
        store,
        expects=(expected(parent),),
        tasks=(child,),
        edges=(Edge(parent.id, child.hot.id, "depends"),),
        blockers=(Blocker(child.hot.id, 0, f"task:{parent.id}"),),
    )

    results = await store.commit([early, finish(store, parent)])

    assert [type(result) for result in results] == [Committed, Committed]
    assert (await row_of(store, child.hot.id)).status is Status.READY


async def test_a_set_decided_on_a_task_that_an_earlier_one_of_its_batch_frees_is_a_conflict(store: Store):
    parents = [await given_a_running_task(store) for _ in range(2)]
    written, read = [await given_a_child_of(store, parent) for parent in parents]
    writes = a_set(store, changes=(cancelling(store, written),))
    reads = a_set(store, expects=(expected(read),))

    for parent, late in zip(parents, (writes, reads), strict=True):
        results = await store.commit([finish(store, parent), late])

        assert [type(result) for result in results] == [Committed, Conflict]
    rows = await store.load([written.id, read.id])
    assert [row.status for row in rows.values()] == [Status.READY] * 2


async def test_adding_a_child_and_finishing_its_parent_at_once_never_strands_the_child(store: Store, other: Store):
    for _ in range(10):
        parent = await given_a_running_task(store)
        child = await a_new_task(store, status=Status.PENDING)
        waits = (Blocker(child.hot.id, 0, f"task:{parent.id}"),)
        guard = (expected(parent),)

        added, _ = await at_once(
            commit(other, expects=guard, tasks=(child,), blockers=waits),
            commit(store, changes=finish(store, parent).changes, lifts=finish(store, parent).lifts),
        )

        rows = await store.load([child.hot.id])
        assert [row.status for row in rows.values()] == ([Status.READY] if isinstance(added, Committed) else [])


async def test_cancelling_and_freeing_a_child_at_once_one_comes_first(store: Store, other: Store):
    parent = await given_a_running_task(store)
    child = await given_a_child_of(store, parent)

    cancelled, _ = await at_once(
        commit(other, changes=(cancelling(store, child),)),
        commit(store, changes=finish(store, parent).changes, lifts=finish(store, parent).lifts),
    )

    row = await row_of(store, child.id)
    assert row.status is (Status.CANCELLED if isinstance(cancelled, Committed) else Status.READY)
    assert row.version == 2


async def test_what_waits_in_another_workspace_is_freed_by_the_same_rule(store: Store):
    child = await given_a_pending_task(store, "signal:go", workspace=ELSEWHERE)

    await committed(store, lifts=(Lift("signal:go", child.id),))

    [stored] = [each for each in await every_event(store) if each.event.event == "task.ready"]
    assert stored.event.workspace == ELSEWHERE


async def test_a_task_that_a_set_moves_in_its_lane_and_frees_is_claimed_at_its_new_place(store: Store):
    parent = await given_a_running_task(store)
    first = await given_a_task(store, rank=5)
    child = await given_a_pending_task(store, f"task:{parent.id}", rank=9)

    await committed(
        store,
        changes=(completing(store, parent),),
        rescores=(Rescore(child.id, 1, 0, None),),
        lifts=(Lift(f"task:{parent.id}"),),
    )

    assert await store.ahead(first.lane, first.rank, first.seq, 10) == 1
    claimed = await take(store, await a_plan(store))
    assert ids(claimed.tasks) == [child.id]
