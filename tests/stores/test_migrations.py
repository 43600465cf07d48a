"""Schemas from empty, from the release before, and from one to come; while others work."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import apsw
import asyncpg
import pytest

import taskyard
from taskyard.core.errors import MigrationNeedsStop, SchemaTooNew, SchemaTooOld
from taskyard.core.task import Status
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from taskyard.stores.shared import migrations
from taskyard.stores.shared.migrations import Migration, Schema
from tests.storage import asked_for, opener, url_of
from tests.stores.given import at_once, given_a_task
from tests.yards import given_an_agent

SQL = [name for name in asked_for() if name.startswith(("sqlite", "postgres"))]
Release = Callable[[Callable[[Path], Sequence[Migration]]], None]


@pytest.fixture(params=SQL)
def which(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def make(which: str, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Callable[[], Store]]:
    """Makes stores of one yard, and closes them in the end."""
    made: list[Store] = []
    open_store = opener(which, tmp_path, clock)

    def make() -> Store:
        made.append(open_store())
        return made[-1]

    yield make
    for store in made:
        await store.close()


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Release:
    """From here on, stores are those of a release that knows these migrations."""

    def release(known: Callable[[Path], Sequence[Migration]]) -> None:
        monkeypatch.setattr(migrations, "read_migrations", known)

    return release


_known = migrations.read_migrations


def known_later(sql: str, *, works_with: int) -> Callable[[Path], Sequence[Migration]]:
    """One more than this release knows, after which only releases from this one on may work."""

    def known(folder: Path) -> list[Migration]:
        before = _known(folder)
        return [*before, Migration(Schema(len(before) + 1, works_with, works_with), "later", sql)]

    return known


async def test_a_new_yard_is_brought_to_this_release_by_opening_it(make: Callable[[], Store]):
    store = make()
    before = await store.schema()
    await store.open()
    after = await make().schema()

    assert before.stored.version == 0
    assert before.outstanding() == list(before.known)
    assert (after.stored.version, after.outstanding()) == (len(after.known), [])


async def test_asking_where_a_store_stands_makes_nothing(make: Callable[[], Store], tmp_path: Path):
    await make().schema()

    assert (await make().schema()).stored.version == 0
    assert not await asyncio.to_thread(lambda: list(tmp_path.iterdir()))


async def test_who_is_asked_not_to_migrate_says_what_to_do(which: str, make: Callable[[], Store], tmp_path: Path):
    yard = taskyard.connect(url_of(which, tmp_path), migrate=False, sweeps=False)
    with pytest.raises(SchemaTooOld, match="taskyard migrate apply"):
        await yard.open()

    await make().migrate()

    async with yard:
        assert (await yard.enqueue("code")).status is Status.READY


async def test_the_environment_can_tell_it_too(which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TASKYARD_MIGRATE", "no")

    with pytest.raises(SchemaTooOld):
        await taskyard.connect(url_of(which, tmp_path)).open()


async def test_migrating_twice_is_migrating_once(make: Callable[[], Store]):
    await at_once(*(make().migrate() for _ in range(4)))
    await make().migrate()

    assert (await make().schema()).outstanding() == []


async def test_a_yard_is_migrated_while_the_release_before_works_on_it(which: str, tmp_path: Path, release: Release):
    url = url_of(which, tmp_path)
    release(known_later("create table later (id integer)", works_with=1))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.stores.previous_release", url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        await done_by(process, 5)
        async with taskyard.connect(url, workspace="load") as yard:
            assert (await yard.store.schema()).outstanding() == []
            await given_an_agent(yard, "new")
            for _ in range(10):
                await yard.enqueue("code")
                for held in await yard.claim("new", start=True):
                    await yard.complete(held.id, held.lease)
            await done_by(process, 20)
            await process.communicate(b"")
            while held := await yard.claim("new", count=50, start=True):
                for each in held:
                    await yard.complete(each.id, each.lease)

            assert process.returncode == 0
            assert {status for status, types in (await yard.tasks.stats()).items() if types} == {"completed"}
            verified = await yard.verify()
            assert verified.ok, str(verified)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def done_by(process: asyncio.subprocess.Process, rounds: int) -> None:
    """Wait until the other process has come so much further."""
    assert process.stdout is not None
    async with asyncio.timeout(30):
        for _ in range(rounds):
            assert await process.stdout.readline() == b"done\n"


async def test_a_migration_that_shuts_out_the_release_at_work_waits_until_it_is_asked_for(
    make: Callable[[], Store], release: Release
):
    await make().open()
    now = len((await make().schema()).known)
    release(known_later("select 1", works_with=now + 1))

    with pytest.raises(MigrationNeedsStop):
        await make().open()
    stored = (await make().schema()).stored.version
    await make().migrate()
    await make().open()

    assert stored == now
    assert (await make().schema()).outstanding() == []


async def test_a_schema_to_come_that_shuts_this_release_out_is_refused(make: Callable[[], Store], release: Release):
    release(known_later("select 1", works_with=99))
    await make().migrate()
    release(_known)

    for act in (make().open, make().migrate):
        with pytest.raises(SchemaTooNew):
            await act()
    assert (await make().schema()).is_too_new


async def test_a_schema_to_come_that_lets_this_release_work_is_worked_with(make: Callable[[], Store], release: Release):
    release(known_later("select 1", works_with=1))
    await make().migrate()
    release(_known)

    store = make()
    await store.open()

    assert (await store.schema()).stored.version == len((await store.schema()).known) + 1
    await given_a_task(store)


async def test_a_migration_that_fails_leaves_everything_as_it_was(make: Callable[[], Store], release: Release):
    release(known_later("create table half_done (id integer); select nonsense", works_with=1))
    with pytest.raises((apsw.SQLError, asyncpg.PostgresError)):
        await make().migrate()
    release(known_later("create table half_done (id integer)", works_with=1))

    await make().migrate()

    assert (await make().schema()).outstanding() == []
