"""A migration that has to wait for a table."""

import asyncio
from collections.abc import Callable

import pytest

from taskyard.ledger.clock import ManualClock
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.connection.schema import MIGRATIONS
from taskyard.stores.shared import migrations
from taskyard.stores.shared.migrations import Migration, Schema
from tests.stores.given import given_a_task
from tests.stores.postgres.conftest import Gate


def always(known: list[Migration]) -> Callable[[str], list[Migration]]:
    return lambda _: known


async def test_the_yard_works_on_while_a_migration_waits_for_an_idle_session(
    store: PostgresStore, gate: Gate, url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    known = migrations.read_migrations(MIGRATIONS)
    step = Migration(Schema(len(known) + 1, 1, 1), "later", "alter table yard.task add column later integer")
    monkeypatch.setattr(migrations, "read_migrations", always([*known, step]))
    await given_a_task(store)
    await gate.session.execute("begin")
    await gate.session.execute(f"select count(*) from {gate.schema}.task")
    migrating = asyncio.create_task(PostgresStore(url, clock=clock).migrate())
    await gate.until("select count(*) from pg_stat_activity where wait_event = 'relation'", 1)

    async with asyncio.timeout(30):
        await given_a_task(store)
    assert not migrating.done()
    await gate.open()
    await migrating

    assert (await PostgresStore(url, clock=clock).schema()).outstanding() == []
