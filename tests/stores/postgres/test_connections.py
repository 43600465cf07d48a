"""Connections that are lost, servers that refuse, a schema that is newer, and the database's own clock."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import asyncpg
import pytest

from taskyard.core.changes import RecordChange
from taskyard.core.errors import (
    InvalidInput,
    SchemaTooNew,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreReplaced,
    StoreUnavailable,
    Unavailable,
)
from taskyard.core.units import SECOND
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import OutcomeUnknown
from taskyard.stores.postgres import PostgresStore, transaction_runner
from taskyard.stores.postgres.connection.address import parse_address
from taskyard.stores.postgres.connection.pool import Pool
from taskyard.stores.postgres.connection.pool import connect as connect_session
from taskyard.stores.postgres.connection.session import PostgresSession
from taskyard.stores.postgres.fast import statement_runner
from taskyard.stores.postgres.statements import Statements
from taskyard.stores.postgres.transaction_runner import TransactionRunner
from taskyard.stores.shared import timeouts
from taskyard.stores.shared.store_clock import StoreClock
from tests.stores.given import HERE, a_new_task, committed, given_a_task
from tests.stores.postgres.conftest import Gate

KILL_OTHERS = (
    "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database()"
    " and pid <> pg_backend_pid() and application_name = '' and query not like '%pg_stat_activity%' and query <> ''"
)


async def test_a_yard_whose_connections_were_cut_goes_on(store: PostgresStore, gate: Gate, mine: Any):
    await asyncio.gather(*(given_a_task(store) for _ in range(5)))

    await mine.fetchval(KILL_OTHERS)

    task = await given_a_task(store)
    assert await store.load([task.id]) == {task.id: task}


async def test_a_server_that_is_not_there_is_reported_as_unavailable(clock: ManualClock):
    store = PostgresStore("postgresql://somebody:secret@127.0.0.1:1/nowhere", clock=clock)

    with pytest.raises(StoreUnavailable) as told:
        await store.open()

    assert "127.0.0.1:1/nowhere" in str(told.value)
    assert "secret" not in str(told.value)


async def test_a_server_that_takes_no_writes_is_reported_as_read_only(
    url: str, store: PostgresStore, clock: ManualClock
):
    fresh = await a_new_task(store)
    reader = PostgresStore(f"{url}&options=-cdefault_transaction_read_only%3Don", clock=clock)
    await reader.open()

    with pytest.raises(StoreReadOnly):
        await committed(reader, tasks=(fresh,))

    assert await reader.load([fresh.hot.id]) == {}
    await reader.close()


async def test_a_newer_schema_is_refused(url: str, store: PostgresStore, gate: Gate, clock: ManualClock):
    await gate.ask("update yard.schema_version set version = 99, min_reader = 98, min_writer = 98")

    with pytest.raises(SchemaTooNew):
        await PostgresStore(url, clock=clock).open()


async def test_without_a_clock_the_time_is_the_databases(url: str, store: PostgresStore, gate: Gate):
    own = PostgresStore(url)
    await own.open()
    there = await gate.ask("select (extract(epoch from clock_timestamp()) * 1000000)::bigint")

    assert abs(own.now() - there) < SECOND
    await own.close()


async def test_it_works_where_no_session_is_kept(url: str, store: PostgresStore, clock: ManualClock):
    pooled = PostgresStore(f"{url}&pgbouncer=true&pool_size=2", clock=clock)
    await pooled.open()
    mark = await pooled.changed(0, 0)

    task = await given_a_task(store)

    assert await asyncio.wait_for(pooled.changed(mark, 60), 30) != mark
    assert await pooled.load([task.id]) == {task.id: task}
    await asyncio.gather(*(given_a_task(pooled) for _ in range(20)))
    await pooled.close()


def test_the_name_of_a_schema_is_plain():
    with pytest.raises(InvalidInput):
        PostgresStore("postgresql://localhost/db", schema='x"; drop schema public')


def test_options_of_ours_do_not_reach_the_driver():
    where = parse_address("postgres://h1:1/db?schema=s&pool_size=3&application_name=me", "taskyard")

    assert where.url == "postgresql://h1:1/db?application_name=me"
    assert (where.schema, where.connections, where.direct_url) == ("s", 3, where.url)


@pytest.mark.parametrize("asked", ["any", "read-write", None])
def test_of_several_servers_the_one_that_takes_writes_is_meant(asked: str | None):
    url = "postgresql://h1:1,h2:2/db"
    given = url if asked is None else f"{url}?target_session_attrs={asked}"

    assert parse_address(given, "taskyard").url == f"{url}?target_session_attrs={asked or 'primary'}"


async def test_people_find_tasks_in_plain_words(store: PostgresStore, gate: Gate):
    task = await given_a_task(store)

    status = await gate.ask("select status from yard.tasks where id = $1 and lease_owner is null", task.id)

    assert status == "ready"
    assert await gate.ask("select count(*) from yard.history") == 1


@pytest.mark.parametrize(
    ("state", "refused"),
    [
        ("53100", StoreFull),  # no room on the disk
        ("53200", StoreUnavailable),  # no memory
        ("53300", StoreUnavailable),  # no connection left
        ("25006", StoreReadOnly),
        ("58030", StoreUnavailable),  # the disk does not answer
        ("57P01", StoreUnavailable),  # it is being shut down
        ("XX001", StoreCorrupt),  # a damaged page
        ("XX002", StoreCorrupt),  # a damaged index
        ("42P01", StoreReplaced),  # the table is gone
    ],
)
async def test_what_a_server_refuses_a_write_with_is_reported_and_nothing_is_lost(
    store: PostgresStore, gate: Gate, state: str, refused: type[Unavailable]
):
    kept = await given_a_task(store)
    fresh = await a_new_task(store)
    await gate.ask(
        f"create function yard.refuse() returns trigger language plpgsql as "
        f"$$ begin raise 'refused' using errcode = '{state}'; end $$"
    )
    await gate.ask("create trigger refuse before insert on yard.task execute function yard.refuse()")

    with pytest.raises(refused):
        await committed(store, tasks=(fresh,))

    await gate.ask("drop trigger refuse on yard.task")
    await committed(store, tasks=(fresh,))
    assert set(await store.load([kept.id, fresh.hot.id])) == {kept.id, fresh.hot.id}


async def test_a_connection_asks_for_no_type_that_an_earlier_one_has_asked_for(
    store: PostgresStore, connect: Callable[[], Awaitable[PostgresStore]], asked_types: list[int]
):
    await given_a_task(store)
    asked_types.clear()

    other = await connect()
    task = await given_a_task(other)

    assert await other.load([task.id]) == {task.id: task}
    assert asked_types == []


async def test_a_type_of_one_database_is_asked_for_by_each_connection(url: str, gate: Gate, asked_types: list[int]):
    await gate.ask("create type yard.mood as enum ('calm')")
    own = await gate.ask("select 'yard.mood'::regtype::oid::int")

    for _ in range(2):
        session = await connect_session(parse_address(url, ""))
        assert await session.fetchval(f"select 'calm'::{gate.schema}.mood") == "calm"
        await session.close()

    assert asked_types == [own, own]


@pytest.fixture
def asked_types(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the types that connections ask the server about."""
    asked: list[int] = []
    introspect = getattr(asyncpg.Connection, "_introspect_types")  # noqa: B009 - what the driver has for itself

    async def note(connection: asyncpg.Connection, typeoids: Iterable[int], timeout: float) -> Any:
        asked.extend(typeoids)
        return await introspect(connection, typeoids, timeout)

    monkeypatch.setattr(asyncpg.Connection, "_introspect_types", note)
    return asked


async def seen(session: PostgresSession) -> PostgresSession:
    """Which session was used, and is idle from here on."""
    return session


async def test_after_a_lost_connection_no_pool_uses_one_again_that_was_open_then(url: str, store: PostgresStore):
    first = Pool(parse_address(url, "taskyard").for_other_calls)
    beside = Pool(parse_address(url, "taskyard").for_claims, beside=first)
    idle_then = await beside.run(seen)

    async def lose(session: PostgresSession) -> PostgresSession:
        first.lost_connection()
        return session

    in_use_then = await first.run(lose)
    fresh_beside = await beside.run(seen)
    assert await first.run(lambda session: session.fetchval("select 1")) == 1

    assert in_use_then.is_closed()
    assert idle_then.is_closed()
    assert fresh_beside is not idle_then
    await beside.close()
    await first.close()


async def test_a_write_whose_answer_is_lost_makes_every_open_connection_suspect(
    url: str, store: PostgresStore, clock: ManualClock
):
    where = parse_address(url, "taskyard")
    pool = Pool(where.for_other_calls)
    runner = TransactionRunner(where, pool, Statements(where.schema), StoreClock(clock))

    async def use_another(one: PostgresSession) -> list[PostgresSession]:
        return [one, await pool.run(seen)]

    one, other = await pool.run(use_another)  # both are idle from here on

    async def lose_the_answer(*_: object) -> None:
        raise OutcomeUnknown("the line went dead")

    with pytest.raises(OutcomeUnknown):
        await runner.unrepeated.write(lose_the_answer)

    assert one.is_closed()
    assert other.is_closed()
    await pool.close()


@pytest.mark.parametrize("records", [(), (RecordChange("note", HERE, "one", 0, {}),)], ids=["statement", "transaction"])
async def test_a_batch_has_time_for_each_of_its_rows(
    url: str,
    store: PostgresStore,
    gate: Gate,
    monkeypatch: pytest.MonkeyPatch,
    records: tuple[RecordChange, ...],
):
    for runner in (statement_runner, transaction_runner):
        monkeypatch.setattr(runner, "PER_ROW", 1.0)
    hurried = PostgresStore(url, clock=None, call_timeout=0.5)
    await hurried.open()
    tasks = tuple([await a_new_task(store) for _ in range(30)])
    await gate.session.execute(f"begin; lock table {gate.schema}.task in access exclusive mode")

    batch = asyncio.create_task(committed(hurried, tasks=tasks, records=records))
    with pytest.raises(StoreUnavailable):  # by then the batch has waited for as long
        await hurried.load([tasks[0].hot.id])
    await gate.open()
    await batch

    assert len(await store.load([each.hot.id for each in tasks])) == 30
    await hurried.close()


async def test_the_server_has_limits_for_a_silent_client(store: PostgresStore, url: str):
    # Over a Unix socket the server has no use for them, and shows what it was told only as what a reset would restore.
    session = await connect_session(parse_address(url, "taskyard", 10))
    told = await session.fetch("select name, reset_val from pg_settings where name ~ '^tcp_' and source = 'client'")
    await session.close()

    assert {row[0]: row[1] for row in told} == {
        "tcp_keepalives_idle": str(timeouts.IDLE),
        "tcp_keepalives_interval": str(timeouts.BETWEEN),
        "tcp_keepalives_count": str(timeouts.PROBES),
        "tcp_user_timeout": str(timeouts.UNACKNOWLEDGED),
    }
