"""One task waits for a subject and agent: what would go back to waiting behind another gives way to it."""

import pytest

from taskyard.core.errors import DuplicateKey
from taskyard.core.task import Outcome, Status
from taskyard.definition.task_fields import TaskFields
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import status_of
from tests.yards import OpenYard, elapse, given_an_agent

PAIR: TaskFields = {"subject": "issue:42", "agent": "worker"}


async def given_one_at_work_and_one_that_waits(open_yard: OpenYard) -> tuple[Yard, Held, str]:
    yard = await open_yard(preset="multica")
    await given_an_agent(yard)
    await yard.enqueue("code", **PAIR)
    (held,) = await yard.claim("worker", start=True)
    waits = await yard.enqueue("code", **PAIR)
    assert waits.created
    return yard, held, waits.id


async def test_a_retry_gives_way_to_the_task_that_waits(open_yard: OpenYard):
    yard, held, waits = await given_one_at_work_and_one_that_waits(open_yard)

    receipt = await yard.fail(held.id, held.lease, "timeout", "too slow")

    assert receipt.status is Status.CANCELLED
    assert await yard.fail(held.id, held.lease, "timeout", "too slow") == receipt
    task = await yard.get(held.id)
    assert f"gave way to {waits}" in str(task.cancelled and task.cancelled.reason)
    assert [(attempt.outcome, attempt.reason) for attempt in task.attempts] == [(Outcome.FAILED, "timeout")]
    assert [each.id for each in await yard.claim("worker", count=5)] == [waits]


async def test_a_lost_lease_and_a_release_give_way_too(open_yard: OpenYard, clock: ManualClock):
    yard, held, waits = await given_one_at_work_and_one_that_waits(open_yard)
    await yard.release(held.id, held.lease)
    assert await status_of(yard, held.id) is Status.CANCELLED

    (held,) = await yard.claim("worker", start=True)
    assert held.id == waits
    later = await yard.enqueue("code", **PAIR)
    await elapse(yard, clock, 76)
    assert await status_of(yard, waits) is Status.CANCELLED
    assert await status_of(yard, later.id) is Status.READY


async def test_without_another_that_waits_it_is_retried_under_its_key(open_yard: OpenYard):
    yard = await open_yard(preset="multica")
    await given_an_agent(yard)
    task = await yard.enqueue("code", **PAIR)
    (held,) = await yard.claim("worker", start=True)
    await yard.fail(held.id, held.lease, "timeout")

    assert await status_of(yard, task.id) is Status.READY
    assert (await yard.enqueue("code", **PAIR)).id == task.id


async def test_a_dead_letter_is_not_revived_beside_one_that_waits(open_yard: OpenYard):
    yard, held, waits = await given_one_at_work_and_one_that_waits(open_yard)
    await yard.fail(held.id, held.lease, "crash")
    assert await status_of(yard, held.id) is Status.DEAD_LETTERED

    with pytest.raises(DuplicateKey) as refused:
        await yard.dead_letters.resolve(held.id, "retry", by="human:ada")
    assert refused.value.facts["task_id"] == waits
