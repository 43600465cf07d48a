"""Calls that wait for a batch, by the verbs themselves: each is settled once, and for the wait that it belongs to."""

from taskyard.core.task import Status
from taskyard.core.units import SECOND, Micros, to_iso
from taskyard.features.provider_batches.views import BatchCall, CallOutcome, CallState
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import claim_that, elapse, events_of, given_a_running_task

HOUR = 3600
ORDINARY_SEC = 300
RESERVED = 250_000  # micro-dollars


async def join(yard: Yard, held: Held) -> BatchCall:
    return await yard.provider_batches.join(
        held.id,
        held.lease,
        "call",
        provider="shelf",
        group="gpt-4o",
        request={},
        gather_sec=0,
        ordinary_sec=ORDINARY_SEC,
    )


async def given_a_batch(yard: Yard, clock: ManualClock) -> tuple[Held, Held]:
    """The task of a call that has to be answered within an hour, and that of the batch which the call was sent in."""
    deadline = Micros(clock.now() + HOUR * SECOND)
    task = await given_a_running_task(yard, deadline=to_iso(deadline), max_cost_usd="0.25")
    assert (await join(yard, task)).state is CallState.WAITING
    (batch,) = await yard.claim("worker", start=True)
    await yard.provider_batches.sent(batch.id, batch.lease, "key", provider_id="batch_1", calls=1)
    return task, batch


async def day(yard: Yard) -> tuple[int, int]:
    found = [each for each in await yard.budgets.spending() if each.name.startswith("day:")]
    return sum(each.reserved for each in found), sum(each.spent for each in found)


async def test_an_answer_to_a_wait_that_was_given_up_is_paid_for_and_ends_no_other_wait(yard: Yard, clock: ManualClock):
    await yard.budgets.set(daily_budget_usd="1")
    task, batch = await given_a_batch(yard, clock)
    assert await day(yard) == (RESERVED, 0)
    await yard.attempts.snooze(batch.id, batch.lease, HOUR)
    await elapse(yard, clock, HOUR - ORDINARY_SEC + 1)
    task = await claim_that(yard, task.id, start=True)
    assert (await join(yard, task)).state is CallState.ORDINARY
    await yard.attempts.sleep(task.id, task.lease, "rest", HOUR)
    assert await day(yard) == (0, 0)

    await elapse(yard, clock, ORDINARY_SEC)
    batch = await claim_that(yard, batch.id, start=True)
    (call,) = await yard.provider_batches.outstanding(batch.id, batch.lease)
    answer = {"custom_id": call.custom_id, "outcome": CallOutcome.ANSWERED, "answer": "late", "cost_usd": "0.10"}
    assert await yard.provider_batches.collect(batch.id, batch.lease, [answer]) == 1
    assert await day(yard) == (0, 100_000)
    assert (await yard.get(task.id)).status is Status.PENDING

    await yard.complete(batch.id, batch.lease)
    await elapse(yard, clock, HOUR)
    task = await claim_that(yard, task.id, start=True)
    assert (await join(yard, task)).state is CallState.ORDINARY  # as the attempt before was told


async def test_a_part_that_is_reported_twice_is_stored_once(yard: Yard, clock: ManualClock):
    _, batch = await given_a_batch(yard, clock)

    again = await yard.provider_batches.sent(batch.id, batch.lease, "key", provider_id="batch_1", calls=1)

    assert [(part.key, part.calls) for part in again.parts] == [("key", 1)]
    assert (await events_of(yard, batch.id)).count("task.sent") == 1
