"""A file that is deleted, replaced or damaged while a yard has it open."""

import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

import taskyard
from taskyard.core.errors import StoreCorrupt, StoreReplaced
from taskyard.ledger.clock import ManualClock
from taskyard.stores.sqlite import SqliteStore, small_writes
from taskyard.stores.sqlite.transaction import SqliteTransaction
from taskyard.yard import Yard


@pytest.fixture
async def yard(path: Path) -> AsyncIterator[Yard]:
    async with taskyard.connect(f"sqlite:///{path}", sweeps=False) as yard:
        await yard.enqueue("code")
        yield yard


def damage(path: Path, by: bytes, *, at: int = 0) -> None:
    path.touch()
    with path.open("r+b") as file:
        file.seek(at)
        file.write(by)


def replace_by_a_copy(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


@pytest.mark.parametrize("act", [Path.unlink, replace_by_a_copy])
async def test_a_file_that_was_deleted_or_replaced_takes_no_more(yard: Yard, path: Path, act: Callable[[Path], None]):
    act(path)

    with pytest.raises(StoreReplaced, match=r"yard\.db was deleted or replaced"):
        await yard.enqueue("code")
    with pytest.raises(StoreReplaced):
        await yard.find()


@pytest.mark.parametrize("act", [Path.unlink, replace_by_a_copy])
async def test_a_write_under_way_when_the_file_is_taken_is_not_acknowledged(
    path: Path, clock: ManualClock, act: Callable[[Path], None]
):
    store = SqliteStore(path, clock=clock)
    await store.open()

    def write(transaction: SqliteTransaction) -> None:
        small_writes.pulse(transaction, ["agent:late"])
        act(path)

    with pytest.raises(StoreReplaced):
        await store._open_writer().do(write)  # pyright: ignore[reportPrivateUsage]
    await store.close()


async def test_a_working_directory_that_changes_is_no_other_file(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(path.parent)
    async with taskyard.connect("sqlite:///yard.db", sweeps=False) as yard:
        monkeypatch.chdir("/")

        assert await yard.enqueue("code")
        assert await yard.find()


async def test_a_damaged_file_is_an_error_of_its_own(path: Path):
    damage(path, b"this is no database, whatever its name says" * 100)

    with pytest.raises(StoreCorrupt, match="restore a backup") as told:
        async with taskyard.connect(f"sqlite:///{path}", sweeps=False):
            pass

    assert told.value.exit_status == 7
    assert not told.value.retryable


async def test_a_page_that_is_damaged_is_reported_by_the_read_that_meets_it(path: Path):
    async with taskyard.connect(f"sqlite:///{path}", sweeps=False) as yard:
        for _ in range(50):
            await yard.enqueue("code", payload={"text": "x" * 2000})
    damage(path, b"\xff" * 200_000, at=4096)

    with pytest.raises(StoreCorrupt):
        async with taskyard.connect(f"sqlite:///{path}", sweeps=False) as yard:
            await yard.find()
