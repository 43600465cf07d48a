"""What is plain lands in one statement; where that cannot be, nothing of it is written and it lands the careful way."""

import asyncio

import pytest

from taskyard.core.changes import ChangeSet, Committed, Conflict, Spend, Taken
from taskyard.core.task import Hot
from taskyard.core.units import SECOND, Micros
from taskyard.ledger.clock import ManualClock
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.transaction_runner import TransactionRunner
from tests.stores.given import (
    HERE,
    a_beat,
    a_new_task,
    a_set,
    committed,
    completing,
    given_a_running_task,
    given_tasks,
    history,
    row_of,
    signalling,
    step,
)
from tests.stores.postgres.conftest import Gate

SLOT = Spend(HERE, "slots:ann", -1)


def ending(store: PostgresStore, running: Hot, *, lease_unchanged: bool = False) -> ChangeSet:
    change = completing(store, running)._replace(lease_unchanged=lease_unchanged)
    return a_set(store, changes=(change,), spends=(SLOT,))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody begins a transaction."""

    async def write(*_: object, **__: object) -> None:
        raise AssertionError("a transaction was begun")

    monkeypatch.setattr(TransactionRunner, "write", write)


async def test_tasks_come_in_by_one_statement(store: PostgresStore, request: pytest.FixtureRequest):
    new = [await a_new_task(store) for _ in range(3)]
    request.getfixturevalue("at_once")

    answers = await store.commit([a_set(store, tasks=(each,)) for each in new])

    assert answers == [Committed({}, (each.hot.id,)) for each in new]
    assert [hot.seq for hot in (await store.load([each.hot.id for each in new])).values()] == [1, 2, 3]


async def test_attempts_end_by_one_statement(store: PostgresStore, request: pytest.FixtureRequest):
    running = [await given_a_running_task(store) for _ in range(3)]
    request.getfixturevalue("at_once")

    answers = await store.commit([ending(store, each) for each in running])

    assert answers == [Committed({}, ())] * 3
    assert {(await history(store, each.id))[-1] for each in running} == {"task.completed"}


async def test_one_that_has_moved_is_reported_and_the_others_are_committed_once(store: PostgresStore):
    running = [await given_a_running_task(store) for _ in range(3)]
    await step(store, signalling(store, running[1]))
    held = (await store.limits(HERE, [SLOT.name])).get(SLOT.name)

    answers = await store.commit([ending(store, each) for each in running])

    assert [type(answer) for answer in answers] == [Committed, Conflict, Committed]
    told = [(await history(store, each.id)).count("task.completed") for each in running]
    assert told == [1, 0, 1]
    left = await store.limits(HERE, [SLOT.name])
    assert left[SLOT.name].held == (held.held if held else 0) - 2


async def test_a_heartbeat_in_between_is_reported(store: PostgresStore, clock: ManualClock):
    running = await given_a_running_task(store)
    clock.advance(seconds=1)
    await store.extend([a_beat(running)])

    beaten = await store.commit([ending(store, running, lease_unchanged=True)])
    read_again = await store.commit([ending(store, await row_of(store, running.id), lease_unchanged=True)])

    assert [type(answer) for answer in (*beaten, *read_again)] == [Conflict, Committed]


async def test_an_id_that_is_there_already_is_reported_and_the_others_come_in(store: PostgresStore):
    (known,) = await given_tasks(store, 1)
    new = await a_new_task(store)
    again = await a_new_task(store, id=known.id)

    answers = await store.commit([a_set(store, tasks=(new,)), a_set(store, tasks=(again,))])

    assert answers == [Committed({}, (new.hot.id,)), Taken({known.id: known.id})]


async def test_a_task_is_waited_for_before_a_ceiling_is_held(store: PostgresStore, other: PostgresStore, gate: Gate):
    running = await given_a_running_task(store)
    await gate.shut_task(running)
    ended = asyncio.create_task(store.commit([ending(store, running)]))
    await gate.standing(1)

    await asyncio.wait_for(committed(other, spends=(Spend(HERE, SLOT.name, 1),)), 30)

    await gate.open()
    assert [type(answer) for answer in await ended] == [Committed]


async def test_a_row_that_was_waited_for_too_long_is_reported_by_the_databases_own_clock(url: str, gate: Gate):
    store = PostgresStore(url)
    await store.open()
    running = await given_a_running_task(store)
    end = ending(store, running)._replace(good_until=Micros(store.now() + SECOND // 2))
    await gate.shut_task(running)
    ended = asyncio.create_task(store.commit([end]))
    await gate.session.execute("select pg_sleep(0.7)")

    await gate.open()

    assert [type(answer) for answer in await ended] == [Conflict]
    assert await row_of(store, running.id) == running
    await store.close()
