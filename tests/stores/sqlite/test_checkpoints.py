"""The log is copied into the file beside the writer, and has an end whatever happens."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from taskyard.ledger.clock import ManualClock
from taskyard.stores.sqlite import SqliteStore
from taskyard.stores.sqlite.threads import checkpoints
from taskyard.stores.sqlite.threads.writer import Writer
from tests.stores.sqlite.inside import a_thousand_new, one_new, opened, tasks_of

PAGE = 4096 + 24  # bytes of a page in the log, with its head
ROUND = 25
FEW_PAGES_EACH = 300  # writes of one task


@pytest.fixture
def copiers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that copied, and a log that is long soon."""
    names: list[str] = []

    class Noted(apsw.Connection):
        def wal_checkpoint(self, *args: Any, **more: Any) -> tuple[int, int]:
            names.append(threading.current_thread().name.partition(" yard.db")[0])
            return super().wal_checkpoint(*args, **more)

    monkeypatch.setattr(apsw, "Connection", Noted)
    monkeypatch.setattr(checkpoints, "COPIED_EVERY", 50)
    monkeypatch.setattr(checkpoints, "MOST_PAGES", 200)
    return names


def log_of(path: Path) -> int:
    """Its size in pages."""
    return path.with_name("yard.db-wal").stat().st_size // PAGE


async def write(writer: Writer, clock: ManualClock, until: Callable[[], bool]) -> int:
    """One small task after the other; how many it took."""
    for number in range(20_000):
        if until():
            return number
        await writer.commit([one_new(clock)])
    raise AssertionError("it did not come to that")


async def test_the_log_is_copied_by_a_thread_of_its_own(copiers: list[str], writer: Writer, clock: ManualClock):
    await write(writer, clock, lambda: len(copiers) >= 3)

    assert "taskyard copies the log of" in copiers
    assert set(copiers) <= {"taskyard copies the log of", "taskyard writes"}


async def test_a_log_that_is_never_copied_beside_the_writer_has_an_end(
    copiers: list[str], path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(checkpoints, "COPIED_EVERY", 1_000_000)
    store = SqliteStore(path, clock=clock)
    await store.open()
    for _ in range(ROUND):
        await store.commit([one_new(clock) for _ in range(100)])
    sizes = log_of(path)
    await store.close()

    assert set(copiers) == {"taskyard writes"}
    assert sizes < 600  # one transaction may begin just below the bound
    with opened(path) as connection:
        assert len(tasks_of(connection)) == 100 * ROUND


async def test_a_log_that_is_nearly_copied_is_finished_by_the_writer_and_written_over(
    copiers: list[str], path: Path, writer: Writer, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(checkpoints, "MOST_PAGES", 1_000_000)
    for _ in range(FEW_PAGES_EACH):
        await writer.commit([one_new(clock)])

    assert 0 < copiers.count("taskyard writes") <= copiers.count("taskyard copies the log of")
    assert log_of(path) < 2 * FEW_PAGES_EACH  # each of them wrote five or more


async def test_a_copy_that_fails_is_logged_once_and_tried_again(
    copiers: list[str],
    writer: Writer,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    copy = apsw.Connection.wal_checkpoint
    tries: list[str] = []

    def full(*args: Any, **more: Any) -> tuple[int, int]:
        tries.append("")
        if len(tries) <= 5:
            raise apsw.FullError("database or disk is full")
        return copy(*args, **more)

    monkeypatch.setattr(apsw.Connection, "wal_checkpoint", full)
    await write(writer, clock, lambda: len(copiers) >= 2)

    assert len([record for record in caplog.records if "was not copied" in record.message]) == 1


async def test_closing_leaves_the_whole_yard_in_the_one_file(copiers: list[str], path: Path, clock: ManualClock):
    others = set(threading.enumerate())  # a test of this process may have left a handler that never returns
    store = SqliteStore(path, clock=clock)
    await store.open()
    for _ in range(3):
        await asyncio.gather(*(store.commit([a_thousand_new(clock)]) for _ in range(2)))
    await store.close()

    assert copiers
    assert [each.name for each in path.parent.iterdir()] == ["yard.db"]
    assert [each.name for each in set(threading.enumerate()) - others if each.name.startswith("taskyard")] == []
    with opened(path) as connection:
        assert len(tasks_of(connection)) == 6_000
