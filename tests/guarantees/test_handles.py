"""Handles: random names of tasks that outlive nobody but the task, and mean one life of it."""

import pytest

from taskyard.core.errors import NotFound
from taskyard.core.units import DAY
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, elapse, given_a_dead_letter, given_a_running_task


async def test_a_handle_stands_for_its_task_and_says_nothing_of_it(yard: Yard):
    task = await yard.enqueue("code")
    first, second = await yard.handles.create(task.id), await yard.handles.create(task.id)

    assert (await yard.handles.get(first.handle)).task_id == task.id
    assert first.handle != second.handle
    assert len(first.handle) == 32
    assert (first.died_at, first.kept) == (None, 7 * DAY)


async def test_a_handle_of_another_workspace_is_not_found(open_yard: OpenYard):
    here, there = await open_yard(), await open_yard(workspace="there")
    handle = await here.handles.create((await here.enqueue("code")).id)

    with pytest.raises(NotFound):
        await there.handles.get(handle.handle)
    with pytest.raises(NotFound):
        await there.handles.create((await here.enqueue("code")).id)


async def test_a_task_that_does_not_exist_has_no_handle(yard: Yard):
    with pytest.raises(NotFound):
        await yard.handles.create("task_01J8ZZZZZZZZZZZZZZZZZZZZZZ")
    with pytest.raises(NotFound):
        await yard.handles.get("unknown")


async def test_a_dead_letter_that_is_tried_again_has_ended_for_the_handles_it_had(yard: Yard, clock: ManualClock):
    held = await given_a_dead_letter(yard)
    before = await yard.handles.create(held.id)
    escalated = await yard.dead_letters.resolve(held.id, "escalate", by="human:ann")
    still = await yard.handles.get(before.handle)
    clock.advance(seconds=1)
    await yard.dead_letters.resolve(held.id, "retry", by="human:ann")
    clock.advance(seconds=1)

    ended, after = await yard.handles.get(before.handle), await yard.handles.create(held.id)
    assert (escalated.status.value, still.died_at) == ("dead_lettered", None)
    assert ended.died_at is not None
    assert ended.died_of == "crash"
    assert (after.died_at, (await yard.get(held.id)).status.value) == (None, "ready")


async def test_a_handle_is_forgotten_with_its_task(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    kept = await yard.handles.create((await yard.enqueue("code")).id)
    gone = await yard.handles.create(held.id)
    await yard.complete(held.id, held.lease)
    await elapse(yard, clock, 60)
    clock.advance(seconds=8 * 86_400)
    await elapse(yard, clock, 60)  # the task goes
    clock.advance(seconds=3_600)
    await elapse(yard, clock, 60)  # and within the hour, what stood for it

    with pytest.raises(NotFound):
        await yard.handles.get(gone.handle)
    stored = await yard.store.page("handle", "*", limit=10)
    assert [record.id for record in stored] == [f"{yard.workspace}/{kept.handle}"]
