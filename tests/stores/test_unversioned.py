"""What heartbeats and sweeps write past the version is neither undone by a change nor overlooked by an expiry."""

from taskyard.core.changes import (
    Conflict,
    Rescore,
)
from taskyard.core.task import Status
from taskyard.core.units import SECOND, Micros
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from tests.stores.given import (
    a_beat,
    an_id,
    commit,
    committed,
    completing,
    expiring,
    given_a_claimed_task,
    given_a_completed_task,
    given_a_dead_letter,
    given_a_pending_task,
    given_a_retrying_task,
    given_a_running_task,
    given_a_task,
    history,
    row_of,
    signalling,
)


async def test_a_change_does_not_undo_a_heartbeat_that_it_has_not_seen(store: Store, clock: ManualClock):
    read = await given_a_running_task(store)
    clock.advance(seconds=30)
    [beaten] = await store.extend([a_beat(read, '"half way"', tokens_in=100, tokens_out=200, tokens_cached="[90,0]")])
    assert beaten.hot

    signal = signalling(store, read)
    await committed(store, changes=(signal,))

    assert await row_of(store, read.id) == beaten.hot._replace(version=signal.after.version, updated_at=store.now())


async def test_a_change_does_not_undo_a_rescoring_that_it_has_not_seen(store: Store):
    read = await given_a_task(store)
    await committed(store, rescores=(Rescore(read.id, 17, 3, Micros(store.now() + SECOND)),))

    signal = signalling(store, read)
    await committed(store, changes=(signal,))

    row = await row_of(store, read.id)
    assert row == signal.after._replace(rank=17, height=3, rescore_at=Micros(store.now() + SECOND))


async def test_what_an_attempt_let_go_is_gone_even_if_a_heartbeat_changed_it_since(store: Store, clock: ManualClock):
    read = await given_a_running_task(store)
    [first] = await store.extend([a_beat(read, '"a little"', tokens_in=1, tokens_cached="[1,0]")])
    assert first.hot
    clock.advance(seconds=1)
    await store.extend([a_beat(read, '"a lot"', tokens_in=2, tokens_cached="[2,0]")])

    completed = completing(store, first.hot)
    await committed(store, changes=(completed,))

    row = await row_of(store, read.id)
    assert (row.progress, row.tokens_in, row.tokens_cached) == (None, 0, None)
    assert (row.lease, row.lease_expires_at) == (None, None)


async def test_a_rescoring_moves_no_version_and_writes_no_event(store: Store):
    task = await given_a_task(store)

    await committed(store, rescores=(Rescore(task.id, -5, 2, None),))

    assert await row_of(store, task.id) == task._replace(rank=-5, height=2, rescore_at=None)
    assert await history(store, task.id) == ["task.created"]


async def test_only_what_waits_is_rescored(store: Store):
    waiting = [
        await given_a_task(store),
        await given_a_pending_task(store, "signal:go"),
        await given_a_retrying_task(store, until=Micros(store.now() + SECOND)),
    ]
    busy = [
        await given_a_claimed_task(store),
        await given_a_running_task(store),
        await given_a_completed_task(store),
        await given_a_dead_letter(store),
    ]

    await committed(store, rescores=tuple(Rescore(task.id, 1, 1, None) for task in waiting + busy))

    assert [(await row_of(store, task.id)).rank for task in waiting] == [1, 1, 1]
    assert [await row_of(store, task.id) for task in busy] == busy


async def test_a_rescoring_of_a_task_that_is_gone_is_let_pass(store: Store):
    await committed(store, rescores=(Rescore(an_id(), 1, 1, None),))


async def test_a_lease_is_not_expired_where_a_heartbeat_came_first(store: Store, clock: ManualClock):
    read = await given_a_running_task(store)
    clock.advance(seconds=91)
    expiry = expiring(store, read)
    [beaten] = await store.extend([a_beat(read)])

    result = await commit(store, changes=(expiry,))

    assert isinstance(result, Conflict)
    assert await row_of(store, read.id) == beaten.hot


async def test_what_was_decided_on_the_row_as_it_was_handed_out_is_not_committed_after_a_heartbeat(
    store: Store, clock: ManualClock
):
    handed_out = await given_a_running_task(store)
    completed = completing(store, handed_out)._replace(lease_unchanged=True)
    clock.advance(seconds=1)
    [beaten] = await store.extend([a_beat(handed_out)])

    assert isinstance(await commit(store, changes=(completed,)), Conflict)
    assert await row_of(store, handed_out.id) == beaten.hot

    assert beaten.hot is not None
    await committed(store, changes=(completing(store, beaten.hot)._replace(lease_unchanged=True),))
    assert (await row_of(store, handed_out.id)).status is Status.COMPLETED


async def test_a_lease_that_a_heartbeat_prolonged_is_looked_at_again_though_it_has_ended_since(
    store: Store, clock: ManualClock
):
    read = await given_a_running_task(store)
    clock.advance(seconds=30)
    await store.extend([a_beat(read)])
    clock.advance(seconds=1000)

    assert isinstance(await commit(store, changes=(expiring(store, read),)), Conflict)

    await committed(store, changes=(expiring(store, await row_of(store, read.id)),))
    assert (await row_of(store, read.id)).status is Status.READY


async def test_a_lease_is_not_expired_before_its_time_by_the_clock_of_the_store(store: Store, clock: ManualClock):
    task = await given_a_running_task(store)
    clock.advance(seconds=89)
    expiry = expiring(store, task)

    assert isinstance(await commit(store, changes=(expiry,)), Conflict)

    clock.advance(seconds=1)
    await committed(store, changes=(expiry,))
    assert (await row_of(store, task.id)).status is Status.READY


async def test_a_task_that_lost_its_lease_is_not_expired(store: Store, clock: ManualClock):
    read = await given_a_running_task(store)
    clock.advance(seconds=91)
    await committed(store, changes=(completing(store, read),))

    result = await commit(store, changes=(expiring(store, read),))

    assert isinstance(result, Conflict)
