"""A yard that is emptied under its workers, and a store that is away when work begins."""

import asyncio
from collections.abc import AsyncIterator

import pytest

import taskyard
from taskyard.core.errors import StoreUnavailable
from taskyard.core.task import Status
from taskyard.worker.runner import Worker
from tests.redis_servers import RedisServer


@pytest.fixture
async def server() -> AsyncIterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.end()


def an_agent() -> taskyard.Agent:
    agent = taskyard.Agent("worker", poll_interval_sec=0.2)

    @agent.handles("code")
    async def work(_: taskyard.Context) -> None:
        pass

    return agent


async def completed(yard: taskyard.Yard) -> None:
    task = await yard.enqueue("code")
    async with asyncio.timeout(30):
        while (await yard.get(task.id)).status is not Status.COMPLETED:
            await yard.changed(await yard.mark(), 0.5)


async def test_a_worker_registers_again_with_a_yard_that_was_emptied(server: RedisServer):
    async with taskyard.connect(server.url) as yard, taskyard.connect(server.url, sweeps=False) as producer:
        worker = Worker(yard, an_agent())
        running = asyncio.create_task(worker.run())
        await completed(producer)

        server.client().flushall()
        async with asyncio.timeout(30):
            while not await producer.agents():
                await producer.changed(await producer.mark(), 0.2)

        await completed(producer)
        worker.stop()
        await running


async def test_a_worker_that_begins_while_the_store_is_away_waits_for_it(server: RedisServer):
    async with taskyard.connect(server.url, call_timeout_sec=1) as yard:
        server.kill()
        worker = Worker(yard, an_agent())
        running = asyncio.create_task(worker.run())
        done, _ = await asyncio.wait([running], timeout=1)
        assert not done
        server.start()

        await completed(yard)
        worker.stop()
        await running


async def test_a_worker_that_is_not_known_says_so_and_goes_on_though_the_store_is_away(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("it is away")

    async with taskyard.connect("memory://") as yard:
        worker = Worker(yard, an_agent())
        with monkeypatch.context() as patch:
            patch.setattr(yard, "register", away)
            assert await worker.work_once() == 0
        assert "the yard does not know this agent any more" in caplog.text
        assert "could not be registered, will be tried again: " in caplog.text

        await yard.enqueue("code")
        assert [await worker.work_once() for _ in range(2)] == [0, 1]
