"""Signals: none is lost, whichever comes first, the signal or the wait for it."""

import pytest

from taskyard.core.errors import IllegalTransition, InvalidInput, NotFound
from taskyard.core.task import Status
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import status_of
from tests.interference import while_deciding
from tests.yards import claim_that, elapse, events_of, given_a_running_task, given_an_agent


async def resume(yard: Yard, held: Held) -> Held:
    return await claim_that(yard, held.id, start=True)


async def test_a_signal_resumes_the_task_that_waits_for_it(yard: Yard):
    held = await given_a_running_task(yard)
    assert not (await yard.attempts.wait_for(held.id, held.lease, "ask", "approval")).over
    assert await status_of(yard, held.id) is Status.PENDING

    await yard.signal(held.id, "approval", {"yes": True}, sent_by="human:ada")

    resumed = await resume(yard, held)
    waited = await yard.attempts.wait_for(resumed.id, resumed.lease, "ask", "approval")
    assert waited[:3] == (True, {"yes": True}, False)
    assert await status_of(yard, held.id) is Status.RUNNING


async def test_a_signal_sent_before_the_wait_is_not_lost(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.signal(held.id, "approval", "go on")

    waited = await yard.attempts.wait_for(held.id, held.lease, "ask", "approval")

    assert waited[:3] == (True, "go on", False)
    assert await status_of(yard, held.id) is Status.RUNNING


async def test_a_signal_sent_before_the_task_was_claimed_is_not_lost(yard: Yard):
    await given_an_agent(yard)
    waiting = await yard.enqueue("code")
    await yard.signal(waiting.id, "approval", "early")
    held = await claim_that(yard, waiting.id, start=True)

    assert (await yard.attempts.wait_for(held.id, held.lease, "ask", "approval")).data == "early"


async def test_a_signal_that_arrives_while_the_wait_is_decided_is_not_lost(yard: Yard):
    """The wait was decided when there was no signal, and is stored after one came."""
    held = await given_a_running_task(yard)
    slow = while_deciding(yard, lambda: yard.signal(held.id, "approval", "just in time"))

    waited = await slow.attempts.wait_for(held.id, held.lease, "ask", "approval")

    assert waited[:3] == (True, "just in time", False)
    assert await status_of(yard, held.id) is Status.RUNNING


async def test_a_wait_that_begins_while_the_signal_is_sent_is_resumed(yard: Yard):
    """The other way round: the signal was decided when nothing waited for it."""
    held = await given_a_running_task(yard)
    slow = while_deciding(yard, lambda: yard.attempts.wait_for(held.id, held.lease, "ask", "approval"))

    await slow.signal(held.id, "approval", "late but there")

    resumed = await resume(yard, held)
    assert (await yard.attempts.wait_for(resumed.id, resumed.lease, "ask", "approval")).data == "late but there"


async def test_another_signal_does_not_resume_the_task(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.attempts.wait_for(held.id, held.lease, "ask", "approval")

    await yard.signal(held.id, "weather", "sunny")

    assert await status_of(yard, held.id) is Status.PENDING
    assert "approval" in (await yard.why(held.id)).words


async def test_a_signal_to_one_task_does_not_resume_another(yard: Yard):
    held = await given_a_running_task(yard)
    other = await given_a_running_task(yard)
    for each in (held, other):
        await yard.attempts.wait_for(each.id, each.lease, "ask", "approval")

    await yard.signal(held.id, "approval")

    assert await status_of(yard, held.id) is Status.READY
    assert await status_of(yard, other.id) is Status.PENDING


async def test_each_wait_takes_one_signal_in_the_order_they_were_sent(yard: Yard):
    held = await given_a_running_task(yard)
    for word in ("first", "second"):
        await yard.signal(held.id, "answer", word)

    answers = [
        (await yard.attempts.wait_for(held.id, held.lease, name, "answer")).data for name in ("one", "two", "one")
    ]

    assert answers == ["first", "second", "first"]
    assert not (await yard.attempts.wait_for(held.id, held.lease, "three", "answer")).over


async def test_a_retried_attempt_hears_the_same_answers_again(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.signal(held.id, "answer", "first")
    await yard.attempts.wait_for(held.id, held.lease, "one", "answer")
    await yard.signal(held.id, "answer", "second")
    await elapse(yard, clock, 125)

    held = await resume(yard, held)

    assert (await yard.attempts.wait_for(held.id, held.lease, "one", "answer")).data == "first"
    assert (await yard.attempts.wait_for(held.id, held.lease, "two", "answer")).data == "second"


async def test_a_wait_that_nobody_answers_ends_at_its_time(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.attempts.wait_for(held.id, held.lease, "ask", "approval", timeout_sec=60)
    await elapse(yard, clock, 59)
    assert await yard.claim("worker") == []
    await elapse(yard, clock, 1)

    held = await resume(yard, held)

    waited = await yard.attempts.wait_for(held.id, held.lease, "ask", "approval", timeout_sec=60)
    assert waited == (True, None, True, None)


async def test_a_wait_that_was_answered_in_time_has_no_end_to_come(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.attempts.wait_for(held.id, held.lease, "ask", "approval", timeout_sec=60)
    await yard.signal(held.id, "approval", "yes")
    held = await resume(yard, held)

    await elapse(yard, clock, 75)

    assert await status_of(yard, held.id) is Status.RUNNING
    assert (await yard.attempts.wait_for(held.id, held.lease, "ask", "approval", timeout_sec=60)).data == "yes"


async def test_a_wait_that_ended_without_an_answer_stays_so_when_one_comes_later(yard: Yard, clock: ManualClock):
    """Else a handler that is run again would take the other branch; and the late answer is for its next question."""
    held = await given_a_running_task(yard)
    await yard.attempts.wait_for(held.id, held.lease, "ask", "approval", timeout_sec=60)
    await elapse(yard, clock, 60)
    held = await resume(yard, held)
    assert (await yard.attempts.wait_for(held.id, held.lease, "ask", "approval", timeout_sec=60)).timed_out
    assert not (await yard.attempts.wait_for(held.id, held.lease, "ask again", "approval")).over

    await yard.signal(held.id, "approval", "late")

    held = await resume(yard, held)
    assert (await yard.attempts.wait_for(held.id, held.lease, "ask", "approval", timeout_sec=60)).timed_out
    assert (await yard.attempts.wait_for(held.id, held.lease, "ask again", "approval")).data == "late"


async def test_a_wait_of_no_time_takes_what_is_there_and_does_not_suspend(yard: Yard):
    held = await given_a_running_task(yard)
    assert (await yard.attempts.wait_for(held.id, held.lease, "look", "approval", timeout_sec=0)).timed_out
    await yard.signal(held.id, "approval", "there")

    assert (await yard.attempts.wait_for(held.id, held.lease, "look again", "approval", timeout_sec=0)).data == "there"
    assert await status_of(yard, held.id) is Status.RUNNING


async def test_a_task_that_is_over_takes_no_signals(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease)

    with pytest.raises(IllegalTransition, match="is completed"):
        await yard.signal(held.id, "approval")
    with pytest.raises(NotFound):
        await yard.signal("task_01ARZ3NDEKTSV4RRFFQ69G5FAV", "approval")
    with pytest.raises(InvalidInput, match="name"):
        await yard.signal(held.id, "")


async def test_every_signal_is_an_event(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.signal(held.id, "approval")
    await yard.signal(held.id, "approval")

    assert (await events_of(yard, held.id))[-2:] == ["task.signalled", "task.signalled"]
