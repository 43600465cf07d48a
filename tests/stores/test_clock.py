"""The time that counts, duties that one process at a time has, and noticing what others wrote."""

import asyncio

from taskyard.core import transitions
from taskyard.core.changes import Conflict, Touch
from taskyard.core.units import SECOND, Micros
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from tests.stores.given import (
    Connect,
    a_beat,
    an_id,
    at_once,
    cancelling,
    commit,
    every_event,
    expiring,
    given_a_record,
    given_a_running_task,
    given_a_task,
    row_of,
    step,
)
from tests.stores.plans import a_plan, take


async def test_the_store_tells_the_time_of_its_clock(store: Store, clock: ManualClock):
    assert store.now() == clock.now()

    clock.advance(seconds=0.000001)

    assert store.now() == clock.now()


async def test_time_does_not_go_back_where_the_clock_does_so_a_little(store: Store, clock: ManualClock):
    told = store.now()

    clock.advance(seconds=-5)
    assert store.now() == told

    clock.advance(seconds=4)
    assert store.now() == told

    clock.advance(seconds=2)
    assert store.now() == told + SECOND


async def test_time_goes_on_where_the_clock_was_set_back_far(store: Store, other: Store, clock: ManualClock):
    clock.advance(seconds=3600)
    await given_a_task(store)
    clock.advance(seconds=-3600)

    for each in (store, other):
        assert each.now() == clock.now()
        await given_a_task(each)
        clock.advance(seconds=1)
        assert each.now() == clock.now()


async def test_a_heartbeat_after_a_wrong_clock_wrote_keeps_its_lease_for_no_longer_than_its_length(
    store: Store, other: Store, clock: ManualClock
):
    task = await given_a_running_task(store)
    clock.advance(seconds=3600)
    await given_a_task(other)
    clock.advance(seconds=-3590)

    [extended] = await store.extend([a_beat(task)])

    assert extended.accepted
    assert (await row_of(store, task.id)).lease_expires_at == clock.now() + 90 * SECOND


async def test_a_duty_that_a_wrong_clock_put_off_for_long_is_taken(store: Store, clock: ManualClock):
    clock.advance(seconds=3600)
    wrong = store.now()
    await store.take_duty("sweep", wrong, Micros(wrong + SECOND))
    clock.advance(seconds=-3600)
    now = store.now()

    assert await store.take_duty("sweep", now, Micros(now + SECOND)) == wrong + SECOND
    assert await store.take_duty("sweep", now, Micros(now + SECOND)) is None


async def test_a_process_that_comes_later_gets_no_earlier_time_than_what_was_written(
    store: Store, clock: ManualClock, connect: Connect
):
    written = await given_a_task(store)
    clock.advance(seconds=-5)

    later = await connect()

    assert later.now() >= written.created_at


async def test_a_process_that_writes_after_another_gets_no_earlier_time_than_that_one_was(
    store: Store, other: Store, clock: ManualClock
):
    clock.advance(seconds=5)
    written = await given_a_task(store)
    clock.advance(seconds=-5)

    await given_a_task(other)

    assert other.now() >= written.created_at


async def test_a_lease_is_not_expired_by_a_clock_that_was_set_back(store: Store, clock: ManualClock):
    task = await given_a_running_task(store)
    clock.advance(seconds=100)
    await store.extend([a_beat(task)])
    clock.advance(seconds=-5)
    beaten = await row_of(store, task.id)

    result = await commit(store, changes=(expiring(store, beaten),))

    assert isinstance(result, Conflict)
    assert beaten.lease_expires_at == store.now() + 90 * SECOND


async def test_a_duty_is_taken_once_until_its_time_comes_again(store: Store, clock: ManualClock):
    now, soon = store.now(), Micros(store.now() + SECOND)

    assert await store.take_duty("sweep", now, soon) == 0
    assert await store.take_duty("sweep", now, soon) is None
    assert await store.take_duty("sweep", Micros(soon - 1), Micros(soon + SECOND)) is None
    assert await store.take_duty("sweep", soon, Micros(soon + SECOND)) == soon
    assert await store.take_duty("sweep", soon, Micros(soon + SECOND)) is None


async def test_a_duty_tells_when_it_is_due_without_being_taken(store: Store, other: Store):
    now, soon = store.now(), Micros(store.now() + SECOND)
    assert await store.duty("sweep") is None

    await store.take_duty("sweep", now, soon)

    assert await other.duty("sweep") == soon
    assert await store.duty("prune") is None
    assert await other.take_duty("sweep", soon, Micros(soon + SECOND)) == soon


async def test_duties_do_not_stand_in_each_others_way(store: Store):
    now, soon = store.now(), Micros(store.now() + SECOND)

    assert await store.take_duty("sweep", now, soon) == 0
    assert await store.take_duty("prune", now, soon) == 0


async def test_of_many_processes_that_want_a_duty_one_gets_it(store: Store, other: Store):
    now = store.now()

    for start in (now, Micros(now + SECOND)):
        answers = await at_once(
            *(each.take_duty("sweep", start, Micros(start + SECOND)) for each in (store, other) * 10)
        )
        assert [answer for answer in answers if answer is not None] == [0 if start == now else start]


async def test_who_was_heard_of_is_remembered_with_the_time(store: Store, clock: ManualClock):
    first = store.now()
    await store.pulse(["agent:ada", "agent:bob", "runtime:laptop"])
    clock.advance(seconds=5)
    await store.pulse(["agent:bob"])
    await store.pulse([])

    assert await store.pulses("agent:") == {"agent:ada": first, "agent:bob": store.now()}
    assert await store.pulses("runtime:laptop") == {"runtime:laptop": first}
    assert await store.pulses("agent_") == {}
    assert await store.pulses("%") == {}


async def test_the_prefix_of_a_pulse_is_matched_as_it_is_written(store: Store):
    await store.pulse(["agent:a_b", "agent:axb", "agent:Axb", "agent:ü"])

    assert list(await store.pulses("agent:a_")) == ["agent:a_b"]
    assert list(await store.pulses("agent:A")) == ["agent:Axb"]
    assert list(await store.pulses("agent:ü")) == ["agent:ü"]
    assert len(await store.pulses("")) == 4


async def test_a_sweep_that_looked_too_early_looks_again_later(store: Store):
    task = await given_a_running_task(store)
    assert task.due_at
    later = Micros(task.due_at + SECOND)
    before = await every_event(store)

    await store.touch([Touch(task.id, task.due_at, later)])

    assert await row_of(store, task.id) == task._replace(due_at=later)
    assert await every_event(store) == before
    assert await store.due(task.due_at, 10) == []
    assert [row.id for row in await store.due(later, 10)] == [task.id]


async def test_a_due_time_that_moved_since_is_left_alone(store: Store):
    running = await given_a_running_task(store)
    assert running.due_at
    moved = await step(store, transitions.release(running, now=store.now()))

    await store.touch([Touch(running.id, running.due_at, Micros(1)), Touch(an_id(), running.due_at, None)])

    assert await row_of(store, running.id) == moved


async def test_a_lease_can_be_forgiven_for_a_while(store: Store):
    running, moved = await given_a_running_task(store), await given_a_running_task(store)
    assert running.due_at
    later = Micros(running.due_at + 90 * SECOND)
    released = await step(store, transitions.release(moved, now=store.now()))

    await store.touch([Touch(task.id, running.due_at, later, later) for task in (running, moved)])

    assert await row_of(store, running.id) == running._replace(due_at=later, lease_expires_at=later)
    assert await row_of(store, moved.id) == released


async def test_a_task_need_not_be_looked_at_again(store: Store):
    running = await given_a_running_task(store)
    assert running.due_at

    await store.touch([Touch(running.id, running.due_at, None)])
    await store.touch([])

    assert await store.due(Micros(running.due_at + 1000 * SECOND), 10) == []


async def test_who_waits_for_a_change_is_woken_by_a_write(store: Store, other: Store):
    for writer in (store, other):
        mark = await store.changed(0, 0)
        waiting = asyncio.create_task(store.changed(mark, 60))
        await asyncio.sleep(0)

        await given_a_task(writer)

        assert await asyncio.wait_for(waiting, 30) != mark


async def test_a_write_before_the_wait_is_not_missed(store: Store, other: Store):
    for writer in (store, other):
        mark = await store.changed(0, 0)
        await given_a_task(writer)

        assert await asyncio.wait_for(store.changed(mark, 60), 30) != mark


async def test_claims_and_configuration_wake_who_waits(store: Store, other: Store):
    await given_a_task(store)
    mark = await other.changed(0, 0)
    await take(store, await a_plan(store))
    claimed = await asyncio.wait_for(other.changed(mark, 60), 30)

    await given_a_record(store, "queue", "default", {})

    assert mark != claimed
    assert await asyncio.wait_for(other.changed(claimed, 60), 30) != claimed


async def test_who_waits_in_vain_is_let_go_at_the_time_out(store: Store):
    mark = await store.changed(0, 0)

    # Sooner where something may have been written, which who begins to listen cannot rule out.
    assert await asyncio.wait_for(store.changed(mark, 0.02), 30) >= mark


async def test_everybody_who_waits_is_woken(store: Store):
    mark = await store.changed(0, 0)
    waiting = [asyncio.create_task(store.changed(mark, 60)) for _ in range(5)]
    await asyncio.sleep(0)
    task = await given_a_task(store)

    marks = await asyncio.wait_for(asyncio.gather(*waiting), 30)

    assert mark not in marks
    await step(store, cancelling(store, task))
