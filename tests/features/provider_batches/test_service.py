"""Calls that wait for a batch, by the verbs themselves: each is settled once, and for the wait that it belongs to."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from taskyard.core.task import Status
from taskyard.core.units import SECOND, Micros, to_iso
from taskyard.definition.definition import Sizes
from taskyard.features.attempts import step_results
from taskyard.features.provider_batches.rules import TYPE
from taskyard.features.provider_batches.views import BatchCall, CallOutcome, CallState
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.memory import MemoryStore
from taskyard.yard import Yard, local_yard
from tests.yards import claim_that, elapse, events_of, given_a_running_task

HOUR = 3600
ORDINARY_SEC = 300
RESERVED = 250_000  # micro-dollars


async def join(yard: Yard, held: Held, *, may_pay_twice: bool = True) -> BatchCall:
    return await yard.provider_batches.join(
        held.id,
        held.lease,
        "call",
        provider="shelf",
        group="gpt-4o",
        request={},
        gather_sec=0,
        ordinary_sec=ORDINARY_SEC,
        may_pay_twice=may_pay_twice,
    )


async def given_a_batch(yard: Yard, clock: ManualClock) -> tuple[Held, Held]:
    """The task of a call that has to be answered within an hour, and that of the batch which the call was sent in."""
    deadline = Micros(clock.now() + HOUR * SECOND)
    task = await given_a_running_task(yard, deadline=to_iso(deadline), max_cost_usd="0.25")
    assert (await join(yard, task)).state is CallState.WAITING
    (batch,) = await yard.claim("worker", start=True)
    await yard.provider_batches.sent(batch.id, batch.lease, "key", provider_id="batch_1", calls=1)
    return task, batch


async def answer(yard: Yard, batch: Held, text: str = "late", outcome: CallOutcome = CallOutcome.ANSWERED) -> None:
    """What the provider answers to the call of a batch is collected."""
    (call,) = await yard.provider_batches.outstanding(batch.id, batch.lease)
    result = {"custom_id": call.custom_id, "outcome": outcome, "answer": text, "cost_usd": "0.10"}
    assert await yard.provider_batches.collect(batch.id, batch.lease, [result]) == 1


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
    await answer(yard, batch)
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


async def given_a_batch_and_a_woken_task(yard: Yard, clock: ManualClock) -> tuple[Held, Held]:
    """The time of the wait is over, and no slot was free for the task so far."""
    task, batch = await given_a_batch(yard, clock)
    await yard.attempts.snooze(batch.id, batch.lease, HOUR - ORDINARY_SEC)
    await elapse(yard, clock, HOUR - ORDINARY_SEC + 1)
    (batch,) = await yard.claim("worker", types=[TYPE], start=True)
    assert (await yard.get(task.id)).status is Status.READY
    return task, batch


@pytest.mark.parametrize("may_pay_twice", [True, False])
async def test_an_answer_that_comes_before_its_woken_task_asks_again_is_used(
    yard: Yard, clock: ManualClock, may_pay_twice: bool
):
    task, batch = await given_a_batch_and_a_woken_task(yard, clock)
    await answer(yard, batch)

    task = await claim_that(yard, task.id, start=True)
    found = await join(yard, task, may_pay_twice=may_pay_twice)

    assert (found.state, found.answer) == (CallState.ANSWERED, "late")


@pytest.mark.parametrize(
    ("text", "outcome"),
    [("x" * Sizes().max_output_bytes, CallOutcome.ANSWERED), ("overloaded", CallOutcome.FAILED)],
    ids=["too large, without a place for artifacts", "failed"],
)
async def test_a_woken_task_makes_the_call_where_its_batch_has_no_answer_for_it(
    yard: Yard, clock: ManualClock, text: str, outcome: CallOutcome
):
    task, batch = await given_a_batch_and_a_woken_task(yard, clock)
    await answer(yard, batch, text, outcome)

    task = await claim_that(yard, task.id, start=True)

    assert (await join(yard, task)).state is CallState.ORDINARY


async def ready(_: Yard, __: str) -> None:
    """As it was woken."""


async def running(yard: Yard, task_id: str) -> None:
    await claim_that(yard, task_id, start=True)


async def retrying(yard: Yard, task_id: str) -> None:
    held = await claim_that(yard, task_id, start=True)
    await yard.fail(held.id, held.lease, reason="agent_error")


@pytest.mark.parametrize("comes_to_be", [ready, running, retrying])
async def test_a_large_answer_that_comes_before_its_woken_task_asks_again_is_used_and_paid_for_once(
    clock: ManualClock, tmp_path: Path, comes_to_be: Callable[[Yard, str], Awaitable[None]]
):
    text = "x" * Sizes().max_output_bytes
    options = Options(sweeps=False, dice=lambda: 0.5, artifacts=(tmp_path / "objects").as_uri())
    async with local_yard(MemoryStore(clock=clock), options) as yard:
        await yard.budgets.set(daily_budget_usd="1")
        task, batch = await given_a_batch_and_a_woken_task(yard, clock)
        await comes_to_be(yard, task.id)
        await answer(yard, batch, text)
        await yard.complete(batch.id, batch.lease)
        await elapse(yard, clock, HOUR)
        task = await claim_that(yard, task.id, start=True)
        found = await join(yard, task, may_pay_twice=False)
        reference = step_results.artifact_in(found.answer)
        assert (found.state, reference is not None) == (CallState.ANSWERED, True)
        pieces = [each async for each in yard.artifacts.read(str(reference), task_id=task.id, lease=task.lease)]
        await yard.complete(task.id, task.lease)

        assert json.loads(b"".join(pieces)) == text
        assert await day(yard) == (0, 100_000)
        assert sum(each.cost for each in await yard.tasks.history(task.id)) == 100_000
        assert (await yard.verify()).ok


async def test_nothing_is_noted_for_a_task_that_has_ended(yard: Yard, clock: ManualClock):
    task, batch = await given_a_batch_and_a_woken_task(yard, clock)
    await yard.cancel(task.id)
    before = await yard.attempts.checkpoints(task.id)

    await answer(yard, batch)

    assert await yard.attempts.checkpoints(task.id) == before
