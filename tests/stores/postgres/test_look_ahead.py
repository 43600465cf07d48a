"""A look that is made for the next claim while one is written: it saves a wait, and what it saw is checked again."""

import asyncio
from typing import Any

import pytest

from taskyard.core.task import Hot
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.connection.notify_channel import NotifyChannel
from taskyard.stores.postgres.connection.session import PostgresSession
from taskyard.stores.postgres.fast import claim_cursors, look_ahead
from tests.stores.given import BOB, HERE, cancelling, given_a_task, given_tasks, ids, step
from tests.stores.plans import a_plan, take

TAKEN = 20
SLOTS = 10 * TAKEN


def _be_deaf(_: NotifyChannel) -> None:
    """Listen to nobody."""


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_cursors, "_MANY", TAKEN)
    monkeypatch.setattr(claim_cursors, "_GOOD_FOR", 3600.0)
    monkeypatch.setattr(look_ahead, "WORTH_A_LOOK", TAKEN)
    monkeypatch.setattr(NotifyChannel, "listen", _be_deaf)  # who begins to listen resets the cursors once


@pytest.fixture
def looks(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many were made by each call of `taken`."""
    made: list[int] = [0]
    fetch, look = PostgresSession.fetch, store._sql["look"]  # pyright: ignore[reportPrivateUsage]

    async def counted(self: PostgresSession, query: str, *values: Any) -> Any:
        made[-1] += query == look
        return await fetch(self, query, *values)

    monkeypatch.setattr(PostgresSession, "fetch", counted)
    return made


async def given_a_look_ahead(store: PostgresStore, left: int = 3 * TAKEN) -> list[Hot]:
    """Two claims were made, and what the second leaves was looked at; what is left is answered."""
    await given_tasks(store, 2 * TAKEN, rank=5)
    seen = await given_tasks(store, left, rank=7)
    for _ in range(2):
        await taken(store)
    claims = store._optimistic_claims  # pyright: ignore[reportPrivateUsage]
    assert claims is not None
    assert claims.look_ahead is not None
    await asyncio.gather(*claims.look_ahead.looking)
    return seen


async def taken(store: PostgresStore, number: int = TAKEN, slots: int = SLOTS) -> list[Hot]:
    return list((await take(store, await a_plan(store, tasks=number, slots=slots))).tasks)


async def held(store: PostgresStore, agent: str) -> int:
    limits = await store.limits(HERE, [f"slots:{agent}"])
    return limits[f"slots:{agent}"].held if limits else 0


async def test_a_claim_uses_the_look_that_was_made_before_it(store: PostgresStore, looks: list[int]):
    left = await given_a_look_ahead(store)
    looks.append(0)

    first = await taken(store)

    assert ids(first) == ids(left[:TAKEN])
    assert looks[-1] == 1  # for the claim after it
    assert ids(await taken(store)) == ids(left[TAKEN : 2 * TAKEN])


async def test_who_asks_for_fewer_gets_the_best_of_what_was_seen(store: PostgresStore, looks: list[int]):
    left = await given_a_look_ahead(store)
    looks.append(0)

    assert ids(await taken(store, 3)) == ids(left[:3])
    assert looks[-1] == 0
    assert ids(await taken(store, 3)) == ids(left[3:6])


async def test_who_asks_for_more_than_was_seen_gets_them(store: PostgresStore):
    left = await given_a_look_ahead(store)

    assert ids(await taken(store, TAKEN + 5)) == ids(left[: TAKEN + 5])


async def test_the_last_ones_are_taken_too(store: PostgresStore):
    left = await given_a_look_ahead(store, left=3)

    assert ids(await taken(store)) == ids(left)
    assert await taken(store) == []


@pytest.mark.parametrize("rank", [1, 6])
async def test_what_has_come_in_front_meanwhile_is_taken_first(store: PostgresStore, rank: int):
    left = await given_a_look_ahead(store)

    urgent = await given_a_task(store, rank=rank)

    assert ids(await taken(store)) == ids([urgent, *left[: TAKEN - 1]])


async def test_what_comes_in_behind_leaves_the_look_as_it_is(store: PostgresStore, looks: list[int]):
    left = await given_a_look_ahead(store)
    await given_a_task(store, rank=9)
    looks.append(0)

    assert ids(await taken(store, 3)) == ids(left[:3])
    assert looks[-1] == 0


async def test_what_another_has_taken_meanwhile_is_not_taken_again(store: PostgresStore, other: PostgresStore):
    left = await given_a_look_ahead(store)
    theirs = await take(other, await a_plan(other, tasks=5, agent=BOB))

    mine = await taken(store)

    assert ids(theirs.tasks) == ids(left[:5])
    assert ids(mine) == ids(left[5 : TAKEN + 5])
    assert (await held(store, "ada"), await held(store, BOB)) == (3 * TAKEN, 5)


async def test_what_was_cancelled_meanwhile_stays_so(store: PostgresStore, other: PostgresStore):
    left = await given_a_look_ahead(store)
    await step(other, cancelling(other, left[1]))

    assert ids(await taken(store)) == ids([left[0], *left[2 : TAKEN + 1]])


async def test_slots_that_were_filled_meanwhile_are_not_filled_twice(store: PostgresStore):
    left = await given_a_look_ahead(store)

    assert ids(await taken(store, slots=2 * TAKEN + 3)) == ids(left[:3])
    assert await held(store, "ada") == 2 * TAKEN + 3


async def test_a_store_is_closed_with_a_look_under_way(store: PostgresStore, other: PostgresStore):
    await given_tasks(store, 4 * TAKEN, rank=5)
    for _ in range(2):
        await taken(other)

    await other.close()


async def test_what_one_server_has_shown_is_taken_from_no_other(store: PostgresStore, monkeypatch: pytest.MonkeyPatch):
    left, dropped = await given_a_look_ahead(store), list[bool]()
    claims = store._optimistic_claims  # pyright: ignore[reportPrivateUsage]
    assert claims is not None
    claims._pool.lost_connection()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(claims.look_ahead, "drop", lambda: dropped.append(True))

    assert ids(await taken(store)) == ids(left[:TAKEN])
    assert dropped == [True]
