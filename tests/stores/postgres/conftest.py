"""A yard in a schema of its own, several processes that have it open, and a gate that holds them at a row."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from taskyard.core.task import Hot
from taskyard.ledger.clock import ManualClock
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.connection.address import parse_address
from taskyard.stores.postgres.fast.guarded_statements import OneStatement
from tests import servers

VERSION = 16
Meanwhile = Callable[[Callable[[], Awaitable[object]]], None]
_READ_OF_READY = """
select coalesce(sum(idx_tup_read), 0)::bigint
from pg_stat_user_indexes
where schemaname = $1 and indexrelname = 'ready_pkey'
"""


# Files about who comes first, for which a schema will do that others have stored tasks in before.
OF_USED_SCHEMAS = frozenset(
    {
        *("test_claim_interleavings", "test_interleavings", "test_notify_channel", "test_optimistic_claims"),
        "test_single_statement",
    }
)


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    is_used = request.path.stem in OF_USED_SCHEMAS
    if is_used:
        servers.take_postgres(VERSION, tmp_path)
    yield servers.postgres_yard(VERSION, tmp_path)
    if is_used:
        servers.give_back_postgres(VERSION, tmp_path)


@pytest.fixture
async def connect(url: str, clock: ManualClock) -> AsyncIterator[Callable[[], Awaitable[PostgresStore]]]:
    opened: list[PostgresStore] = []

    async def connect() -> PostgresStore:
        store = PostgresStore(url, clock=clock)
        await store.open()
        opened.append(store)
        return store

    yield connect
    for store in opened:
        await store.close()


@pytest.fixture
async def store(connect: Callable[[], Awaitable[PostgresStore]]) -> AsyncIterator[PostgresStore]:
    store = await connect()
    yield store
    assert await store.checks() == []


@pytest.fixture
async def other(connect: Callable[[], Awaitable[PostgresStore]], store: PostgresStore) -> PostgresStore:
    return await connect()


class Gate:
    """A stranger's session. While it holds a row, whoever wants that row stands still, and can be seen to."""

    def __init__(self, connection: asyncpg.Connection, watcher: asyncpg.Connection, schema: str) -> None:
        self.session = connection
        self._watcher = watcher
        self.schema = schema

    async def shut(self, table: str, **where: str) -> None:
        """Hold the rows that are so."""
        names = " and ".join(f"{name} = ${number}" for number, name in enumerate(where, 1))
        await self.session.execute("begin")
        held = await self.session.fetch(
            f"select 1 from {self.schema}.{table} where {names} for update", *where.values()
        )
        assert held, f"there is no such row of {table}: {where}"

    async def shut_task(self, task: Hot) -> None:
        """Hold the rows that a task has, of which one guards it."""
        await self.session.execute("begin")
        for table in ("held", "ready", "task"):
            await self.session.execute(f"select 1 from {self.schema}.{table} where seq = {task.seq} for update")

    async def open(self) -> None:
        await self.session.execute("rollback")

    async def standing(self, number: int) -> None:
        """Wait until so many sessions of this database wait for a row or for leave to claim or configure."""
        # Not just for any lock: who sends a hint may wait for one too, for a moment.
        sql = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        await self.until(f"{sql} and wait_event in ('advisory', 'transactionid', 'tuple')", number)

    async def until(self, sql: str, number: int) -> None:
        """Look until the statement counts so many: a server tells nobody that a session waits."""
        async with asyncio.timeout(20):
            while await self._watcher.fetchval(sql) < number:  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(0.002)

    async def read_of_ready(self) -> int:
        """How many entries of the index of ready rows were read so far, by sessions that have ended."""
        await self.session.execute("select pg_stat_clear_snapshot()")
        return await self.session.fetchval(_READ_OF_READY, self.schema)

    async def ask(self, sql: str, *values: Any) -> Any:
        return await self._watcher.fetchval(sql.replace("yard.", f"{self.schema}."), *values)


@pytest.fixture
async def gate(url: str, store: PostgresStore) -> AsyncIterator[Gate]:
    where = parse_address(url, "")
    connections = [await asyncpg.connect(where.url) for _ in range(2)]
    yield Gate(connections[0], connections[1], where.schema)
    for connection in connections:
        await connection.close()


@pytest.fixture
async def mine(url: str, store: PostgresStore) -> AsyncIterator[asyncpg.Connection]:
    """A connection of the caller's own."""
    connection = await asyncpg.connect(parse_address(url, "").url)
    yield connection
    await connection.close()


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Have something happen once, between the next look and its write."""

    def meanwhile(act: Callable[[], Awaitable[object]]) -> None:
        send = OneStatement.take

        async def held_up(self: OneStatement, *given: Any) -> bool:
            monkeypatch.setattr(OneStatement, "take", send)
            await act()
            return await send(self, *given)

        monkeypatch.setattr(OneStatement, "take", held_up)

    return meanwhile
