"""Threads that read, each on its own connection, so that no read waits for a write.

To wake a thread and to be woken by it takes far longer than to read one row by its key. Such reads run on the event
loop's own thread, on a connection of their own, and wait for nobody: if the file is locked, a thread reads instead. In
a write-ahead log only the repair after a crash locks readers out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple

import apsw

from taskyard.core.errors import StoreReplaced
from taskyard.stores.shared.timeouts import CALL_TIMEOUT
from taskyard.stores.sqlite.connection import connect, translate_error
from taskyard.stores.sqlite.threads.futures import call_on_loop, reject, resolve
from taskyard.stores.sqlite.yard_file import FileIdentity

Read = Callable[[apsw.Connection], Any]
_THREADS = 2


class _ReadJob(NamedTuple):
    future: asyncio.Future[Any]
    read: Read


class Readers:
    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop, call_timeout: float = CALL_TIMEOUT) -> None:
        self._path = path
        self._call_timeout = call_timeout
        self._loop = loop
        self._identity = FileIdentity(path)  # read again when the threads start
        self._jobs: SimpleQueue[_ReadJob | None] = SimpleQueue()
        self._threads: dict[asyncio.Future[None], Thread] = {}
        self._connection: apsw.Connection | None = None  # of the loop; opened by a thread, with the first look-up
        self._opening = Lock()

    # These run on the event loop.

    def start(self) -> None:
        self._identity = FileIdentity(self._path)
        for _ in range(_THREADS):
            ended: asyncio.Future[None] = self._loop.create_future()
            thread = Thread(target=self._run, args=(ended,), name=f"taskyard reads {self._path.name}", daemon=True)
            self._threads[ended] = thread
            thread.start()

    async def stop(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for ended, thread in self._threads.items():
            await ended
            thread.join()
        if self._connection is not None:
            self._connection.close()

    async def do(self, read: Read) -> Any:
        job = _ReadJob(self._loop.create_future(), read)
        self._jobs.put(job)
        return await job.future

    async def look_up(self, read: Read) -> Any:
        """Read one row by its key."""
        if self._connection is None:
            return await self.do(lambda connection: (read(connection), self._open_for_loop())[0])
        try:
            self._identity.check()
            return read(self._connection)
        except apsw.BusyError:
            return await self.do(read)
        except Exception as error:
            raise self._translate(error) from None

    # These run in the threads.

    def _open_for_loop(self) -> None:
        with self._opening, suppress(apsw.Error):  # if it fails, threads go on reading
            if self._connection is None:
                connection = connect(self._path, writes=False, call_timeout=self._call_timeout)
                connection.set_busy_handler(None)
                self._connection = connection

    def _run(self, ended: asyncio.Future[None]) -> None:
        connection: apsw.Connection | None = None
        while (job := self._jobs.get()) is not None:
            try:
                # The connection is opened with the first read, and again if opening it failed.
                connection = connection or connect(self._path, writes=False, call_timeout=self._call_timeout)
                self._identity.check()
                found = job.read(connection)
            except BaseException as error:
                call_on_loop(self._loop, reject, [job.future], self._translate(error))
            else:
                call_on_loop(self._loop, resolve, [(job.future, found)])
            del job  # otherwise the job and its result would stay in memory until the next read
        if connection is not None:
            connection.close()
        call_on_loop(self._loop, resolve, [(ended, None)])

    def _translate(self, error: BaseException) -> BaseException:
        if isinstance(error, apsw.CantOpenError):
            # The file may have been deleted before this thread opened it.
            try:
                self._identity.check()
            except StoreReplaced as replaced:
                return replaced
        return translate_error(error, self._path) or error
