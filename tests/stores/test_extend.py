"""Many heartbeats at once. They move no version and write no event."""

import pytest

from taskyard.core import transitions
from taskyard.core.changes import Beat
from taskyard.core.task import Hot
from taskyard.core.units import SECOND, MicroUsd
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Extended, Store
from tests.stores.given import (
    ADA,
    ELSEWHERE,
    HERE,
    a_beat,
    an_id,
    cancelling,
    completing,
    every_event,
    given_a_claimed_task,
    given_a_completed_task,
    given_a_dead_letter,
    given_a_pending_task,
    given_a_running_task,
    given_a_task,
    row_of,
    step,
)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"progress": '{"done":0.5}'},
        {"progress": ""},
        {"cost": MicroUsd(1_500_000)},
        {"cost": MicroUsd(0), "tokens_in": 0, "tokens_out": 0},
        {"progress": '"ü"', "cost": MicroUsd(2**53 - 1), "tokens_in": 2**53 - 1, "tokens_out": 1},
        {"tokens_cached": "[8,9]"},
    ],
)
async def test_a_heartbeat_leaves_the_row_as_the_core_would(
    store: Store, clock: ManualClock, said: dict[str, MicroUsd]
):
    task = await given_a_running_task(store)
    await store.extend([a_beat(task, '"begun"', cost=MicroUsd(5), tokens_in=6, tokens_out=7, tokens_cached="[1,2]")])
    before = await row_of(store, task.id)
    clock.advance(seconds=30)
    beat = a_beat(task)._replace(**said)

    answered = await store.extend([beat])

    after = transitions.beat(before, beat, now=store.now())
    assert answered == [Extended(after, accepted=True)]
    assert await row_of(store, task.id) == after
    assert after.lease_expires_at == store.now() + 90 * SECOND


async def test_a_heartbeat_moves_no_version_and_writes_no_event(store: Store):
    task = await given_a_running_task(store)
    before = await every_event(store)

    await store.extend([a_beat(task, '"half way"')])

    assert (await row_of(store, task.id)).version == task.version
    assert await every_event(store) == before


async def test_a_claim_that_is_not_started_keeps_its_own_deadline(store: Store, clock: ManualClock):
    task = await given_a_claimed_task(store)
    clock.advance(seconds=10)

    [extended] = await store.extend([a_beat(task)])

    assert extended == Extended(task._replace(heartbeat_at=store.now()), accepted=True)
    assert await row_of(store, task.id) == extended.hot


async def test_the_heartbeat_of_another_lease_is_refused_and_writes_nothing(store: Store, clock: ManualClock):
    task = await given_a_running_task(store, lease="a lease")
    assert task.lease
    clock.advance(seconds=10)

    wrong = ("another", "", task.lease.upper(), task.lease[:-1], task.lease + "1")
    answered = await store.extend([Beat(task.id, lease, '"late"') for lease in wrong])

    assert answered == [Extended(task, accepted=False)] * 5
    assert await row_of(store, task.id) == task


async def test_a_heartbeat_from_another_workspace_is_refused(store: Store, clock: ManualClock):
    task = await given_a_running_task(store)
    clock.advance(seconds=10)
    elsewhere, here = [a_beat(task, '"alive"')._replace(workspace=name) for name in (ELSEWHERE, HERE)]

    assert await store.extend([elsewhere]) == [Extended(task, accepted=False)]
    assert await row_of(store, task.id) == task
    assert await store.extend([here]) == [Extended(await row_of(store, task.id), accepted=True)]


async def test_what_nobody_holds_takes_no_heartbeat(store: Store):
    running = await given_a_running_task(store)
    assert running.lease
    rows: list[Hot] = [
        await given_a_task(store),
        await given_a_pending_task(store, "signal:go"),
        await given_a_completed_task(store),
        await given_a_dead_letter(store),
        await step(store, transitions.release(await given_a_running_task(store), now=store.now())),
        await step(store, transitions.submit(await given_a_running_task(store), now=store.now())),
        await step(store, cancelling(store, running)),
    ]

    answered = await store.extend([Beat(row.id, running.lease, '"late"') for row in rows])

    assert answered == [Extended(row, accepted=False) for row in rows]
    assert await store.load([row.id for row in rows]) == {row.id: row for row in rows}


async def test_a_heartbeat_of_an_unknown_task_is_refused(store: Store):
    assert await store.extend([Beat(an_id(), "a lease")]) == [Extended(None, accepted=False)]


async def test_each_heartbeat_is_answered_in_its_place(store: Store):
    first, last = await given_a_running_task(store), await given_a_running_task(store)
    beats = [a_beat(first), Beat(an_id(), "x"), Beat(last.id, "wrong"), a_beat(last)]

    answered = await store.extend(beats)

    assert [(each.hot and each.hot.id, each.accepted) for each in answered] == [
        (first.id, True),
        (None, False),
        (last.id, False),
        (last.id, True),
    ]
    assert await store.extend([]) == []


async def test_two_heartbeats_of_one_task_are_applied_in_turn(store: Store):
    task = await given_a_running_task(store)

    await store.extend([a_beat(task, '"first"', tokens_in=5), a_beat(task, '"second"')])

    row = await row_of(store, task.id)
    assert (row.progress, row.tokens_in) == ('"second"', 5)


async def test_a_lease_past_its_time_lives_on_when_its_heartbeat_comes_first(store: Store, clock: ManualClock):
    task = await given_a_running_task(store)
    clock.advance(seconds=1000)

    [extended] = await store.extend([a_beat(task)])

    assert extended.accepted
    assert extended.hot
    assert extended.hot.lease_expires_at == store.now() + 90 * SECOND


async def test_the_heartbeat_of_an_attempt_does_not_reach_its_successor(store: Store):
    first = await given_a_running_task(store, lease="first")
    released = await step(store, transitions.release(first, now=store.now()))
    claim = transitions.claim(
        released,
        agent=ADA,
        runtime=None,
        lease="second",
        circuit=0,
        reserved=MicroUsd(0),
        start=True,
        now=store.now(),
    )
    second = await step(store, claim)

    assert await store.extend([a_beat(first, '"zombie"')]) == [Extended(second, accepted=False)]
    await step(store, completing(store, second))
