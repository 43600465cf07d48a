"""Whatever waits for whatever: lifting leaves exactly what plain loops over the core's `ready` leave."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from taskyard.core import transitions
from taskyard.core.changes import Blocker, Change, Committed, Lift
from taskyard.core.task import Hot, Status, TaskId
from taskyard.stores.contract import Store
from tests.generated import examples
from tests.stores.given import a_new_task, a_set, at_once, committed, every_event

NAMES = ("task:a", "task:b", "signal:go", "time")


class Waiting(NamedTuple):
    """A task before it is put in: its state, the number of its wait, and its blockers by wait and name."""

    status: Status
    wait: int
    blockers: frozenset[tuple[int, str]]


class Lifting(NamedTuple):
    name: str
    of: int | None  # the number of a task; None: of everything
    ends_wait: bool


tasks_in = st.lists(
    st.builds(
        Waiting,
        status=st.sampled_from([Status.PENDING] * 4 + [Status.READY, Status.RUNNING, Status.CANCELLED]),
        wait=st.integers(0, 1),
        blockers=st.frozensets(st.tuples(st.integers(0, 1), st.sampled_from(NAMES)), min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=6,
)
liftings = st.builds(
    Lifting,
    name=st.sampled_from(NAMES),
    of=st.none() | st.integers(0, 5),
    ends_wait=st.sampled_from([False, False, True]),
)
batches = st.lists(st.lists(liftings, min_size=1, max_size=3), min_size=1, max_size=4)
OF_EACH = 40  # examples


async def put_in(store: Store, waiting: list[Waiting]) -> tuple[list[TaskId], set[Blocker]]:
    tasks = [await a_new_task(store, status=each.status, wait=each.wait) for each in waiting]
    blockers = {
        Blocker(task.hot.id, wait, f"{name} {tasks[0].hot.id}")  # names of this example only
        for task, each in zip(tasks, waiting, strict=True)
        for wait, name in each.blockers
    }
    await committed(store, tasks=tuple(tasks), blockers=tuple(sorted(blockers)))
    return [task.hot.id for task in tasks], blockers


def lifts_of(lifting: list[Lifting], task_ids: list[TaskId]) -> list[Lift]:
    return [
        Lift(
            f"{name} {task_ids[0]}", None if of is None else task_ids[of % len(task_ids)], ends_wait and of is not None
        )
        for name, of, ends_wait in lifting
    ]


def freed(rows: dict[TaskId, Hot], blockers: set[Blocker], lift: Lift, store: Store) -> list[Change]:
    """What one lift makes ready, in plain words. Takes its blockers away."""
    off = {
        each
        for each in blockers
        if lift.name == each.name or lift.ends_wait
        if lift.task_id is None or (lift.task_id, rows[each.task_id].wait) == (each.task_id, each.wait)
    }
    blockers -= off
    changes: list[Change] = []
    for task_id in {each.task_id for each in off}:
        row = rows[task_id]
        if row.status is Status.PENDING and not any(b.task_id == task_id and b.wait == row.wait for b in blockers):
            changes.append(transitions.ready(row, now=store.now()))
            rows[task_id] = changes[-1].after
    return changes


@examples(OF_EACH)
@given(waiting=tasks_in, batch=batches)
async def test_any_lifting_frees_what_the_core_would(store: Store, waiting: list[Waiting], batch: list[list[Lifting]]):
    task_ids, blockers = await put_in(store, waiting)
    rows = await store.load(task_ids)
    last = (await every_event(store))[-1].seq
    lifts = [lifts_of(lifting, task_ids) for lifting in batch]

    results = await store.commit([a_set(store, lifts=tuple(each)) for each in lifts])

    expected = [[change for lift in each for change in freed(rows, blockers, lift, store)] for each in lifts]
    assert [sorted(result.readied) for result in results if isinstance(result, Committed)] == [
        sorted(change.after.id for change in changes) for changes in expected
    ]
    assert await store.load(task_ids) == rows
    assert set(await store.blockers(task_ids)) == blockers
    told = [stored.event for stored in await store.events(after=last, limit=1000)]
    assert Counter(told) == Counter(change.event for changes in expected for change in changes)


@examples(OF_EACH // 2)
@given(waiting=tasks_in, batch=batches)
async def test_liftings_that_race_free_everything_once(
    store: Store, other: Store, waiting: list[Waiting], batch: list[list[Lifting]]
):
    task_ids, blockers = await put_in(store, waiting)
    rows = await store.load(task_ids)
    lifts = [lifts_of(lifting, task_ids) for lifting in batch]

    await at_once(*(committed((store, other)[n % 2], lifts=tuple(each)) for n, each in enumerate(lifts)))

    for each in lifts:
        for lift in each:
            freed(rows, blockers, lift, store)
    assert await store.load(task_ids) == rows
    assert set(await store.blockers(task_ids)) == blockers
