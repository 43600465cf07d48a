"""Who waits hears the log being written to, and where nothing can be heard, it is looked at."""

import asyncio
import sys
from pathlib import Path

import pytest

from taskyard.core import errors
from taskyard.ledger.clock import ManualClock
from taskyard.stores.sqlite import SqliteStore
from taskyard.stores.sqlite.fast import log_watch
from taskyard.stores.sqlite.fast.log_watch import PollSchedule, watch_log
from taskyard.stores.sqlite.threads import writer
from tests.stores.sqlite.inside import opened
from tests.stores.sqlite.test_processes import start

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who writes to a file")


@pytest.fixture
def no_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks by themselves for longer than these tests wait."""
    monkeypatch.setattr(log_watch, "_LONGEST_PAUSE", 600)
    monkeypatch.setattr(log_watch, "_BUSY", 0)


@pytest.fixture
def no_ears(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_at(*_: object) -> None: ...

    monkeypatch.setattr(writer, "watch_log", none_at)


async def waiting(store: SqliteStore) -> asyncio.Task[int]:
    """Somebody who waits, and whose first look is over."""
    task = asyncio.create_task(store.changed(await store.changed(0, 0), 20))
    await asyncio.sleep(0)
    for _ in range(2):
        await store.touch([])
    return task


async def is_woken_by_another_process(store: SqliteStore, path: Path) -> None:
    mark = await store.changed(0, 0)
    woken = await waiting(store)

    process = await start("write", path, "a")

    assert await woken > mark
    process.kill()
    await process.communicate()


def open_files() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


@linux
@pytest.mark.usefixtures("no_looks")
async def test_what_another_process_commits_is_heard(store: SqliteStore, path: Path):
    await is_woken_by_another_process(store, path)


@linux
@pytest.mark.usefixtures("no_looks")
async def test_what_any_program_commits_is_heard_at_the_commit_however_long_that_takes(store: SqliteStore, path: Path):
    mark = await store.changed(0, 0)
    woken = await waiting(store)
    with opened(path) as program:
        program.pragma("cache_size", 1)  # so that the log is written to long before the commit
        program.execute("begin immediate")
        program.execute("create table theirs as select zeroblob(1000000)")
        for _ in range(2):
            await store.schema()
        assert not woken.done()

        program.execute("commit")

    assert await woken > mark


@pytest.mark.usefixtures("no_ears")
async def test_where_nothing_can_be_heard_it_is_looked_at(store: SqliteStore, path: Path):
    await is_woken_by_another_process(store, path)


@linux
async def test_a_closed_yard_leaves_nothing_open(path: Path, clock: ManualClock):
    before = open_files()
    store = SqliteStore(path, clock=clock)
    await store.open()
    woken = await waiting(store)
    await store.close()

    assert open_files() == before
    with pytest.raises(errors.YardClosed):
        await woken


@linux
async def test_there_is_no_ear_where_there_is_no_file(tmp_path: Path):
    before = open_files()

    assert watch_log(str(tmp_path / "nothing"), asyncio.get_running_loop(), lambda: None) is None
    assert open_files() == before


class Now:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    now = Now()
    monkeypatch.setattr(log_watch, "monotonic", now)
    return now


def test_who_hears_looks_seldom_while_it_is_quiet(now: Now):
    lookout = PollSchedule()
    assert 0.002 <= lookout.pause() <= 0.003
    lookout.is_watched = True

    assert lookout.pause() == 0.025


def test_looks_are_close_once_somebody_writes_and_grow_apart_while_no_commit_follows(now: Now):
    lookout = PollSchedule()
    lookout.is_watched = True
    assert lookout.note_log_write()

    assert lookout.pause() == 0.000_1
    pauses: list[float] = []
    while lookout.pause() < 0.025:
        pauses.append(lookout.pause())
        now.at += pauses[-1]
    assert pauses == sorted(pauses)
    assert len(pauses) < 40, "an echo must not cost more than that"


def test_after_a_commit_looks_are_regular_for_a_while(now: Now):
    lookout = PollSchedule()
    lookout.is_watched = True
    lookout.note_commit()

    assert not lookout.note_log_write(), "the pause that is under way is short enough"
    assert 0.002 <= lookout.pause() <= 0.003
    now.at += 0.011
    assert lookout.note_log_write()
    assert lookout.pause() == 0.000_1
