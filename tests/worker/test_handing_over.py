"""An output that its worker hands over: no coroutine waits for the answer, and the answer means what it always does."""

import asyncio
import logging
from typing import Any

import pytest

from taskyard.app import Yard
from taskyard.core.errors import StoreUnavailable
from taskyard.core.task import Status
from taskyard.ledger.queue import CommitQueue
from taskyard.worker.context import Context
from taskyard.worker.handlers import Agent
from taskyard.worker.process.runner import Worker
from tests.worker.conftest import until, working

SLOTS = 4


@pytest.fixture
def agent() -> Agent:
    agent = Agent("worker", max_concurrent_tasks=SLOTS)

    @agent.handles("work")
    async def work(_: Context, given: Any) -> Any:
        return given

    return agent


async def worked_once(yard: Yard, agent: Agent) -> int:
    worker = Worker(yard, agent)
    await worker.register()
    return await worker.work_once()


async def test_nothing_waits_for_the_answer_to_an_output(
    yard: Yard, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    if yard.host.verbs.completions.hand_over is None:
        pytest.skip("a server has this yard")

    async def waited(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(yard, "complete", waited)
    tasks = [await yard.enqueue("work", payload=number) for number in range(SLOTS)]

    assert await worked_once(yard, agent) == SLOTS

    assert [(await yard.get(task.id)).result for task in tasks] == [0, 1, 2, 3]


async def test_the_lease_of_one_that_was_lost_meanwhile_refuses_that_output_alone(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    agent, begun, go_on = Agent("worker", max_concurrent_tasks=SLOTS), asyncio.Semaphore(0), asyncio.Event()

    @agent.handles("work")
    async def work(_: Context) -> str:
        begun.release()
        await go_on.wait()
        return "done"

    tasks = [await yard.enqueue("work") for _ in range(SLOTS)]
    working_once = asyncio.create_task(worked_once(yard, agent))
    async with asyncio.timeout(60):
        for _ in tasks:
            await begun.acquire()
        await yard.cancel(tasks[1].id, "not wanted")
        go_on.set()
        await working_once

    found = [(await yard.get(task.id)).status for task in tasks]
    assert found == [Status.COMPLETED, Status.CANCELLED, Status.COMPLETED, Status.COMPLETED]
    assert caplog.text.count("lease lost, its result was refused") == 1


async def test_an_output_that_the_yard_refuses_fails_its_attempt(yard: Yard, agent: Agent) -> None:
    @agent.handles("wrong")
    async def wrong(_: Context) -> Any:
        return {"no": float("nan")}

    task = await yard.enqueue("wrong", max_attempts=1)
    async with working(yard, agent):
        await until(yard, task.id, Status.DEAD_LETTERED)

    assert [attempt.reason for attempt in await yard.tasks.history(task.id)] == ["refused"]


async def test_an_output_that_cannot_be_stored_is_logged_and_its_slot_is_free_again(
    yard: Yard, agent: Agent, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if yard.host.verbs.completions.hand_over is None:
        pytest.skip("a server has this yard")

    commit = CommitQueue.commit_now

    async def away(self: CommitQueue, sets: Any) -> Any:
        if any(each.attempts for each in sets):
            raise StoreUnavailable("the yard is away")
        return await commit(self, sets)

    task = await yard.enqueue("work", payload=1)
    with monkeypatch.context() as patched, caplog.at_level(logging.INFO, "taskyard.worker"):
        patched.setattr(CommitQueue, "commit_now", away)
        assert await worked_once(yard, agent) == 1

    assert "could not be finished: " in caplog.text
    assert (await yard.get(task.id)).status is Status.RUNNING


async def test_a_slot_is_free_only_when_its_output_is_stored(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    if yard.host.verbs.completions.hand_over is None:
        pytest.skip("a server has this yard")
    agent, begun, stored = Agent("worker", max_concurrent_tasks=1), asyncio.Semaphore(0), asyncio.Event()
    commit, claimed = CommitQueue.commit_now, 0

    @agent.handles("work")
    async def work(_: Context) -> None:
        begun.release()

    async def late(self: CommitQueue, sets: Any) -> Any:
        if any(each.attempts for each in sets):
            await stored.wait()
        return await commit(self, sets)

    monkeypatch.setattr(CommitQueue, "commit_now", late)
    first, second = [await yard.enqueue("work") for _ in range(2)]
    async with working(yard, agent), asyncio.timeout(60):
        await begun.acquire()
        for _ in range(100):
            await asyncio.sleep(0)
        claimed = sum([(await yard.get(task.id)).status is Status.RUNNING for task in (first, second)])
        stored.set()
        await until(yard, second.id, Status.COMPLETED)

    assert claimed == 1


async def test_a_worker_signs_off_only_when_the_output_of_a_handler_that_it_cancelled_is_stored(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    if yard.host.verbs.completions.hand_over is None:
        pytest.skip("a server has this yard")
    agent, begun, handed_over, stored = Agent("worker"), asyncio.Event(), asyncio.Event(), asyncio.Event()
    commit, sign_off, seen = CommitQueue.commit_now, yard.agents.sign_off, list[bool]()

    @agent.handles("work")
    async def work(_: Context) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "last words"
        return "never"

    async def late(self: CommitQueue, sets: Any) -> Any:
        if any(each.attempts for each in sets):
            handed_over.set()
            await stored.wait()
        return await commit(self, sets)

    async def noted(agent_id: str) -> Any:
        seen.append(stored.is_set())
        return await sign_off(agent_id)

    monkeypatch.setattr(CommitQueue, "commit_now", late)
    monkeypatch.setattr(yard.agents, "sign_off", noted)
    task = await yard.enqueue("work")
    worker = Worker(yard, agent, grace_sec=0)
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(60):
        await begun.wait()
        worker.stop()
        await handed_over.wait()
        for _ in range(100):
            await asyncio.sleep(0)
        stored.set()
        await running

    assert seen == [True]
    assert (await yard.get(task.id)).result == "last words"
