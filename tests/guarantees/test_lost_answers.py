"""A write whose answer was lost was stored or not, and the yard finds out which by reading."""

import pytest

from taskyard.core.errors import StoreUnavailable
from taskyard.yard import Yard
from tests.interference import losing_an_answer
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
