"""A row that is read by its key is read on the event loop's own thread; every other read has a thread."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from shutil import copyfile

import apsw
import pytest

from taskyard.core.errors import StoreReplaced
from taskyard.stores.sqlite import SqliteStore, queries
from taskyard.stores.sqlite.threads.readers import Readers


@pytest.fixture
async def readers(store: SqliteStore, path: Path) -> AsyncIterator[Readers]:
    """Which have read a row by its key before."""
    readers = Readers(path, asyncio.get_running_loop())
    readers.start()
    await readers.look_up(where_it_runs)
    yield readers
    await readers.stop()


def where_it_runs(connection: apsw.Connection) -> threading.Thread:
    assert connection.execute("select count(*) from meta").get == 1
    return threading.current_thread()


def locked_out_of_the_loop(connection: apsw.Connection) -> threading.Thread:
    if threading.current_thread() is threading.main_thread():
        raise apsw.BusyError
    return where_it_runs(connection)


def replace_by_a_copy(path: Path) -> None:
    Path(copyfile(path, path.with_name("copy.db"))).rename(path)


async def test_a_look_up_runs_on_the_loop_and_another_read_in_a_thread(readers: Readers):
    assert await readers.look_up(where_it_runs) is threading.main_thread()
    assert await readers.do(where_it_runs) is not threading.main_thread()


async def test_a_look_up_does_not_wait_for_a_lock_on_the_loop(readers: Readers):
    assert await readers.look_up(locked_out_of_the_loop) is not threading.main_thread()


async def test_look_ups_are_reads_of_one_row_by_its_key(store: SqliteStore, monkeypatch: pytest.MonkeyPatch):
    on_the_loop: dict[str, bool] = {}

    def noting(name: str) -> None:
        read = getattr(queries, name)

        def noted(*given: object) -> object:
            on_the_loop[name] = threading.current_thread() is threading.main_thread()
            return read(*given)

        monkeypatch.setattr(queries, name, noted)

    noting("record")
    noting("page")
    noting("records")
    await store.record("token", "*", "first")

    await store.record("token", "*", "second")
    await store.page("token", "*", limit=2)
    await store.records("token", "*")
    assert on_the_loop == {"record": True, "page": False, "records": False}
    await store.page("token", "*", limit=1)
    assert on_the_loop["page"]


async def test_a_look_up_sees_what_another_process_wrote_before_it(readers: Readers, path: Path):
    def epochs(connection: apsw.Connection) -> int:
        return connection.execute("select count(*) from epoch where workspace = 'of another'").get

    assert await readers.look_up(epochs) == 0
    with_another = apsw.Connection(str(path))
    with_another.execute("insert into epoch (workspace, epoch) values ('of another', 1)")
    with_another.close()
    assert await readers.look_up(epochs) == 1


async def test_a_look_up_in_a_file_that_was_replaced_is_refused(readers: Readers, path: Path):
    replace_by_a_copy(path)

    with pytest.raises(StoreReplaced):
        await readers.look_up(where_it_runs)
