"""A result that meets a store without room is kept by the worker, and handed in when there is room."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import taskyard
from taskyard.core.errors import StoreFull
from taskyard.core.task import Status
from taskyard.stores.sqlite import SqliteStore
from taskyard.stores.sqlite.transaction import SqliteTransaction
from taskyard.worker.context import Context
from taskyard.worker.process.result_delivery import hand_in
from taskyard.worker.process.runner import Worker

MANY = 1_000_000  # pages


class Heard(logging.Handler):
    """Sets an event when a result is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.event = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "is kept, and handed in again" in record.getMessage():
            self.event.set()


@pytest.fixture
def kept() -> Iterator[asyncio.Event]:
    handler = Heard()
    logger = logging.getLogger("taskyard.worker")
    logger.addHandler(handler)
    yield handler.event
    logger.removeHandler(handler)


@pytest.mark.parametrize("ends", [Status.COMPLETED, Status.DEAD_LETTERED])
async def test_a_result_that_meets_a_full_store_is_handed_in_again(tmp_path: Path, kept: asyncio.Event, ends: Status):
    agent = taskyard.Agent("writer")

    @agent.handles("code")
    async def write(_: taskyard.Context) -> dict[str, Any]:
        await room(1)
        if ends is Status.DEAD_LETTERED:
            raise taskyard.Fail("agent_error", "x" * 10_000)
        return {"text": "x" * 500_000}

    async with taskyard.connect(f"sqlite:///{tmp_path / 'yard.db'}") as yard:
        store = yard.store
        assert isinstance(store, SqliteStore)

        async def room(pages: int) -> None:
            def limit(transaction: SqliteTransaction) -> None:
                most = transaction.connection.pragma("page_count") + pages
                transaction.connection.pragma("max_page_count", most)

            await store._open_writer().do(limit)  # pyright: ignore[reportPrivateUsage]

        task = await yard.enqueue("code", max_attempts=1)
        worker = Worker(yard, agent)
        running = asyncio.create_task(worker.run())
        async with asyncio.timeout(30):
            await kept.wait()
            assert (await yard.get(task.id)).status is Status.RUNNING
            await room(MANY)
            while (await yard.get(task.id)).status is not ends:
                await yard.changed(await yard.mark(), 1)
        worker.stop()
        await running


async def test_an_attempt_that_was_stopped_hands_in_only_once():
    stopped = cast(Context, SimpleNamespace(id="task", stopped="stopping"))

    async def refused() -> None:
        raise StoreFull("no room")

    with pytest.raises(StoreFull):
        async with asyncio.timeout(30):
            await hand_in(stopped, refused)
