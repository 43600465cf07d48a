"""What lists are made of: read for many tasks in one go, without looking at those that are not wanted."""

from taskyard.core.changes import Blocker, Lift
from taskyard.core.task import TaskId
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from tests.stores.given import (
    ELSEWHERE,
    HERE,
    a_lane,
    an_attempt,
    an_id,
    committed,
    given_a_completed_task,
    given_a_pending_task,
    given_a_record,
    given_a_running_task,
    given_a_task,
    lane_of,
)


async def test_the_attempts_at_many_tasks_are_read_at_once_each_in_its_order(store: Store):
    one, other = await given_a_running_task(store), await given_a_running_task(store)
    untried = await given_a_task(store)
    attempts = [an_attempt(one, store.now())._replace(number=number) for number in (2, 10, 1)]
    alone = an_attempt(other, store.now())
    await committed(store, attempts=(*attempts, alone))

    found = await store.histories([other.id, untried.id, one.id, an_id()])

    assert found == {one.id: [attempts[2], attempts[0], attempts[1]], other.id: [alone]}
    assert await store.histories([]) == {}


async def test_records_are_read_by_their_ids(store: Store):
    for name in ("a", "b", "c"):
        await given_a_record(store, "note", name, {"text": name})
    await given_a_record(store, "note", "d", {}, ELSEWHERE)

    found = await store.named("note", HERE, ["c", "a", "d", "gone"])

    assert {name: record.body for name, record in found.items()} == {"a": {"text": "a"}, "c": {"text": "c"}}
    assert await store.named("note", HERE, []) == {}


def waits(task_id: TaskId, name: str) -> Blocker:
    return Blocker(task_id, 0, name)


async def test_what_waits_for_a_signal_is_found_the_longest_wait_first(store: Store, clock: ManualClock):
    first = await given_a_pending_task(store, "signal:approve", "time")
    clock.advance(seconds=1)
    await given_a_pending_task(store, "time")
    second = await given_a_pending_task(store, "signal:b", "signal:a")
    await given_a_pending_task(store, "signal:approve", workspace=ELSEWHERE)
    await given_a_task(store)

    found = await store.awaited(HERE, 10)

    assert found == [
        waits(first.id, "signal:approve"),
        waits(second.id, "signal:a"),
        waits(second.id, "signal:b"),
    ]
    assert await store.awaited(HERE, 1) == found[:1]


async def test_a_signal_that_came_is_no_longer_waited_for(store: Store):
    one, other = await given_a_pending_task(store, "signal:a"), await given_a_pending_task(store, "signal:b")
    both = await given_a_pending_task(store, "signal:b", "time")

    await committed(store, lifts=(Lift("signal:a", one.id),))
    assert await store.awaited(HERE, 10) == [waits(other.id, "signal:b"), waits(both.id, "signal:b")]

    await committed(store, lifts=(Lift("signal:b"),))
    assert await store.awaited(HERE, 10) == []


async def test_a_task_that_is_removed_waits_for_nothing(store: Store):
    task = await given_a_pending_task(store, "signal:a")

    await committed(store, removals=(task.id,))

    assert await store.awaited(HERE, 10) == []


async def test_of_what_is_ready_the_first_that_came_is_known(store: Store):
    await given_a_completed_task(store)
    await given_a_task(store, workspace=ELSEWHERE, lane=await lane_of(store, a_lane(ELSEWHERE)))
    assert await store.longest_ready(HERE) is None
    first = await given_a_task(store, rank=900)
    await given_a_task(store, rank=1)

    assert await store.longest_ready(HERE) == first
