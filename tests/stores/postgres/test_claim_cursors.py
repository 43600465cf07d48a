"""A lane that much was taken from is looked at from where the last claim ended, and nothing is missed by that."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bench.counting import postgres_pages
from taskyard.core.task import Hot, TaskId
from taskyard.stores.contract import Store
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.fast import claim_cursors
from tests.stores.given import given_a_task, given_tasks, ids, retrying, step
from tests.stores.plans import a_plan, take
from tests.stores.postgres.conftest import Gate
from tests.stores.postgres.test_notify_channel import listening

TAKEN = 1000


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_cursors, "_MANY", TAKEN)
    monkeypatch.setattr(claim_cursors, "_GOOD_FOR", 3600.0)


@pytest.fixture
async def stranger(mine: Any) -> AsyncIterator[None]:
    """Somebody whose open transaction keeps everything from being cleared away."""
    async with mine.transaction(isolation="repeatable_read"):
        await mine.fetchval("select pg_current_xact_id()")
        yield


async def given_a_floor(store: Store) -> list[Hot]:
    """Much was taken, and as much is left; what was taken is answered."""
    await given_tasks(store, 2 * TAKEN, rank=5)
    return await taken_from(store, TAKEN)


async def taken_from(store: Store, number: int) -> list[Hot]:
    plan = await a_plan(store, tasks=number, slots=3 * TAKEN)
    return list((await take(store, plan)).tasks)


async def next_of(store: Store) -> list[TaskId]:
    return ids(await taken_from(store, 1))


async def pages_read(store: Store) -> float:
    """By the next claim, to choose what it takes."""
    with postgres_pages() as counted:
        await next_of(store)
        return counted.counts(most_rows=0)["pages"].value


async def test_claims_do_not_walk_over_what_was_taken_before(
    store: PostgresStore, other: PostgresStore, stranger: None
):
    await given_a_floor(store)

    assert await pages_read(store) < await pages_read(other) / 2


async def test_what_comes_in_front_is_taken_first(store: PostgresStore):
    await given_a_floor(store)

    urgent = await given_a_task(store, rank=1)

    assert await next_of(store) == [urgent.id]


async def test_what_another_process_puts_in_front_is_taken_first_once_its_hint_has_come(
    store: PostgresStore, other: PostgresStore, gate: Gate
):
    await given_a_floor(store)
    await next_of(store)
    await gate.until(f"select count(*) {listening(gate)}", 1)
    heard = asyncio.create_task(store.changed(await store.changed(0, 0), 60))
    await asyncio.sleep(0)

    urgent = await given_a_task(other, rank=1)
    await asyncio.wait_for(heard, 30)

    assert await next_of(store) == [urgent.id]


async def test_what_is_given_back_is_taken_again_before_the_rest(store: PostgresStore):
    taken = await given_a_floor(store)

    await step(store, retrying(store, taken[3], until=store.now()))

    assert await next_of(store) == [taken[3].id]


async def move_to_front(session: Any, gate: Gate, task: Hot) -> None:
    """As nobody does who tells others of it."""
    for table in ("task", "ready"):
        await session.execute(f"update {gate.schema}.{table} set rank = 1 where seq = $1", task.seq)


async def test_what_nobody_was_notified_of_is_found_when_there_is_nothing_else(
    store: PostgresStore, mine: Any, gate: Gate
):
    await given_a_floor(store)
    await taken_from(store, TAKEN)
    missed = await given_a_task(store, rank=9)
    await move_to_front(mine, gate, missed)

    assert await next_of(store) == [missed.id]


async def test_after_a_while_a_lane_is_looked_at_from_its_beginning(
    store: PostgresStore, mine: Any, gate: Gate, monkeypatch: pytest.MonkeyPatch
):
    await given_a_floor(store)
    missed = await given_a_task(store, rank=9)
    await move_to_front(mine, gate, missed)
    assert await next_of(store) != [missed.id]

    monkeypatch.setattr(claim_cursors, "monotonic", lambda: float("inf"))

    assert await next_of(store) == [missed.id]
