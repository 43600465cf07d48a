"""Statements that stay quick where the server knows nothing of the data."""

from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from taskyard.core.changes import Blocker, Lift, expected
from taskyard.core.task import Status
from taskyard.ledger.clock import ManualClock
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.connection.address import parse_address
from tests.stores.given import a_beat, a_new_task, a_set, cancelling, committed, finish
from tests.stores.plans import a_plan, take
from tests.stores.postgres.conftest import Gate

# As after an ANALYZE between two bursts of work: pages, and no row in them.
TAKE_FOR_EMPTY = """
update pg_class set relpages = 10, reltuples = 0
where relnamespace = $1::regnamespace
and relname in ('task', 'blocker', 'ready', 'held', 'definition', 'attempt', 'log', 'name')
"""
PLANNED_ONCE = "&options=-cplan_cache_mode%3Dforce_generic_plan"  # as after a few calls on a connection
MANY = 500
FEW = 10


async def test_many_tasks_wake_at_once_in_tables_that_the_server_takes_for_empty(
    url: str, store: PostgresStore, clock: ManualClock, mine: asyncpg.Connection
):
    tasks = [await a_new_task(store, status=Status.PENDING) for _ in range(MANY)]
    await committed(store, tasks=tuple(tasks), blockers=tuple(Blocker(each.hot.id, 0, "time") for each in tasks))
    await mine.execute(TAKE_FOR_EMPTY, parse_address(url, "").schema)
    waker = PostgresStore(url + PLANNED_ONCE, clock=clock)
    await waker.open()

    await committed(waker, lifts=tuple(Lift("time", each.hot.id) for each in tasks))

    rows = await store.load([each.hot.id for each in tasks])
    assert {row.status for row in rows.values()} == {Status.READY}
    await waker.close()


async def test_a_claim_reads_what_it_takes_and_not_all_that_waits(
    connect: Callable[[], Awaitable[PostgresStore]], gate: Gate
):
    before = await gate.read_of_ready()
    store = await connect()
    await store.commit([a_set(store, tasks=(await a_new_task(store),)) for _ in range(MANY)])
    for _ in range(FEW):
        assert len((await take(store, await a_plan(store, tasks=FEW))).tasks) == FEW
    await store.close()  # what a session has read is counted at its end

    read = await gate.read_of_ready() - before
    assert read <= 12 * FEW * FEW  # shown, locked, found and deleted, and looked at again where a lane has more


ROWS_READ = """
select (select sum(idx_tup_read) from pg_stat_user_indexes where schemaname = $1)::bigint
  + (select sum(seq_tup_read) from pg_stat_user_tables where schemaname = $1)::bigint
"""
SHORT, LOAD = 100, 1_000
ROWS = 50  # read of all tables and indexes for a task that is claimed, kept alive once and finished, ten at a time


@pytest.mark.parametrize("counted", ["nothing", "a short lane", "emptied tables"])
@pytest.mark.parametrize("money", [None, 1_000_000], ids=["fast path", "slow path"])
async def test_the_first_drain_after_a_bulk_load_reads_what_it_takes(
    connect: Callable[[], Awaitable[PostgresStore]], gate: Gate, counted: str, money: int | None
):
    """Whatever the server last counted: the load came since, and it plans by those figures."""
    loader = await connect()
    if counted == "a short lane":
        await committed(loader, tasks=tuple([await a_new_task(loader) for _ in range(SHORT)]))
        for table in ("task", "ready", "held", "definition"):
            await gate.session.execute(f"analyze {gate.schema}.{table}")
    await committed(loader, tasks=tuple([await a_new_task(loader) for _ in range(LOAD)]))
    if counted == "emptied tables":
        await gate.session.execute(TAKE_FOR_EMPTY, gate.schema)
    await loader.close()
    before = await gate.ask(ROWS_READ, gate.schema)

    drainer = await connect()
    for _ in range(FEW):
        claimed = await take(drainer, await a_plan(drainer, tasks=FEW, agent_money=money))
        assert len(claimed.tasks) == FEW
        await drainer.extend([a_beat(hot) for hot in claimed.tasks])
        await drainer.commit([finish(drainer, hot) for hot in claimed.tasks])
    await drainer.close()  # what a session has read is counted at its end
    await gate.session.execute("select pg_stat_clear_snapshot()")

    assert (await gate.ask(ROWS_READ, gate.schema) - before) / FEW**2 < ROWS


ENDED, PIECE = 2_000, 100
ROWS_REMOVED = 60  # read of all tables and indexes for a task that is found, guarded and removed with its history


@pytest.mark.parametrize("counted", ["nothing", "a few", "all", "emptied tables"])
async def test_retention_reads_what_it_removes(
    connect: Callable[[], Awaitable[PostgresStore]], gate: Gate, clock: ManualClock, counted: str
):
    """Whatever the server last counted. All tasks are of one workspace, which tells none of them from another."""
    loader = await connect()
    await end_tasks(loader, FEW)
    if counted == "a few":
        await gate.session.execute("analyze")
    for _ in range(ENDED // FEW):  # each of them a row of the log
        await end_tasks(loader, FEW)
    if counted == "all":
        await gate.session.execute("analyze")
    if counted == "emptied tables":
        await gate.session.execute(TAKE_FOR_EMPTY, gate.schema)
    await loader.close()
    before = await gate.ask(ROWS_READ, gate.schema)

    pruner = await connect()
    clock.advance(seconds=1)
    piece = await pruner.prunable(pruner.now(), PIECE, dead_too=False)
    await committed(pruner, expects=tuple(map(expected, piece.tasks)), removals=tuple(hot.id for hot in piece.tasks))
    await pruner.close()  # what a session has read is counted at its end
    await gate.session.execute("select pg_stat_clear_snapshot()")

    assert len(piece.tasks) == PIECE
    assert (await gate.ask(ROWS_READ, gate.schema) - before) / PIECE < ROWS_REMOVED


async def end_tasks(store: PostgresStore, number: int) -> None:
    tasks = [await a_new_task(store) for _ in range(number)]
    await committed(store, tasks=tuple(tasks))
    rows = await store.load([each.hot.id for each in tasks])
    await committed(store, changes=tuple(cancelling(store, row) for row in rows.values()))
