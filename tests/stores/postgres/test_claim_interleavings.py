"""A claim beside a change of the task that it would take: one of them has it, and no version is given twice."""

import asyncio
from collections.abc import Callable

import pytest

from taskyard.core import transitions
from taskyard.core.changes import ChangeSet, Committed, Conflict, RecordChange, Rescore
from taskyard.core.task import Hot, LaneId, Status
from taskyard.stores.contract import Claimed, Stale
from taskyard.stores.postgres import PostgresStore
from tests.stores.given import HERE, a_lane, a_set, cancelling, given_a_task, lane_of, row_of, signalling
from tests.stores.plans import a_plan
from tests.stores.postgres.conftest import Gate, Meanwhile

Change = Callable[[PostgresStore, Hot, LaneId], ChangeSet]


def _cancel(store: PostgresStore, task: Hot, _: LaneId) -> ChangeSet:
    return a_set(store, changes=(cancelling(store, task),))


def _expire(store: PostgresStore, task: Hot, _: LaneId) -> ChangeSet:
    return a_set(store, changes=(transitions.cancel(task, reason="expired", now=store.now()),))


def _signal(store: PostgresStore, task: Hot, _: LaneId) -> ChangeSet:
    return a_set(store, changes=(signalling(store, task),))


def _edit(store: PostgresStore, task: Hot, lane: LaneId) -> ChangeSet:
    return a_set(store, changes=(transitions.relane(task, lane=lane, now=store.now()),))


def _reprioritise(store: PostgresStore, task: Hot, _: LaneId) -> ChangeSet:
    change = transitions.reprioritise(task, priority=90, rank=task.rank - 7, by="ada", now=store.now())
    return a_set(store, changes=(change,))


def _rescore(store: PostgresStore, task: Hot, _: LaneId) -> ChangeSet:
    return a_set(store, rescores=(Rescore(task.id, task.rank - 5, 3, None),))


def _pause(store: PostgresStore, task: Hot, _: LaneId) -> ChangeSet:
    del task
    return a_set(store, records=(RecordChange("queue", HERE, "default", 0, {"paused": True}),))


CHANGES: dict[str, Change] = {
    "cancel": _cancel,
    "expire": _expire,
    "signal": _signal,
    "edit": _edit,
    "priority": _reprioritise,
    "rescore": _rescore,
    "pause": _pause,
}
GONE = {"cancel", "expire", "edit", "pause"}  # nothing is left in the lane for the claim


@pytest.fixture(params=CHANGES)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


async def versions(store: PostgresStore, task: Hot) -> list[int | None]:
    return [stored.event.version for stored in await store.events(after=0, limit=100, task_id=task.id)]


async def given(store: PostgresStore) -> tuple[Hot, LaneId]:
    return await given_a_task(store, rank=100), await lane_of(store, a_lane(type="review"))


async def test_a_change_that_is_committed_while_a_claim_has_looked(
    store: PostgresStore, other: PostgresStore, meanwhile: Meanwhile, kind: str
):
    task, lane = await given(store)
    plan = await a_plan(store)
    change = CHANGES[kind](other, task, lane)
    meanwhile(lambda: other.commit([change]))

    answer = await store.claim(plan)

    row = await row_of(store, task.id)
    if kind == "pause":
        assert isinstance(answer, Stale)
    else:
        assert isinstance(answer, Claimed)
        assert answer.tasks == (() if kind in GONE else (row,))
        assert (row.status is Status.RUNNING) == (kind not in GONE)
    assert await versions(store, task) == list(range(1, row.version + 1))


async def test_a_change_that_was_decided_before_a_claim_took_the_task(
    store: PostgresStore, other: PostgresStore, kind: str
):
    task, lane = await given(store)
    change = CHANGES[kind](other, task, lane)
    claimed = await store.claim(await a_plan(store))
    assert isinstance(claimed, Claimed)

    (answer,) = await other.commit([change])

    row = await row_of(store, task.id)
    assert isinstance(answer, Committed if kind in ("rescore", "pause") else Conflict)
    assert claimed.tasks == (row,)
    assert (row.rank, row.status) == (100, Status.RUNNING)
    assert await versions(store, task) == [1, 2]


async def test_a_change_that_is_under_way_is_passed_by(
    store: PostgresStore, other: PostgresStore, gate: Gate, kind: str
):
    if kind == "pause":
        pytest.skip("it touches no row of the task")
    task, lane = await given(store)
    plan = await a_plan(store)
    await gate.shut_task(task)
    changing = asyncio.create_task(other.commit([CHANGES[kind](other, task, lane)]))
    await gate.standing(1)

    answer = await store.claim(plan)
    assert isinstance(answer, Claimed)
    assert answer.tasks == ()
    await gate.open()

    assert [type(each) for each in await changing] == [Committed]
    again = await store.claim(plan)
    assert isinstance(again, Claimed)
    row = await row_of(store, task.id)
    assert again.tasks == (() if kind in GONE else (row,))
    assert await versions(store, task) == list(range(1, row.version + 1))
