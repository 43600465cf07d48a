"""The tail of events never skips a number that is still to come, and never waits for a stranger."""

from typing import Any

from taskyard.stores.postgres import PostgresStore
from tests.stores.given import HERE, a_new_task, every_event, given_a_task
from tests.stores.postgres.conftest import Gate


async def numbers(store: PostgresStore) -> list[int]:
    return [stored.seq for stored in await every_event(store)]


async def test_what_came_after_an_open_number_is_reported_with_it(store: PostgresStore, mine: Any):
    first = await given_a_task(store)
    fresh = await a_new_task(store)
    transaction = mine.transaction()
    await transaction.start()
    await store.join(mine).insert([fresh], [])
    later = await given_a_task(store)

    assert [stored.event.task_id for stored in await every_event(store)] == [first.id]
    assert await store.events(after=0, limit=10, workspace=HERE) == await every_event(store)
    assert len(await store.events(after=0, limit=10, task_id=later.id)) == 1

    await transaction.commit()
    assert [stored.event.task_id for stored in await every_event(store)] == [first.id, fresh.hot.id, later.id]


async def test_a_number_that_was_rolled_back_is_given_up(store: PostgresStore, mine: Any):
    fresh = await a_new_task(store)
    transaction = mine.transaction()
    await transaction.start()
    await store.join(mine).insert([fresh], [])
    later = await given_a_task(store)

    await transaction.rollback()

    assert [stored.event.task_id for stored in await every_event(store)] == [later.id]


async def test_a_strangers_idle_transaction_holds_nothing_up(store: PostgresStore, mine: Any, gate: Gate):
    rolled_back = await a_new_task(store)
    stranger = mine.transaction(isolation="repeatable_read")
    await stranger.start()
    await mine.execute("create table stranger (id int)")  # it has a number of its own, and pins the horizon
    try:
        own = gate.session.transaction()
        await own.start()
        await store.join(gate.session).insert([rolled_back], [])
        await own.rollback()
        tasks = [await given_a_task(store) for _ in range(3)]

        assert [stored.event.task_id for stored in await every_event(store)] == [task.id for task in tasks]
    finally:
        await stranger.rollback()
