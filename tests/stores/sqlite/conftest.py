"""A yard in one file, and the thread behind it for those who want to get at its connection."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from taskyard.ledger.clock import ManualClock
from taskyard.stores.shared.store_clock import StoreClock
from taskyard.stores.sqlite import SqliteStore
from taskyard.stores.sqlite.threads.writer import Writer


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """On a disk: most other tests keep their files in memory."""
    with TemporaryDirectory(prefix="taskyard-") as name:
        yield Path(name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "yard.db"


@pytest.fixture
async def store(path: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, clock=clock)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def other(store: SqliteStore, path: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    other = SqliteStore(path, clock=clock)
    await other.open()
    yield other
    await other.close()


@pytest.fixture
async def writer(path: Path, clock: ManualClock) -> AsyncIterator[Writer]:
    writer = Writer(path, StoreClock(clock), asyncio.get_running_loop(), lambda _: None, lambda _: None)
    await writer.start()
    yield writer
    await writer.stop()
