"""A worker without work: what wakes it, what does not, and how it stops."""

import asyncio
from typing import Any

import pytest

from taskyard import Agent
from taskyard.app import Yard
from taskyard.core.task import Status
from taskyard.features.tasks.views import MarkedClaim
from taskyard.worker.context import Context
from tests.worker.conftest import until, working

BATCHES = 5


async def test_the_poll_alone_finds_work_that_no_wake_up_announced(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent("worker", poll_interval_sec=0.2)

    @agent.handles("work")
    async def work(task: Context) -> str:
        return "found"

    async def deaf(agent_id: str, mark: str, timeout_sec: float, **named: Any) -> str:
        await asyncio.sleep(timeout_sec)  # no wake-up ever comes: only the time-out
        return mark

    monkeypatch.setattr(yard.attempts, "wait_for_work", deaf)
    async with working(yard, agent):
        task = await yard.enqueue("work")
        await until(yard, task.id, Status.COMPLETED)

    assert (await yard.get(task.id)).result == "found"


async def test_a_worker_that_waits_need_not_ask_where_the_yard_stands(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent("worker", poll_interval_sec=600)
    asked: list[bool] = []
    waits, wait_for_work = asyncio.Event(), yard.attempts.wait_for_work

    async def mark() -> str:
        asked.append(True)
        return ""

    async def noted(*given: Any, **named: Any) -> str:
        waits.set()
        return await wait_for_work(*given, **named)

    @agent.handles("work")
    async def work(task: Context) -> None: ...

    monkeypatch.setattr(yard, "mark", mark)
    monkeypatch.setattr(yard.attempts, "wait_for_work", noted)
    async with working(yard, agent), asyncio.timeout(30):
        await waits.wait()
        await until(yard, (await yard.enqueue("work")).id, Status.COMPLETED)

    assert not asked


async def test_a_slot_that_comes_free_does_not_end_a_wait_that_was_not_for_slots(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent("worker", max_concurrent_tasks=2)
    waits: list[bool] = []
    waiting, go_on = asyncio.Event(), asyncio.Event()

    async def deaf(*given: Any, **named: Any) -> str:
        waits.append(True)
        waiting.set()
        await asyncio.Event().wait()
        return ""

    @agent.handles("work")
    async def work(task: Context) -> None:
        await go_on.wait()

    monkeypatch.setattr(yard.attempts, "wait_for_work", deaf)
    task = await yard.enqueue("work")
    async with working(yard, agent), asyncio.timeout(30):
        await waiting.wait()
        go_on.set()
        await until(yard, task.id, Status.COMPLETED)

    assert len(waits) == 1


async def test_a_worker_claims_once_for_what_comes_and_not_for_what_it_does(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent("worker", max_concurrent_tasks=5, poll_interval_sec=600)
    claims: list[int] = []
    waits, attempts = asyncio.Semaphore(0), yard.attempts
    claim_marked, wait_for_work = attempts.claim_marked, attempts.wait_for_work

    async def claimed(*given: Any, **named: Any) -> MarkedClaim:
        taken = await claim_marked(*given, **named)
        claims.append(len(taken.tasks))
        return taken

    async def waited(*given: Any, **named: Any) -> str:
        waits.release()
        return await wait_for_work(*given, **named)

    @agent.handles("work")
    async def work(task: Context) -> None:
        await task.stream("done")

    monkeypatch.setattr(attempts, "claim_marked", claimed)
    monkeypatch.setattr(attempts, "wait_for_work", waited)
    async with working(yard, agent), asyncio.timeout(30):
        for number in range(BATCHES + 1):
            if number == 1:
                claims.clear()  # who has just begun looks more often: the type is new
            tasks = await yard.enqueue_many([{"type": "work"}, {"type": "work"}])
            for task in tasks:
                await until(yard, task.id, Status.COMPLETED)
            await waits.acquire()

    assert sum(claims) == 2 * BATCHES
    assert claims.count(0) <= BATCHES // 2  # some on PostgreSQL, where it begins to listen


async def test_an_idle_worker_stops_at_once_however_seldom_it_would_look(yard: Yard) -> None:
    agent = Agent("worker", poll_interval_sec=600)
    task = await yard.enqueue("work")

    @agent.handles("work")
    async def work(task: Context) -> None: ...

    async with asyncio.timeout(30):
        async with working(yard, agent):
            await until(yard, task.id, Status.COMPLETED)
