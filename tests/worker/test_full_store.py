"""A result that meets a store without room is kept by the worker, and handed in when there is room."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import taskyard
from taskyard.core.task import Status
from taskyard.stores.sqlite import SqliteStore
from taskyard.stores.sqlite.transaction import SqliteTransaction
from taskyard.worker.runner import Worker

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


async def test_a_result_that_meets_a_full_store_is_handed_in_again(tmp_path: Path, kept: asyncio.Event):
    agent = taskyard.Agent("writer")

    @agent.handles("code")
    async def write(_: taskyard.Context) -> dict[str, Any]:
        await room(1)
        return {"text": "x" * 500_000}

    async with taskyard.connect(f"sqlite:///{tmp_path / 'yard.db'}") as yard:
        store = yard.store
        assert isinstance(store, SqliteStore)

        async def room(pages: int) -> None:
            def limit(transaction: SqliteTransaction) -> None:
                most = transaction.connection.pragma("page_count") + pages
                transaction.connection.pragma("max_page_count", most)

            await store._open_writer().do(limit)  # pyright: ignore[reportPrivateUsage]

        task = await yard.enqueue("code")
        worker = Worker(yard, agent)
        running = asyncio.create_task(worker.run())
        async with asyncio.timeout(30):
            await kept.wait()
            assert (await yard.get(task.id)).status is Status.RUNNING
            await room(MANY)
            while (await yard.get(task.id)).status is not Status.COMPLETED:
                await yard.changed(await yard.mark(), 1)
        worker.stop()
        await running
