"""Several processes have one file open."""

import asyncio
import os
import random
import sys
import threading
import warnings
from pathlib import Path

import pytest

from taskyard.core import errors
from taskyard.core.changes import Committed
from taskyard.core.task import TaskId
from taskyard.ledger.clock import ManualClock
from taskyard.stores.sqlite import SqliteStore, connection
from tests.stores.given import cancelling, commit, committed, given_a_task, row_of
from tests.stores.sqlite.inside import opened

ROOT = Path(__file__).parents[3]


class Pauses:
    """Draws how long a connection waits before it tries again, and tells that it does."""

    def __init__(self) -> None:
        self.begun = threading.Event()

    def uniform(self, least: float, most: float) -> float:
        self.begun.set()
        return random.uniform(least, most)


async def start(verb: str, path: Path, name: str) -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", "tests.stores.sqlite.another_process", verb, str(path), name)
    return await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)


async def test_processes_that_make_one_yard_at_once_share_it_and_take_each_task_once(path: Path, clock: ManualClock):
    processes = [await start("share", path, name) for name in ("a", "b", "c")]
    said = [(await process.communicate())[0].decode().split() for process in processes]

    assert [process.returncode for process in processes] == [0, 0, 0]
    taken = [task_id for each in said for task_id in each]
    assert len(taken) == len(set(taken)) == 150
    store = SqliteStore(path, clock=clock)
    await store.open()
    assert await store.checks() == []
    assert len(await store.held()) == 150
    await store.close()


async def test_what_a_process_was_assured_is_stored_outlives_its_being_killed(path: Path, clock: ManualClock):
    process = await start("write", path, "a")
    assert process.stdout is not None
    told = [TaskId((await process.stdout.readline()).decode().strip()) for _ in range(50)]
    process.kill()
    told += [TaskId(line) for line in (await process.stdout.read()).decode().splitlines()]
    await process.wait()

    store = SqliteStore(path, clock=clock)
    await store.open()
    assert set(await store.load(told)) == set(told)
    assert await store.checks() == []
    await store.close()


async def test_a_write_waits_for_another_process_and_in_the_end_gives_up(
    store: SqliteStore, path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    task = await given_a_task(store)
    hasty = SqliteStore(path, clock=clock, call_timeout=0.05)
    await hasty.open()
    with opened(path) as other:
        other.execute("begin immediate")
        async with asyncio.timeout(30):
            with pytest.raises(errors.StoreUnavailable, match="locked"):
                await commit(hasty, changes=(cancelling(store, task),))
        assert await row_of(store, task.id) == task

        pauses = Pauses()
        monkeypatch.setattr(connection, "random", pauses)
        cancelled = asyncio.ensure_future(commit(store, changes=(cancelling(store, task),)))
        assert await asyncio.to_thread(pauses.begun.wait, 30)
        assert not cancelled.done()
        other.execute("commit")

    assert isinstance(await cancelled, Committed)
    await hasty.close()


async def test_reading_does_not_wait_for_writing(store: SqliteStore, path: Path):
    task = await given_a_task(store)
    with opened(path) as other:
        other.execute("begin immediate")
        assert await row_of(store, task.id) == task
        other.execute("rollback")


async def test_what_another_process_writes_wakes_who_waits(store: SqliteStore, other: SqliteStore):
    task = await given_a_task(store)
    mark = await store.changed(0, 1)
    waiting = asyncio.ensure_future(store.changed(mark, 30))
    await asyncio.sleep(0)

    await committed(other, changes=(cancelling(other, task),))

    assert await waiting > mark


async def test_what_was_written_before_one_began_to_wait_is_noticed_too(store: SqliteStore, other: SqliteStore):
    task = await given_a_task(store)
    mark = await store.changed(0, 1)
    await committed(other, changes=(cancelling(other, task),))

    assert await store.changed(mark, 30) > mark


def fork_and_read(store: SqliteStore, task_id: TaskId) -> int:
    """The exit status of a child that reads: 7 where it is refused for having been forked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads forks is the point here
        child = os.fork()
    if child == 0:
        try:
            store.load([task_id]).send(None)
        except errors.StoreUnavailable as refusal:
            os._exit(7 if "fork" in str(refusal) else 8)
        finally:
            os._exit(9)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


async def test_a_fork_does_not_take_the_yard_with_it(store: SqliteStore):
    task = await given_a_task(store)

    assert fork_and_read(store, task.id) == 7

    assert await row_of(store, task.id) == task
