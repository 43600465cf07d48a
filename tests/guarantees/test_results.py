"""A producer awaits the result of its task: one or many, woken by the end itself, told how it ended otherwise."""

import asyncio
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput, TaskCancelled, TaskFailed, TaskGone
from taskyard.features.tasks.lookup import waiting as waiting_for_results
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, claim_that, given_a_dead_letter, given_a_running_task, given_an_agent

DAY = 24 * 3600


async def test_a_result_is_there_at_once_for_what_has_ended(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease, {"answer": 42})

    assert await yard.result(held.id) == {"answer": 42}
    assert await yard.result(held.id, timeout=0) == {"answer": 42}


@pytest.mark.parametrize("wait_sec", [-1, 60.5, float("nan"), float("inf"), "long", True])
async def test_a_wait_that_is_no_number_of_seconds_is_refused_at_once(yard: Yard, wait_sec: Any):
    task = await yard.enqueue("code")

    with pytest.raises(InvalidInput, match="wait_sec: must be a number from 0 to 60"):
        await yard.get(task.id, wait_sec=wait_sec)


async def test_a_result_comes_with_the_completion_by_another_process(
    open_yard: OpenYard, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(waiting_for_results, "IDLE", 600.0)  # so that only the completion can wake them
    producer, worker = await open_yard(), await open_yard()
    await given_an_agent(worker)
    task = await producer.enqueue("code")
    held = await claim_that(worker, task.id, start=True)
    waiting = [asyncio.create_task(task.result(timeout=60)) for _ in range(3)]
    await asyncio.sleep(0)  # they begin to wait

    await worker.complete(held.id, held.lease, "done")

    assert await asyncio.gather(*waiting) == ["done"] * 3


async def test_many_results_come_in_the_order_that_was_asked_for(yard: Yard):
    await given_an_agent(yard)
    tasks = await yard.enqueue_many([{"type": "code", "payload": {"n": n}} for n in range(5)])
    waiting = asyncio.create_task(yard.result([task.id for task in tasks], timeout=60))
    for held in reversed(await yard.claim("worker", count=5, start=True)):
        await yard.complete(held.id, held.lease, held.payload["n"])

    assert await waiting == [0, 1, 2, 3, 4]


async def test_a_dead_letter_is_a_failure_that_says_why(yard: Yard):
    held = await given_a_dead_letter(yard)

    with pytest.raises(TaskFailed) as failed:
        await yard.result(held.id)
    assert failed.value.facts == {"task_id": held.id, "reason": "crash", "error": "it fell over"}


async def test_a_cancelled_task_says_so_to_those_who_wait(yard: Yard):
    task = await yard.enqueue("code")
    waiting = asyncio.create_task(task.result(timeout=60))
    await asyncio.sleep(0)
    await yard.cancel(task.id, "not wanted")

    with pytest.raises(TaskCancelled, match="not wanted"):
        await waiting


async def test_whoever_does_not_wait_long_enough_leaves_the_task_alone(yard: Yard):
    held = await given_a_running_task(yard)

    with pytest.raises(TimeoutError, match="running"):
        await yard.result(held.id, timeout=0.05)
    await yard.complete(held.id, held.lease, "late")
    assert await yard.result(held.id, timeout=0) == "late"


async def test_what_was_pruned_is_gone(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease, {"answer": 42})
    assert await yard.result(held.id, timeout=0) == {"answer": 42}

    clock.advance(seconds=8 * DAY)
    await yard.sweep()

    with pytest.raises(TaskGone):
        await yard.result(held.id, timeout=0)


async def test_what_never_was_is_gone_too(yard: Yard):
    with pytest.raises(TaskGone):
        await yard.result("task_01J0000000000000000000GONE", timeout=0)
    with pytest.raises(InvalidInput, match="timeout"):
        await yard.result("task_01J0000000000000000000GONE", timeout=-1)
