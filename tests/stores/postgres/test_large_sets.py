"""A large set is made ready for the database in short turns, of which none holds a lock that others wait for."""

import asyncio
import sys
from collections.abc import Coroutine
from types import FrameType
from typing import Any

import pytest

from taskyard.core.changes import ChangeSet, Committed, RecordChange
from taskyard.stores import turns
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.turns import ShortCalls, giving_way
from tests.stores.given import HERE, a_new_task, a_set

TASKS = 1_000
EVENTS_IN_A_ROW = 512  # of the log
MOST_CALLS = 10 * TASKS  # of functions in a row


async def births(store: PostgresStore) -> ChangeSet:
    return a_set(store, tasks=tuple([await a_new_task(store) for _ in range(TASKS)]))


async def calls_in_a_row(work: Coroutine[Any, Any, object]) -> tuple[int, int]:
    """How many functions were called between two turns of others at most, and in all."""
    counted: list[int] = [0]

    def count(_frame: FrameType, event: str, _given: object) -> None:
        counted[-1] += event in ("call", "c_call")

    async def go_round() -> None:
        while True:
            counted.append(0)
            await asyncio.sleep(0)

    beside = asyncio.create_task(go_round())
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        await work
    finally:
        sys.setprofile(before)
        beside.cancel()
    return max(counted), sum(counted)


async def test_a_large_set_lets_others_in_while_its_statement_is_made(store: PostgresStore):
    first = await births(store)
    most, in_all = await calls_in_a_row(store.commit([first]))

    assert in_all > 2 * MOST_CALLS
    assert most <= MOST_CALLS


async def test_events_of_many_rows_are_read_in_turns(store: PostgresStore):
    for _ in range(4):
        await store.commit([await births(store)])
    most, in_all = await calls_in_a_row(store.events(after=0, limit=4 * TASKS))

    assert in_all > 2 * TASKS
    assert most <= 3 * EVENTS_IN_A_ROW


@pytest.mark.parametrize("is_locked", [False, True])
async def test_only_a_set_that_holds_no_locks_waits_for_short_calls(
    store: PostgresStore, is_locked: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(turns, "PATIENCE", 1_000_000)
    large = await births(store)
    if is_locked:  # with a record, it takes a transaction of several statements
        large = large._replace(records=(RecordChange("kind", HERE, "one", 0, {}),))
    calls = ShortCalls(clock=lambda: 0.0)
    with calls.call(), giving_way(calls):
        committing = asyncio.create_task(store.commit([large]))
        if is_locked:
            await asyncio.wait_for(asyncio.shield(committing), timeout=30)
        small = await a_new_task(store)
        await store.commit([a_set(store, tasks=(small,))])
        assert committing.done() is is_locked

    (answer,) = await committing
    assert isinstance(answer, Committed)
