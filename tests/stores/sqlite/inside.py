"""Ways to get at what a store hides."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from taskyard.core.changes import ChangeSet
from taskyard.core.task import Hot, TaskId
from taskyard.ledger.clock import ManualClock
from taskyard.stores.sqlite.threads.writer import Writer
from taskyard.stores.sqlite.transaction import SqliteTransaction
from tests.stores.given import a_row, new


@contextmanager
def opened(path: Path) -> Generator[apsw.Connection]:
    """The file as any other program has it."""
    connection = apsw.Connection(str(path))
    yield connection
    connection.close()


def tasks_of(connection: apsw.Connection) -> set[TaskId]:
    return {row[0] for row in connection.execute("select id from task")}


def one_new(clock: ManualClock) -> ChangeSet:
    return ChangeSet(tasks=(new(a_row(clock.now())),), at=clock.now())


def a_thousand_new(clock: ManualClock) -> ChangeSet:
    tasks = (new(a_row(clock.now()), payload="x" * 1000) for _ in range(1000))
    return ChangeSet(tasks=tuple(tasks), at=clock.now())


async def held_back(writer: Writer) -> threading.Event:
    """Keep the thread busy until the event is set: everything asked of it meanwhile waits."""
    begun, go_on = threading.Event(), threading.Event()

    def dawdle(_: SqliteTransaction) -> None:
        begun.set()
        assert go_on.wait(30)

    dawdling = asyncio.ensure_future(writer.do(dawdle))
    dawdling.add_done_callback(lambda done: done.result())
    await asyncio.to_thread(begun.wait)
    return go_on


async def tasks_read(writer: Writer) -> list[TaskId]:
    """The tasks it reads from now on, as it reads them."""
    read: list[TaskId] = []

    def note(_: apsw.Cursor, row: Any) -> Any:
        if len(row) == len(Hot._fields):
            read.append(row[0])
        return row

    await writer.do(lambda transaction: transaction.connection.set_row_trace(note))
    return read


async def columns_read(writer: Writer) -> set[tuple[str, str]]:
    """The tables and columns that statements read from now on."""
    read: set[tuple[str, str]] = set()

    def note(action: int, table: str | None, column: str | None, *_: str | None) -> int:
        if action == apsw.SQLITE_READ:
            read.add((table or "", column or ""))
        return apsw.SQLITE_OK

    await writer.do(lambda transaction: transaction.connection.set_authorizer(note))
    return read


async def commits_of(writer: Writer) -> list[int]:
    """One entry for each commit that writes something from now on."""
    commits: list[int] = []

    def note(_: apsw.Connection, __: str, pages: int) -> int:
        commits.append(pages)
        return 0

    await writer.do(lambda transaction: transaction.connection.set_wal_hook(note))
    return commits
