"""Threads that read, each on a connection of its own, so that no read waits for a write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

import apsw

from taskyard.stores.shared.timeouts import CALL_TIMEOUT
from taskyard.stores.sqlite.connection import connect, refusal_of
from taskyard.stores.sqlite.threads.futures import answer, refuse, tell
from taskyard.stores.sqlite.yard_file import SameFile

Read = Callable[[apsw.Connection], Any]
_THREADS = 2


class _Wanted(NamedTuple):
    future: asyncio.Future[Any]
    read: Read


class Readers:
    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop, call_timeout: float = CALL_TIMEOUT) -> None:
        self._path = path
        self._call_timeout = call_timeout
        self._loop = loop
        self._same = SameFile(path)  # as it is when reading begins
        self._wanted: SimpleQueue[_Wanted | None] = SimpleQueue()
        self._threads: dict[asyncio.Future[None], Thread] = {}

    # Called on the loop.

    def start(self) -> None:
        self._same = SameFile(self._path)
        for _ in range(_THREADS):
            ended: asyncio.Future[None] = self._loop.create_future()
            thread = Thread(target=self._run, args=(ended,), name=f"taskyard reads {self._path.name}", daemon=True)
            self._threads[ended] = thread
            thread.start()

    async def stop(self) -> None:
        for _ in self._threads:
            self._wanted.put(None)
        for ended, thread in self._threads.items():
            await ended
            thread.join()

    async def do(self, read: Read) -> Any:
        wanted = _Wanted(self._loop.create_future(), read)
        self._wanted.put(wanted)
        return await wanted.future

    # The threads.

    def _run(self, ended: asyncio.Future[None]) -> None:
        connection: apsw.Connection | None = None
        while (wanted := self._wanted.get()) is not None:
            try:
                # Made when first needed, and again after it could not be.
                connection = connection or connect(self._path, writes=False, call_timeout=self._call_timeout)
                self._same.check()
                found = wanted.read(connection)
            except BaseException as error:
                tell(self._loop, refuse, [wanted.future], refusal_of(error, self._path) or error)
            else:
                tell(self._loop, answer, [(wanted.future, found)])
            del wanted  # so that what was asked and answered does not live until the next read
        if connection is not None:
            connection.close()
        tell(self._loop, answer, [(ended, None)])
