"""A task that is put in inside the caller's own transaction commits or vanishes with it, whatever the driver."""

from typing import Any

import asyncpg
import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

import taskyard
from taskyard.core.errors import InvalidInput
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.connection.address import parse_address
from tests.stores.given import HERE, a_lane, a_new_task, every_event, new
from tests.stores.plans import a_plan, take


@pytest.mark.parametrize("kept", [True, False])
async def test_with_psycopg(store: PostgresStore, url: str, kept: bool):
    fresh = await a_new_task(store)
    tagged = new(fresh.hot, tags=("100%", "new"))
    mine: Any = await psycopg.AsyncConnection.connect(parse_address(url, "").url)
    guest = store.join(mine)

    assert await guest.lanes([a_lane()]) == [fresh.hot.lane]
    await guest.lanes([a_lane(type="never seen")])
    await guest.insert([tagged], [])
    assert await store.load([fresh.hot.id]) == {}
    await (mine.commit() if kept else mine.rollback())
    await mine.close()

    assert len(await store.load([fresh.hot.id])) == kept
    assert len(await every_event(store)) == kept
    claimed = await take(store, await a_plan(store))
    assert [task.id for task in claimed.tasks] == [fresh.hot.id] * kept


async def test_with_asyncpg_a_key_is_found(store: PostgresStore, mine: Any):
    fresh = await a_new_task(store, idempotency_key="k")
    async with mine.transaction():
        guest = store.join(mine)
        await guest.insert([fresh], [])
        assert await guest.by_key(HERE, ["k"]) == {"k": fresh.hot.id}
        assert await store.by_key(HERE, ["k"]) == {}

    assert await store.by_key(HERE, ["k"]) == {"k": fresh.hot.id}


@pytest.mark.parametrize("driver", ["asyncpg", "psycopg"])
@pytest.mark.parametrize("kept", [True, False])
async def test_with_an_asynchronous_engine_of_sqlalchemy(url: str, driver: str, kept: bool):
    engine = create_async_engine(dialect(url, driver))
    async with taskyard.connect(url, sweeps=False) as yard, engine.connect() as mine:
        task = await yard.tasks.enqueue_in(mine, "code", payload={"tea": "100%"})
        assert await yard.find() == []
        await (mine.commit() if kept else mine.rollback())

        assert [found.id for found in await yard.find()] == [task.id] * kept
    await engine.dispose()


@pytest.mark.parametrize("kept", [True, False])
def test_with_a_synchronous_engine_of_sqlalchemy(url: str, kept: bool):
    engine = create_engine(dialect(url, "psycopg"))
    with taskyard.connect_sync(url, sweeps=False) as yard, engine.connect() as mine:
        task = yard.tasks.enqueue_in(mine, "code", payload={"tea": "100%"})
        assert yard.find() == []
        mine.commit() if kept else mine.rollback()

        assert [found.id for found in yard.find()] == [task.id] * kept
    engine.dispose()


async def test_a_connection_without_a_transaction_is_refused(url: str, mine: asyncpg.Connection):
    own: Any = await psycopg.AsyncConnection.connect(parse_address(url, "").url, autocommit=True)
    async with taskyard.connect(url, sweeps=False) as yard:
        for connection in (mine, own):
            with pytest.raises(InvalidInput):
                await yard.tasks.enqueue_in(connection, "code")

        assert await yard.find() == []
    await own.close()


def dialect(url: str, driver: str) -> str:
    return parse_address(url, "").url.replace("postgresql://", f"postgresql+{driver}://")
