"""Questions to people: asked without a slot, answered once, and gone with their task."""

import asyncio

import pytest

from taskyard.core.errors import AlreadyAnswered
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import claim_that, elapse, given_a_running_task

CHOICES = ["yes", "no"]


async def test_a_question_holds_nothing_and_the_answer_goes_to_the_next_attempt(yard: Yard):
    held = await given_a_running_task(yard)
    assert not (await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?", choices=CHOICES)).over
    assert (await yard.get(held.id)).claim is None
    (wanted,) = await yard.approvals.list()
    assert wanted.question is not None
    assert wanted.question.text == "Deploy?"

    await yard.approvals.answer(held.id, "deploy", "yes", by="human:ada")

    again = await claim_that(yard, held.id, start=True)
    waited = await yard.attempts.ask(held.id, again.lease, "deploy", "Deploy?", choices=CHOICES)
    assert (waited.over, waited.data) == (True, "yes")
    assert waited.by in ("human:ada", "human:local")  # a server has the name from the token


async def test_of_many_answers_at_once_one_counts_and_the_others_learn_whose(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?", choices=[0, 1, 2, 3, 4])

    given = await asyncio.gather(
        *(yard.approvals.answer(held.id, "deploy", each, by=f"human:{each}") for each in range(5)),
        return_exceptions=True,
    )

    refused = [each for each in given if isinstance(each, AlreadyAnswered)]
    assert len(refused) == 4
    (sent,) = await yard.store.signals(held.id)
    assert {each.facts["by"] for each in refused} == {sent.sent_by}


async def test_the_default_is_taken_when_nobody_answers_in_time(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?", choices=CHOICES, timeout_sec=60, default="no")
    await elapse(yard, clock, 60)
    with pytest.raises(AlreadyAnswered, match="timeout"):
        await yard.approvals.answer(held.id, "deploy", "yes")

    again = await claim_that(yard, held.id, start=True)

    waited = await yard.attempts.ask(held.id, again.lease, "deploy", "Deploy?", choices=CHOICES, default="no")
    assert (waited.data, waited.timed_out) == ("no", True)


async def test_a_question_goes_with_its_task(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?")
    await yard.cancel(held.id)
    assert len(await yard.store.records("question")) == 1

    clock.advance(seconds=400 * 24 * 3600)
    await yard.sweep()

    assert await yard.store.records("question") == []
    assert (await yard.verify()).problems == ()
