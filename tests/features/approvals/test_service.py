"""Tasks that wait for somebody's word, and the signals that they get."""

from taskyard.core.task import Status
from taskyard.yard import Yard
from tests.yards import claim_that, given_a_running_task


async def test_a_task_that_waits_for_a_signal_is_listed_until_it_comes(yard: Yard):
    held = await given_a_running_task(yard, title="Release 2")
    await yard.attempts.wait_for(held.id, held.lease, "ask", "approved")
    (wanted,) = await yard.approvals.list()
    assert (wanted.task.id, wanted.signal) == (held.id, "approved")

    await yard.signal(held.id, "approved", {"by": "ana"})

    assert (await yard.get(held.id)).status is Status.READY
    assert await yard.approvals.list() == []


async def test_another_signal_leaves_the_task_waiting(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.attempts.wait_for(held.id, held.lease, "ask", "approved")

    await yard.signal(held.id, "rejected")

    assert (await yard.get(held.id)).status is Status.PENDING
    assert len(await yard.approvals.list()) == 1


async def test_a_signal_that_comes_first_is_kept(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.signal(held.id, "approved", "yes")

    waited = await yard.attempts.wait_for(held.id, held.lease, "ask", "approved")

    assert waited.data == "yes"
    assert await yard.approvals.list() == []


async def test_what_one_task_waits_for_is_listed_by_its_id(yard: Yard):
    first, second = await given_a_running_task(yard), await given_a_running_task(yard)
    for held in (first, second):
        await yard.attempts.wait_for(held.id, held.lease, "ask", "approved")

    assert [each.task.id for each in await yard.approvals.list(task_id=second.id)] == [second.id]


async def test_an_answer_to_a_wait_that_is_over_is_dropped(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.attempts.wait_for(held.id, held.lease, "first", "approved")
    (wanted,) = await yard.approvals.list()
    await yard.signal(held.id, "approved", 1, wait=wanted.wait)
    await yard.signal(held.id, "approved", 2, wait=wanted.wait)
    again = await claim_that(yard, held.id, start=True)
    heard = await yard.attempts.wait_for(held.id, again.lease, "first", "approved")
    later = await yard.attempts.wait_for(held.id, again.lease, "second", "approved")
    (next_wanted,) = await yard.approvals.list()

    assert (heard.data, later.over) == (1, False)
    assert next_wanted.wait != wanted.wait
