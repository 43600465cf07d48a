"""A write whose answer was lost was stored or not, and the yard finds out which by reading."""

import pytest

from taskyard.core.errors import StoreUnavailable
from taskyard.yard import Yard
from tests.interference import losing_an_answer, waiting_for_a_standby
from tests.yards import events_of, given_a_running_task


async def test_a_task_that_was_stored_is_answered_although_the_answer_was_lost(yard: Yard):
    task = await losing_an_answer(yard, stored=True, away=2).enqueue("code")

    assert task.created
    assert [found.id for found in await yard.find()] == [task.id]


async def test_a_task_that_was_not_stored_is_not_reported_as_stored(yard: Yard):
    with pytest.raises(StoreUnavailable):
        await losing_an_answer(yard, stored=False).enqueue("code")

    assert await yard.find() == []


async def test_an_output_is_accepted_once_whether_or_not_it_was_stored_before_the_line_went_dead(yard: Yard):
    for stored in (True, False):
        held = await given_a_running_task(yard)

        receipt = await losing_an_answer(yard, stored=stored, away=1).complete(held.id, held.lease, {"done": stored})

        assert receipt.status == "completed"
        assert (await events_of(yard, held.id)).count("task.completed") == 1
        assert (await yard.get(held.id)).result == {"done": stored}


async def test_a_signal_that_was_stored_is_not_sent_again(yard: Yard):
    task = await yard.enqueue("code")

    await losing_an_answer(yard, stored=True).signal(task.id, "approved")

    assert (await events_of(yard, task.id)).count("task.signalled") == 1


async def test_a_claim_whose_answer_was_lost_hands_out_the_tasks_that_it_took_and_no_others(yard: Yard):
    await yard.agents.register("coder", max_concurrent_tasks=10)
    for stored in (True, False):
        first, *_ = [await yard.enqueue("code") for _ in range(2)]

        (held,) = await losing_an_answer(yard, stored=stored).claim("coder", start=True)

        assert held.id == first.id
        assert (await yard.complete(held.id, held.lease)).status == "completed"
        (other,) = await yard.claim("coder", start=True)  # the second is still to be had: one claim took one task
        await yard.complete(other.id, other.lease)
        assert [task.id for task in await yard.find(status="running")] == []


async def test_a_repeated_claim_that_meets_a_lost_store_looks_for_its_first_try_before_it_claims_again(yard: Yard):
    await yard.agents.register("coder", max_concurrent_tasks=10)
    for _ in range(2):
        await yard.enqueue("code")
    hidden = waiting_for_a_standby(yard)

    with pytest.raises(StoreUnavailable):
        await hidden.claim("coder", start=True, request_id="r1")
    (held,) = await hidden.claim("coder", start=True, request_id="r1")

    assert [task.id for task in await yard.find(status="running")] == [held.id]
