"""Yards that older releases have left, as this one finds them."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from taskyard.core.errors import MigrationNeedsStop, SchemaTooNew
from taskyard.ledger.clock import ManualClock
from taskyard.stores.redis import RedisStore
from taskyard.stores.redis.connection.address import parse_address
from tests import redis_servers
from tests.storage import asked_for, url_of

Make = Callable[..., RedisStore]
BY_REDIS = [name for name in asked_for() if name.startswith("redis")]


@pytest.fixture(params=BY_REDIS)
def which(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def url(which: str, tmp_path: Path) -> str:
    return url_of(which, tmp_path)


@pytest.fixture
async def make(url: str, clock: ManualClock) -> AsyncIterator[Make]:
    """Makes stores of one yard, and closes them in the end."""
    made: list[RedisStore] = []

    def make(**options: bool) -> RedisStore:
        made.append(RedisStore(url, clock=clock, **options))
        return made[-1]

    yield make
    for store in made:
        await store.close()


@pytest.fixture
def client(which: str, url: str) -> Any:
    """Somebody who looks at the yard's server from outside."""
    if which == "redis-cluster":
        return redis_servers.shared_cluster().owner_of(key(url, "meta")).client()
    return redis_servers.shared(newer=which == "redis7").client()


def key(url: str, name: str) -> str:
    return parse_address(url).prefix + name


async def test_a_yard_of_the_first_format_is_left_alone_until_somebody_migrates(make: Make, client: Any, url: str):
    await make().open()
    client.delete(key(url, "meta"))
    client.rename(key(url, "state"), key(url, "meta"))
    client.hset(key(url, "meta"), mapping={"version": 1, "min_reader": 1, "min_writer": 1})

    for store in (make(), make(migrates=False)):
        with pytest.raises(MigrationNeedsStop):
            await store.open()

    await make().migrate()
    await make(migrates=False).open()


async def test_a_yard_of_a_format_to_come_is_refused_and_stays_as_it_is(make: Make, client: Any, url: str):
    await make().open()
    client.hset(key(url, "state"), mapping={"version": 9, "min_reader": 9, "min_writer": 9})

    with pytest.raises(SchemaTooNew):
        await make().open()

    assert client.hget(key(url, "state"), "version") == "9"
