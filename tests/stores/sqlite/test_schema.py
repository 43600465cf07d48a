"""Files of other releases, and what is made once for the life of a file."""

from pathlib import Path

import pytest

from taskyard.core import errors
from taskyard.core.task import Hot
from taskyard.ledger.clock import ManualClock
from taskyard.stores.shared import migrations
from taskyard.stores.shared.commits.places import HELD_ONLY, HELD_TOO
from taskyard.stores.sqlite import SqliteStore
from tests.stores.given import given_a_task, row_of
from tests.stores.sqlite.inside import opened


async def test_a_schema_that_this_release_cannot_write_is_refused(store: SqliteStore, path: Path, clock: ManualClock):
    with opened(path) as connection:
        connection.execute("update schema set version = 99, min_reader = 1, min_writer = 98")

    with pytest.raises(errors.SchemaTooNew, match="99"):
        await SqliteStore(path, clock=clock).open()


async def test_a_newer_schema_that_says_it_may_be_written_is_worked_with(
    store: SqliteStore, path: Path, clock: ManualClock
):
    with opened(path) as connection:
        connection.execute("update schema set version = 99")

    later = SqliteStore(path, clock=clock)
    await later.open()
    task = await given_a_task(later)
    await later.close()

    assert await row_of(store, task.id) == task
    with opened(path) as connection:
        assert connection.execute("select version from schema").get == 99


async def test_the_columns_of_a_task_are_those_of_the_core(store: SqliteStore, path: Path):
    with opened(path) as connection:
        known, held = (
            [row[1] for row in connection.execute(f"pragma table_info({name})")] for name in ("task", "held")
        )

    assert sorted([*known, *HELD_ONLY]) == sorted([*Hot._fields, "log"])
    assert sorted(held) == sorted(["seq", *HELD_TOO, *HELD_ONLY, "holds", "log"])


async def test_a_new_file_has_no_page_that_an_older_layout_left_behind(store: SqliteStore):
    assert (await store.health())["free_bytes"] == 0


async def test_the_secret_is_made_once_and_known_to_all(store: SqliteStore, path: Path, clock: ManualClock):
    other = SqliteStore(path, clock=clock)
    await other.open()
    await other.close()

    assert len(store.secret) == 32
    assert other.secret == store.secret


def test_migrations_are_numbered_without_a_gap(tmp_path: Path):
    header = "-- min_reader: 1\n-- min_writer: 1\n"
    for name in ("0001_first.sql", "0003_third.sql"):
        (tmp_path / name).write_text(header)

    with pytest.raises(ValueError, match="gap"):
        migrations.read_migrations(tmp_path)

    (tmp_path / "0002_second.sql").write_text(header)
    assert [each.name for each in migrations.read_migrations(tmp_path)] == ["first", "second", "third"]
    stored = migrations.State(migrations.Schema(2, 1, 1), migrations.read_migrations(tmp_path))
    assert [each.name for each in stored.outstanding()] == ["third"]
