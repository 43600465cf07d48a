"""A large set is written when no short call is under way, and begun again for what is small."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest

from taskyard.core import transitions
from taskyard.core.changes import ChangeSet, Committed, Taken
from taskyard.core.errors import YardClosed
from taskyard.core.task import Definition
from taskyard.ledger.clock import ManualClock
from taskyard.stores import turns
from taskyard.stores.shared import rows
from taskyard.stores.sqlite import SqliteStore
from taskyard.stores.sqlite.threads.writer import Writer
from taskyard.stores.sqlite.transaction import PlacedTask, SqliteTransaction
from taskyard.stores.turns import ShortCalls, giving_way
from tests.stores.sqlite.inside import a_thousand_new, held_back, one_new, opened, tasks_of


async def test_what_is_small_does_not_wait_for_more_than_one_large_set(writer: Writer, clock: ManualClock):
    go_on = await held_back(writer)
    ends: list[str] = []
    sets = {"large": a_thousand_new(clock), "large too": a_thousand_new(clock), "small": one_new(clock)}
    calls = {name: asyncio.ensure_future(writer.commit([each])) for name, each in sets.items()}
    for name, call in calls.items():
        call.add_done_callback(lambda _, name=name: ends.append(name))
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(*calls.values())

    assert ends == ["small", "large", "large too"]


class Interruptions:
    """Something small comes while a large set is being written, as often as that is begun."""

    def __init__(self, writer: Writer, clock: ManualClock) -> None:
        self.small: list[asyncio.Future[Any]] = []
        self.ids: list[str] = []
        self.begun = 0
        self._writer, self._clock = writer, clock
        self._loop = asyncio.get_running_loop()

    def come(self) -> None:
        """In the thread that writes."""
        self.begun += 1
        asyncio.run_coroutine_threadsafe(self._come(), self._loop).result(30)

    async def _come(self) -> None:
        small = one_new(self._clock)
        self.ids.append(small.tasks[0].hot.id)
        self.small.append(asyncio.ensure_future(self._writer.commit([small])))
        await asyncio.sleep(0)

    def numbers(self, path: Path) -> list[int]:
        """Those of the small tasks, by which one sees whether they were stored before the large set."""
        with opened(path) as connection:
            numbers = dict(connection.execute("select id, seq from task"))
        assert sorted(numbers.values()) == list(range(1, 1_001 + len(self.ids)))
        return [numbers[task_id] for task_id in self.ids]


@pytest.fixture
def at_insert(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Call something as the rows of a large set begin to be written."""
    insert = SqliteTransaction.insert_tasks

    def call(act: Callable[[], None]) -> None:
        def noted(transaction: SqliteTransaction, tasks: Sequence[PlacedTask]) -> None:
            if len(tasks) >= 1_000:
                act()
            insert(transaction, tasks)

        monkeypatch.setattr(SqliteTransaction, "insert_tasks", noted)

    return call


@pytest.mark.parametrize("gives_way", [False, True])
async def test_a_large_set_gives_way_to_what_is_small_a_few_times_and_no_more(
    writer: Writer, path: Path, clock: ManualClock, at_insert: Callable[..., None], gives_way: bool
):
    begun = 9 if gives_way else 3
    interruptions = Interruptions(writer, clock)
    at_insert(interruptions.come)

    with giving_way(ShortCalls()) if gives_way else nullcontext():
        (landed,) = await writer.commit([a_thousand_new(clock)])
    await asyncio.gather(*interruptions.small)

    assert isinstance(landed, Committed)
    assert interruptions.begun == begun
    # The last one came when it gave way no more.
    assert interruptions.numbers(path) == [*range(1, begun), 1_000 + begun]


async def test_what_comes_when_all_rows_are_written_still_goes_first(
    writer: Writer, path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    interruptions = Interruptions(writer, clock)
    finish = SqliteTransaction.finish

    def noted(transaction: SqliteTransaction) -> bool:
        wrote = finish(transaction)
        if not interruptions.begun:
            interruptions.come()
        return wrote

    monkeypatch.setattr(SqliteTransaction, "finish", noted)
    await writer.commit([a_thousand_new(clock)])
    await asyncio.gather(*interruptions.small)

    assert interruptions.numbers(path) == [1]


async def test_the_ends_of_a_drain_are_not_rolled_back_for_a_claim(
    store: SqliteStore, writer: Writer, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    large = a_thousand_new(clock)
    await writer.commit([large])
    held = await store.load([task.hot.id for task in large.tasks])
    interruptions, finished = Interruptions(writer, clock), list[bool]()
    finish = SqliteTransaction.finish

    def noted(transaction: SqliteTransaction) -> bool:
        finished.append(finish(transaction))
        if not interruptions.begun:
            interruptions.come()
        return finished[-1]

    monkeypatch.setattr(SqliteTransaction, "finish", noted)
    ends = tuple(transitions.cancel(hot, reason="enough", now=clock.now()) for hot in held.values())
    await writer.commit([ChangeSet(changes=ends, at=clock.now())])
    await asyncio.gather(*interruptions.small)

    assert len(finished) == 2  # the ends once, and what came meanwhile


async def test_a_large_set_is_begun_when_no_short_call_is_under_way(
    writer: Writer, clock: ManualClock, at_insert: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(turns, "PATIENCE", 1_000_000)
    begun: list[bool] = []
    at_insert(lambda: begun.append(calls.are_under_way))
    calls = ShortCalls(clock=lambda: 0.0)
    with calls.call(), giving_way(calls):
        committing = asyncio.create_task(writer.commit([a_thousand_new(clock)]))
        await writer.commit([one_new(clock)])
        assert begun == []
    await committing

    assert begun == [False]


async def test_a_large_set_is_begun_again_when_no_short_call_is_under_way(
    writer: Writer, clock: ManualClock, at_insert: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(turns, "PATIENCE", 1_000_000)
    interruptions, under_way = Interruptions(writer, clock), ExitStack()
    calls = ShortCalls(clock=lambda: 0.0)

    def come_once() -> None:
        if interruptions.begun:
            interruptions.begun += 1
        else:
            under_way.enter_context(calls.call())
            interruptions.come()

    at_insert(come_once)
    with giving_way(calls):
        committing = asyncio.create_task(writer.commit([a_thousand_new(clock)]))
    while not interruptions.small:
        await writer.commit([one_new(clock)])
    for _ in range(20):
        await writer.commit([one_new(clock)])
    assert interruptions.begun == 1
    under_way.close()
    await committing

    assert interruptions.begun == 2


async def test_a_large_set_that_waits_for_short_calls_is_refused_once_the_yard_closes(
    store: SqliteStore, path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(turns, "PATIENCE", 1_000_000)
    calls = ShortCalls(clock=lambda: 0.0)
    with calls.call(), giving_way(calls):
        committing = asyncio.create_task(store.commit([a_thousand_new(clock)]))
        await store.pulse([])
        await store.close()

    with pytest.raises(YardClosed):
        await asyncio.wait_for(committing, timeout=30)
    with opened(path) as connection:
        assert tasks_of(connection) == set()


async def test_definitions_of_a_large_set_are_made_before_its_transaction(
    writer: Writer, path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    threads: set[threading.Thread] = set()
    make = rows.format_definitions

    def noted(definitions: Sequence[Definition]) -> list[rows.Row]:
        threads.add(threading.current_thread())
        return make(definitions)

    monkeypatch.setattr(rows, "format_definitions", noted)
    large = a_thousand_new(clock)
    # Two of one id: the second is refused, and what it says of the task is not stored.
    same = large.tasks[0]
    refused = large._replace(tasks=(same._replace(definition=same.definition._replace(prompt="another")),))
    answers = await writer.commit([large, refused])

    assert [type(each) for each in answers] == [Committed, Taken]
    assert threads == {threading.current_thread()}
    with opened(path) as connection:
        stored = dict(connection.execute("select task.id, body from task join definition on definition.seq = task.seq"))
    assert stored == {task.hot.id: make([task.definition])[0][-1] for task in large.tasks}
