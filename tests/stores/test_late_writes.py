"""A set that reaches the store long after it was decided is refused: its times would contradict the order of events."""

from collections.abc import Callable

import pytest

from taskyard.core.changes import (
    DECISION_GOOD_FOR,
    Change,
    ChangeSet,
    Committed,
    Conflict,
    Output,
    RecordChange,
    Spend,
    timely,
)
from taskyard.core.task import Hot
from taskyard.core.units import SECOND
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from tests.stores.given import (
    HERE,
    a_new_task,
    a_set,
    an_attempt,
    cancelling,
    completing,
    given_a_pending_task,
    given_a_running_task,
    picture,
    row_of,
)

TOO_LATE = DECISION_GOOD_FOR // SECOND + 1


def an_end(store: Store, running: Hot) -> ChangeSet:
    """As nearly every attempt ends: this has a fast way of its own on some stores."""
    change: Change = completing(store, running)
    output = Output(running.id, 1, "{}", (), None)
    return a_set(store, changes=(change,), attempts=(an_attempt(running, store.now()),), outputs=(output,))


def a_careful_end(store: Store, running: Hot) -> ChangeSet:
    record = RecordChange("note", HERE, "n", 0, {})
    return a_set(store, changes=(cancelling(store, running),), records=(record,), spends=(Spend(HERE, "key:k", 1),))


@pytest.mark.parametrize("end", [an_end, a_careful_end])
async def test_an_end_that_comes_late_is_a_conflict_and_leaves_no_trace(
    store: Store, clock: ManualClock, end: Callable[[Store, Hot], ChangeSet]
):
    running = await given_a_running_task(store)
    late = timely(end(store, running))
    before = await picture(store, [running.id], limits=["key:k"])
    clock.advance(seconds=TOO_LATE)

    (refused,) = await store.commit([late])

    assert isinstance(refused, Conflict)
    assert await picture(store, [running.id], limits=["key:k"]) == before
    (landed,) = await store.commit([timely(end(store, running))])
    assert isinstance(landed, Committed)


async def test_new_tasks_that_come_late_are_a_conflict(store: Store, clock: ManualClock):
    new = await a_new_task(store)
    late = timely(a_set(store, tasks=(new,)))
    clock.advance(seconds=TOO_LATE)

    (refused,) = await store.commit([late])

    assert isinstance(refused, Conflict)
    assert await store.load([new.hot.id]) == {}


async def test_one_that_comes_late_takes_no_other_with_it(store: Store, clock: ManualClock):
    tasks = [await a_new_task(store) for _ in range(3)]
    late = timely(a_set(store, tasks=(tasks[1],)))
    clock.advance(seconds=TOO_LATE)

    answers = await store.commit(
        [timely(a_set(store, tasks=(tasks[0],))), late, timely(a_set(store, tasks=(tasks[2],)))]
    )

    assert [type(answer) for answer in answers] == [Committed, Conflict, Committed]
    assert set(await store.load([task.hot.id for task in tasks])) == {tasks[0].hot.id, tasks[2].hot.id}


async def test_one_that_is_just_in_time_is_committed(store: Store, clock: ManualClock):
    running = await given_a_running_task(store)
    end = timely(an_end(store, running))
    clock.advance(seconds=TOO_LATE - 1)

    (landed,) = await store.commit([end])

    assert isinstance(landed, Committed)


async def test_a_set_without_a_bound_is_committed_however_late(store: Store, clock: ManualClock):
    pending = await given_a_pending_task(store, "signal:go")
    cancelled = a_set(store, changes=(cancelling(store, pending),))
    clock.advance(seconds=3600)

    (landed,) = await store.commit([cancelled])

    assert isinstance(landed, Committed)
    assert (await row_of(store, pending.id)).status.is_final
