"""The disk is full, closed to writes, somewhere else, or not what it should be."""

import asyncio
import os
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from taskyard.core import errors
from taskyard.core.changes import Committed, Rescore
from taskyard.ledger.clock import ManualClock
from taskyard.stores.sqlite import SqliteStore
from taskyard.stores.sqlite.threads.writer import Writer
from taskyard.stores.sqlite.transaction import SqliteTransaction
from taskyard.stores.sqlite.yard_file import refuse_network
from tests.stores.given import a_new_task, cancelling, commit, given_a_task, row_of
from tests.stores.sqlite.inside import a_thousand_new, held_back, one_new, opened, tasks_of


async def test_a_full_disk_is_reported_and_what_was_acknowledged_stays(writer: Writer, path: Path, clock: ManualClock):
    kept = a_thousand_new(clock)
    await writer.commit([kept])
    pages: int = await writer.do(lambda transaction: transaction.connection.pragma("page_count"))
    await writer.do(lambda transaction: transaction.connection.pragma("max_page_count", pages + 10))

    with pytest.raises(errors.StoreFull):
        await writer.commit([a_thousand_new(clock)])
    small = one_new(clock)
    assert isinstance((await writer.commit([small]))[0], Committed)

    await writer.do(lambda transaction: transaction.connection.pragma("max_page_count", 2**30))
    await writer.commit([a_thousand_new(clock)])
    with opened(path) as connection:
        assert {task.hot.id for task in (*kept.tasks, *small.tasks)} <= tasks_of(connection)
        assert len(tasks_of(connection)) == 2001


async def test_a_file_that_may_not_grow_is_full_too(writer: Writer, path: Path, clock: ManualClock):
    await writer.commit([one_new(clock)])
    with files_of_at_most(256 * 1024), pytest.raises(errors.StoreFull):
        await writer.commit([a_thousand_new(clock)])

    await writer.commit([a_thousand_new(clock)])
    with opened(path) as connection:
        assert len(tasks_of(connection)) == 1001


@contextmanager
def files_of_at_most(size: int) -> Generator[None]:
    """What a quota does, for this process: a file cannot be written beyond this size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_what_is_too_large_does_not_spoil_what_waits_beside_it(writer: Writer, clock: ManualClock):
    pages: int = await writer.do(lambda transaction: transaction.connection.pragma("page_count"))
    await writer.do(lambda transaction: transaction.connection.pragma("max_page_count", pages + 10))
    small = [one_new(clock) for _ in range(4)]
    go_on = await held_back(writer)

    calls = [asyncio.ensure_future(writer.commit([each])) for each in (*small[:2], a_thousand_new(clock), *small[2:])]
    await asyncio.sleep(0)
    go_on.set()
    results = await asyncio.gather(*calls, return_exceptions=True)

    assert [type(each) for each in results] == [list, list, errors.StoreFull, list, list]


async def test_a_mistake_in_one_call_does_not_spoil_what_waits_beside_it(store: SqliteStore):
    task = await given_a_task(store)
    good = [await a_new_task(store) for _ in range(4)]

    results = await asyncio.gather(
        *(commit(store, tasks=(each,)) for each in good[:2]),
        commit(store, rescores=(Rescore(task.id, 2**70, 0, None),)),
        *(commit(store, tasks=(each,)) for each in good[2:]),
        return_exceptions=True,
    )

    assert [type(each) for each in results] == [Committed, Committed, OverflowError, Committed, Committed]
    assert set(await store.load([each.hot.id for each in good])) == {each.hot.id for each in good}


@contextmanager
def only_to_be_read(*paths: Path) -> Generator[None]:
    """As somebody who may read these and not write them."""
    modes = {path: path.stat().st_mode for path in paths}
    was = os.geteuid()
    for path in paths:
        path.chmod(0o555)
    if was == 0:  # root may write everything
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)
        for path, mode in modes.items():
            path.chmod(mode)


@pytest.fixture
def open_folder() -> Generator[Path]:
    """One that everybody can get at, unlike those of pytest."""
    with TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o777)
        yield path


async def test_a_file_that_may_only_be_read_can_be_read_and_refuses_writes(open_folder: Path, clock: ManualClock):
    store = SqliteStore(open_folder / "yard.db", clock=clock)
    await store.open()
    task = await given_a_task(store)
    await store.close()

    with only_to_be_read(open_folder / "yard.db"):
        await store.open()
        assert await row_of(store, task.id) == task
        with pytest.raises(errors.StoreReadOnly):
            await commit(store, changes=(cancelling(store, task),))
        await store.close()


async def test_a_file_in_a_folder_that_may_only_be_read_is_refused(open_folder: Path, clock: ManualClock):
    store = SqliteStore(open_folder / "yard.db", clock=clock)
    await store.open()
    await store.close()

    with only_to_be_read(open_folder, open_folder / "yard.db"), pytest.raises(errors.StoreReadOnly):
        await store.open()


@pytest.fixture
def letter(path: Path) -> Path:
    path.write_bytes(b"to my grandmother, and not a database at all" * 100)
    return path


async def test_a_file_that_is_no_yard_is_refused(letter: Path, clock: ManualClock):
    with pytest.raises(errors.StoreCorrupt, match="not a database"):
        await SqliteStore(letter, clock=clock).open()


async def test_a_folder_that_is_not_there_is_reported(tmp_path: Path, clock: ManualClock):
    with pytest.raises(errors.StoreUnavailable):
        await SqliteStore(tmp_path / "nowhere" / "yard.db", clock=clock).open()


async def test_every_commit_is_on_the_disk_when_it_is_answered(writer: Writer):
    def settings(transaction: SqliteTransaction) -> list[object]:
        return [transaction.connection.pragma(name) for name in ("journal_mode", "synchronous")]

    assert await writer.do(settings) == ["wal", 2]


MOUNTS = """\
/dev/vda / ext4 rw,relatime 0 0
server:/export /home nfs4 rw,vers=4.2 0 0
/dev/vdb /home/ada/disk xfs rw 0 0
tmpfs /mnt/two\\040words tmpfs rw 0 0
ada@server: /mnt/two\\040words fuse.sshfs rw 0 0
"""


@pytest.mark.parametrize("where", ["/home/ada/yard.db", "/home/yard.db", "/mnt/two words/yard.db"])
def test_a_network_file_system_is_refused(where: str):
    with pytest.raises(errors.InvalidInput, match="must be on a disk of this machine"):
        refuse_network(Path(where), MOUNTS)


@pytest.mark.parametrize("where", ["/yard.db", "/homes/yard.db", "/home/ada/disk/yard.db", "/mnt/two/yard.db"])
def test_a_disk_of_this_machine_is_not(where: str):
    refuse_network(Path(where), MOUNTS)
    refuse_network(Path(where), "")
