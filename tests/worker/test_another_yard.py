"""A yard that is emptied under its workers, and a store that is away when work begins."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import taskyard
from taskyard.core.errors import StoreUnavailable
from taskyard.core.task import Status
from taskyard.features.agents.views import Orphans
from taskyard.worker.process import membership
from taskyard.worker.process.runner import Worker
from taskyard.worker.process.runtime_files import enter
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
            while not await producer.agents.list():
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
            patch.setattr(yard.agents, "register", away)
            assert await worker.work_once() == 0
        assert "the yard does not know this agent any more" in caplog.text
        assert "could not be registered, will be tried again: " in caplog.text

        await yard.enqueue("code")
        assert [await worker.work_once() for _ in range(2)] == [0, 1]


async def test_a_worker_gives_up_what_the_dead_held_once_the_store_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The store goes away between the worker's start and its first call."""
    monkeypatch.chdir(tmp_path)
    dead = enter(None)
    assert dead.lock is not None
    dead.lock.close()  # as its death would do
    asked: list[str] = []
    async with taskyard.connect("memory://") as yard:
        give_up = yard.runtimes.orphans

        async def away_at_first(runtime: str, **named: Any) -> Orphans:
            asked.append(named["incarnation"])
            if len(asked) == 1:
                raise StoreUnavailable("it is away")
            return await give_up(runtime, **named)

        monkeypatch.setattr(yard.runtimes, "orphans", away_at_first)
        working = asyncio.create_task(yard.work(an_agent()))
        await completed(yard)
        os.kill(os.getpid(), signal.SIGTERM)  # which asks this worker to stop
        await working

    assert asked[:2] == [dead.incarnation] * 2
    assert locks_in(tmp_path) == []


def locks_in(folder: Path) -> list[Path]:
    return list(folder.glob(".taskyard/*.lock"))


async def test_the_command_work_waits_for_a_store_that_is_away(server: RedisServer, tmp_path: Path):
    server.kill()
    words = (sys.executable, "-m", "taskyard", "--url", server.url, "work", "--exec", "cat", "--type", "code")
    worker = await asyncio.create_subprocess_exec(
        *words, cwd=tmp_path, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
    )
    assert worker.stderr is not None
    async with asyncio.timeout(30):
        while b"waits for the yard" not in (line := await worker.stderr.readline()):
            assert line, "the worker ended"
    server.start()

    async with taskyard.connect(server.url) as yard:
        await completed(yard)
    worker.terminate()
    await worker.communicate()
    assert worker.returncode == 0


@pytest.mark.parametrize(("reminded_after", "said"), [(3600.0, 1), (-1.0, 5)])
async def test_who_waits_for_the_yard_says_so_and_again_only_from_time_to_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, reminded_after: float, said: int
):
    monkeypatch.setattr(membership, "ASKED_AGAIN", 0)
    monkeypatch.setattr(membership, "REMINDED", reminded_after)
    left = list(range(5))

    async def away_for_a_while() -> str:
        if left:
            left.pop()
            raise StoreUnavailable("the yard is away")
        return "there"

    assert await membership.when_reached(away_for_a_while) == "there"
    assert caplog.text.count("waits for the yard, for 0 s so far") == said
