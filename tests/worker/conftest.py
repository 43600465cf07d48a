"""A yard on the machine's clock, over every store: agents live in real time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

import taskyard
from taskyard.app import Yard
from taskyard.core.task import Status
from taskyard.host import LocalHost
from taskyard.ledger.clock import SystemClock
from taskyard.ledger.options import Options
from taskyard.worker.handlers import Agent
from taskyard.worker.process.heartbeats import HeartbeatSender
from taskyard.worker.process.runner import Worker
from tests.local_only import HTTP
from tests.remote import served_beside
from tests.storage import asked_for, give_back, opener, take


@pytest.fixture(params=asked_for())
async def yard(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Yard]:
    take(request.param, tmp_path)
    store = opener(request.param, tmp_path, SystemClock())()
    options = Options(transcripts=tmp_path / "transcripts", artifacts=(tmp_path / "artifacts").as_uri())
    async with AsyncExitStack() as stack:
        if request.param == HTTP:
            url = await asyncio.to_thread(stack.enter_context, served_beside(Yard(LocalHost(store, options))))
            yard = await stack.enter_async_context(taskyard.connect(url))
        else:
            yard = await stack.enter_async_context(Yard(LocalHost(store, options)))
        yield yard
        verified = await yard.verify()
        assert verified.ok, str(verified)
    give_back(request.param, tmp_path)


@asynccontextmanager
async def working(
    yard: Yard, agent: Agent, *, grace_sec: float = 5, heartbeats: HeartbeatSender | None = None
) -> AsyncGenerator[Worker]:
    """The agent at work, until the block is left. Whoever gives a heartbeats sees to its leases."""
    worker = Worker(yard, agent, grace_sec=grace_sec, heartbeats=heartbeats)
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await running


async def until(yard: Yard, task_id: str, status: Status, *, within: float = 60) -> None:
    """Wait for the event, not for a time."""
    async with asyncio.timeout(within):
        async for stored in yard.tail():
            if stored.event.task_id == task_id and stored.event.status is status:
                return
