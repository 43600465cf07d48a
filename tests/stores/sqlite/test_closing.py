"""A yard that nobody has open is one file, which may be copied and moved as such."""

from pathlib import Path
from shutil import copyfile

from taskyard.ledger.clock import ManualClock
from taskyard.stores.sqlite import SqliteStore
from tests.stores.given import given_a_task, row_of


async def test_the_last_to_close_leaves_everything_in_the_one_file(
    store: SqliteStore, other: SqliteStore, path: Path, clock: ManualClock
):
    task = await given_a_task(store)
    assert await row_of(other, task.id) == task
    await store.close()
    assert len(list(path.parent.iterdir())) > 1  # the log is still needed by the other
    await other.close()

    assert list(path.parent.iterdir()) == [path]
    copy = SqliteStore(Path(copyfile(path, path.with_name("copy.db"))), clock=clock)
    await copy.open()
    assert await row_of(copy, task.id) == task
    await copy.close()
