"""A task that is put in inside the caller's own transaction commits or vanishes with it, whatever the driver."""

from typing import Any

import psycopg
import pytest

from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.connecting import address
from tests.stores.given import HERE, a_lane, a_new_task, every_event, new
from tests.stores.plans import a_plan, take


@pytest.mark.parametrize("kept", [True, False])
async def test_with_psycopg(store: PostgresStore, url: str, kept: bool):
    fresh = await a_new_task(store)
    tagged = new(fresh.hot, tags=("100%", "new"))
    mine: Any = await psycopg.AsyncConnection.connect(address(url, "").url)
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
