"""Yards of release 0.1.0, and a migration that has to wait for a table."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import asyncpg
import pytest

from taskyard.core.errors import MigrationNeedsStop
from taskyard.core.task import Status
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.connection.address import parse_address
from taskyard.stores.postgres.connection.schema import MIGRATIONS
from taskyard.stores.shared import migrations
from taskyard.stores.shared.migrations import Migration, Schema
from taskyard.yard import Yard, local_yard
from tests.stores.given import at_once, given_a_task
from tests.stores.postgres.conftest import Gate

DATA = Path(__file__).parents[2] / "data"


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


STORY = json.loads((DATA / "postgres-0.1.0.json").read_text(encoding="utf-8"))


async def load_old(url: str) -> None:
    """Put a yard of release 0.1.0 where this URL says."""
    schema = parse_address(url, "taskyard", 10).schema
    text = (DATA / "postgres-0.1.0.sql").read_text(encoding="utf-8")
    session = await asyncpg.connect(url.partition("&schema=")[0])
    try:
        await session.execute(text.replace("SCHEMA yard", f"SCHEMA {schema}").replace("yard.", f"{schema}."))
    finally:
        await session.close()


@pytest.fixture
async def migrated(url: str, clock: ManualClock) -> AsyncIterator[Yard]:
    await load_old(url)
    store = PostgresStore(url, clock=clock)
    await store.migrate()
    yard = local_yard(store, Options(sweeps=False))
    await yard.open()
    yield yard
    await yard.close()


async def test_the_data_of_the_first_release_are_all_there(migrated: Yard):
    for task_id, before in STORY["tasks"].items():
        after = json.loads(json.dumps((await migrated.get(task_id)).to_dict(), default=str))
        came_later = dict.fromkeys(after.keys() - before.keys()) | {"service": "standard"}  # the others are empty
        for spent in (before["tokens_used"], *(each["tokens"] for each in before["history"])):
            spent |= {"cache_read": 0, "cache_write": 0}
        assert after == before | came_later
    assert await migrated.store.checks() == []
    verified = await migrated.verify()
    assert verified.ok, str(verified)


async def test_the_numbers_of_old_events_are_good_for_reading_on(migrated: Yard):
    store = migrated.store
    told = await store.events(after=0, limit=99)
    assert [[stored.seq, stored.event.event, stored.event.task_id] for stored in told] == STORY["events"]
    last = told[-1].seq
    assert [stored.seq for stored in await store.events(after=last - 2, limit=99)] == [last - 1, last]
    assert await store.events(after=last, limit=99) == []

    await migrated.enqueue("code")

    (stored,) = await store.events(after=last, limit=99)
    assert (stored.event.event, stored.seq > last) == ("task.created", True)
    history = await store.events(after=0, limit=99, task_id=STORY["cancelled"])
    assert [stored.event.event for stored in history] == ["task.created", "task.cancelled"]


async def test_work_of_the_first_release_goes_on(migrated: Yard, clock: ManualClock):
    completed = await migrated.complete(STORY["running"], STORY["lease"], {"of": "before"})
    assert completed.status is Status.COMPLETED
    assert (await migrated.dead_letters.resolve(STORY["dead"], "retry", by="ada")).status is Status.READY
    assert (await migrated.get(STORY["completed"])).result == {"ok": True}
    again = await migrated.enqueue("review", idempotency_key="waiting")
    assert (again.id, again.created) == (STORY["ready"], False)
    assert (await migrated.enqueue("review", idempotency_key="gone")).created
    clock.advance(seconds=3600)
    await migrated.sweep()
    held = await migrated.claim("worker", count=20, start=True)
    assert STORY["retrying"] in {each.id for each in held}
    for each in held:
        await migrated.complete(each.id, each.lease)
    assert (await migrated.dags.get(STORY["dag"])).tasks[1].status is Status.READY
    verified = await migrated.verify()
    assert verified.ok, str(verified)


async def test_many_processes_may_begin_on_a_yard_of_the_first_release_at_once(url: str, clock: ManualClock):
    await load_old(url)
    stores = [PostgresStore(url, clock=clock) for _ in range(4)]
    await at_once(*(store.migrate() for store in stores))
    await at_once(*(store.open() for store in stores))

    assert (await stores[0].schema()).outstanding() == []
    assert [len(await store.load(list(STORY["tasks"]))) for store in stores] == [len(STORY["tasks"])] * 4
    for store in stores:
        await store.close()


# What release 0.1.0 says first when it claims, commits, beats, enqueues and reads events.
OLD_STATEMENTS = [
    "select task.id, task.lease, task.claimed_at from yard.task where task.lane = 1 and task.status = 'ready'",
    "select task.id, task.version, task.lease_expires_at from yard.task for no key update",
    "update yard.task set heartbeat_at = 1 where id = 'x'",
    "insert into yard.task (id, seq, lease) values ('x', 1, null)",
    "select last_value from yard.event_seq",
    "insert into yard.event (seq, event, workspace, at) values (1, 'x', 'default', 1)",
]


async def test_a_process_of_the_first_release_that_is_still_connected_fails(migrated: Yard, gate: Gate):
    for statement in OLD_STATEMENTS:
        with pytest.raises(asyncpg.PostgresError, match="does not exist"):
            await gate.ask(statement)


async def test_opening_leaves_it_as_it_is_until_somebody_migrates(url: str, clock: ManualClock):
    await load_old(url)
    store = PostgresStore(url, clock=clock)
    with pytest.raises(MigrationNeedsStop, match="Stop every process of this yard, back it up"):
        await store.open()
    assert (await store.schema()).stored.version == 4

    await store.migrate()
    await store.open()

    assert (await store.schema()).outstanding() == []
    await store.close()
