"""One `store` fixture over every store of tests/storage.py. No test here knows which one it has."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from tests.loops import pytest_asyncio_loop_factories, pytest_runtest_setup
from tests.storage import asked_for, give_back, opener, take
from tests.stores.given import Connect

__all__ = ["pytest_asyncio_loop_factories", "pytest_runtest_setup"]
OF_NEW_YARDS = frozenset({"test_migrations", "test_opening"})  # files about how a yard comes to be


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=asked_for())
async def connect(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Connect]:
    """Opens the yard, as often as wanted: as one more process would, where the store can be shared."""
    if request.path.stem not in OF_NEW_YARDS:
        take(request.param, tmp_path)
    yard = opener(request.param, tmp_path, clock)
    opened: list[Store] = []

    async def connect() -> Store:
        store = yard()
        await store.open()
        opened.append(store)
        return store

    yield connect
    for store in opened:
        await store.close()
    give_back(request.param, tmp_path)


@pytest.fixture
async def store(connect: Connect) -> AsyncIterator[Store]:
    store = await connect()
    yield store
    assert await store.checks() == []


@pytest.fixture
async def other(store: Store, connect: Connect) -> Store:
    """The same yard, as another process has it open."""
    return await connect()
