"""One `store` fixture over every store. No test here knows which one it has.

TASKYARD_TEST_STORES names the stores to test, separated by commas; all of them where it says nothing. A store that is
asked for and cannot be made fails its tests.
"""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from taskyard.service.clock import ManualClock
from taskyard.stores.contract import Clock, Store
from tests.stores.given import Connect

Yard = Callable[[], Store]  # each call is another process's view of the same data


def memory(folder: Path, clock: Clock) -> Yard:
    from taskyard.stores.memory import MemoryStore  # noqa: PLC0415 - a store that is not asked for is not needed

    only = MemoryStore(clock=clock)
    return lambda: only


def sqlite(folder: Path, clock: Clock) -> Yard:
    from taskyard.stores.sqlite import SqliteStore  # noqa: PLC0415

    return lambda: SqliteStore(folder / "yard.db", clock=clock)


STORES: dict[str, Callable[[Path, Clock], Yard]] = {"memory": memory, "sqlite": sqlite}


def asked_for() -> list[str]:
    return [name.strip() for name in os.environ.get("TASKYARD_TEST_STORES", ",".join(STORES)).split(",")]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=asked_for())
async def connect(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Connect]:
    """Opens the yard, as often as wanted: as one more process would, where the store can be shared."""
    name: str = request.param
    assert name in STORES, f"TASKYARD_TEST_STORES asks for {name!r}, and there are only {', '.join(STORES)}"
    yard = STORES[name](tmp_path, clock)
    opened: list[Store] = []

    async def connect() -> Store:
        store = yard()
        await store.open()
        opened.append(store)
        return store

    yield connect
    for store in opened:
        await store.close()


@pytest.fixture
async def store(connect: Connect) -> AsyncIterator[Store]:
    store = await connect()
    yield store
    assert await store.checks() == []


@pytest.fixture
async def other(store: Store, connect: Connect) -> Store:
    """The same yard, as another process has it open."""
    return await connect()
