"""A yard on a server of its own, which a test may hurt; and a relay in front of it, for what goes wrong on the way."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from taskyard.ledger.clock import ManualClock
from taskyard.stores.redis import RedisStore
from tests.redis_servers import RedisServer
from tests.stores.redis.relay import Relay

Connect = Callable[..., Awaitable[RedisStore]]


@pytest.fixture
def server() -> Iterator[RedisServer]:
    server = RedisServer("--appendonly", "yes", "--appendfsync", "always").start()
    yield server
    server.end()


@pytest.fixture
async def connect(server: RedisServer, clock: ManualClock) -> AsyncIterator[Connect]:
    opened: list[RedisStore] = []

    async def connect(url: str | None = None) -> RedisStore:
        store = RedisStore(url or server.url, clock=clock)
        await store.open()
        opened.append(store)
        return store

    yield connect
    for store in opened:
        await store.close()


@pytest.fixture
async def store(connect: Connect) -> AsyncIterator[RedisStore]:
    store = await connect()
    yield store
    assert await store.checks() == []


@pytest.fixture
async def other(connect: Connect, store: RedisStore) -> RedisStore:
    return await connect()


@pytest.fixture
async def relay(server: RedisServer) -> AsyncIterator[Relay]:
    relay = Relay(server.port)
    await relay.open()
    yield relay
    await relay.close()
