"""A large set is made ready for the database in short turns, of which none holds a lock that others wait for."""

import asyncio
import gc
import sys
from collections.abc import Coroutine, Sequence
from types import FrameType
from typing import Any

import pytest

from taskyard.core.changes import ChangeSet, Committed, NewTask, RecordChange, Taken
from taskyard.stores import turns
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.transaction import PIECE, PostgresTransaction
from taskyard.stores.shared import log_rows
from taskyard.stores.shared.rows import Row
from taskyard.stores.turns import ShortCalls, giving_way
from tests.stores.given import HERE, a_new_task, a_set

TASKS = 1_000
EVENTS_IN_A_ROW = 512  # of the log
MOST_CALLS = 10 * TASKS  # of functions in a row


async def births(store: PostgresStore) -> ChangeSet:
    """New tasks in the order of their ids, as those of a yard are."""
    tasks = [await a_new_task(store) for _ in range(TASKS)]
    return a_set(store, tasks=tuple(sorted(tasks, key=lambda task: task.hot.id)))


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
    gc.disable()  # what is called for garbage of other tests is not meant
    sys.setprofile(count)
    try:
        await work
    finally:
        sys.setprofile(before)
        gc.enable()
        beside.cancel()
    return max(counted), sum(counted)


async def test_a_large_set_lets_others_in_while_its_statement_is_made(store: PostgresStore):
    first = await births(store)
    most, in_all = await calls_in_a_row(store.commit([first]))

    assert in_all > 2 * MOST_CALLS
    assert most <= MOST_CALLS


async def test_events_of_many_rows_are_read_in_turns(store: PostgresStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log_rows, "MOST_REMEMBERED", 0)  # rows are decoded, as in a process that did not write them
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


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[PostgresTransaction]:
    """The transaction of each statement that was sent for its rows."""
    sent: list[PostgresTransaction] = []
    flush = PostgresTransaction.flush

    async def counted(self: PostgresTransaction, answering: Sequence[str] = (), *, is_last: bool = False) -> list[Row]:
        sent.append(self)
        return await flush(self, answering, is_last=is_last)

    monkeypatch.setattr(PostgresTransaction, "flush", counted)
    return sent


async def test_a_large_set_that_gives_way_is_sent_in_pieces(store: PostgresStore, sent: list[PostgresTransaction]):
    large = await births(store)
    with giving_way(ShortCalls()):
        (answer,) = await store.commit([large])

    assert isinstance(answer, Committed)
    assert len(sent) == TASKS // PIECE
    stored = await store.load([task.hot.id for task in large.tasks])
    assert [stored[task.hot.id].seq for task in large.tasks] == sorted(hot.seq for hot in stored.values())
    written = [each.event.task_id for each in await store.events(after=0, limit=TASKS)]
    assert written == [task.hot.id for task in large.tasks]


async def test_a_set_in_pieces_begins_when_no_short_call_is_under_way(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(turns, "PATIENCE", 1_000_000)
    large, small = await births(store), [await a_new_task(store) for _ in range(20)]
    begun: list[bool] = []
    insert = PostgresTransaction.insert_tasks

    async def noted(self: PostgresTransaction, tasks: Sequence[NewTask]) -> None:
        if len(tasks) > 1:
            begun.append(calls.are_under_way)
        await insert(self, tasks)

    monkeypatch.setattr(PostgresTransaction, "insert_tasks", noted)
    calls = ShortCalls(clock=lambda: 0.0)
    with calls.call(), giving_way(calls):
        committing = asyncio.create_task(store.commit([large]))
        for task in small:  # each of them takes as long as it takes to begin
            await store.commit([a_set(store, tasks=(task,))])
    await committing

    assert begun == [False]


async def test_others_commit_between_the_pieces_and_see_none_of_them(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    large, small = await births(store), a_set(store, tasks=(await a_new_task(store),))
    first = large.tasks[0].hot.id
    seen: list[tuple[object, object]] = []
    flush = PostgresTransaction.flush

    async def and_another(
        self: PostgresTransaction, answering: Sequence[str] = (), *, is_last: bool = False
    ) -> list[Row]:
        rows = await flush(self, answering, is_last=is_last)
        if self.is_in_pieces and not seen:
            (committed,) = await store.commit([small])
            seen.append((committed, await store.load([first])))
        return rows

    monkeypatch.setattr(PostgresTransaction, "flush", and_another)
    with giving_way(ShortCalls()):
        await store.commit([large])

    ((committed, loaded),) = seen
    assert isinstance(committed, Committed)
    assert loaded == {}
    assert first in await store.load([first])


async def test_pieces_are_stored_whole_or_not_at_all(store: PostgresStore):
    large = await births(store)
    last = large.tasks[-1]
    await store.commit([a_set(store, tasks=(last,))])
    with giving_way(ShortCalls()):
        (answer,) = await store.commit([large])

    assert isinstance(answer, Taken)
    assert list(await store.load([task.hot.id for task in large.tasks])) == [last.hot.id]


@pytest.mark.parametrize("why", ["it is nobody's call", "they have keys", "their ids are in another order"])
async def test_it_is_one_statement_where(store: PostgresStore, sent: list[PostgresTransaction], why: str):
    large = await births(store)
    if why == "they have keys":
        keyed = await a_new_task(store, idempotency_key="one")
        large = large._replace(tasks=(*large.tasks, keyed))
    if why == "their ids are in another order":
        large = large._replace(tasks=large.tasks[::-1])
    if why == "it is nobody's call":
        (answer,) = await store.commit([large])
    else:
        with giving_way(ShortCalls()):
            (answer,) = await store.commit([large])

    assert isinstance(answer, Committed)
    assert len(sent) == 1
