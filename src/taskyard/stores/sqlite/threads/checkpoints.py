"""Copying the log into the file, beside the writer: SQLite would do it inside whichever commit made the log long.

A thread with a connection of its own copies as the log grows, and syncs the file. While writes never pause it cannot
come to the log's end, where the log begins anew; so where the log has grown to its bound, the writer copies the little
that is left. What was not copied, for whatever reason, is still in the log, and a later try copies it.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import apsw

from taskyard.stores.shared.timeouts import CALL_TIMEOUT
from taskyard.stores.sqlite.connection import connect

logger = logging.getLogger("taskyard")
STEP = 4_000  # pages by which the log grows until it is copied; what is hot is copied less often than it is written
MOST = 4 * STEP  # pages of a log that the writer brings to its end itself


class Checkpoints:
    """Of the writer's thread: only `_run` is on another."""

    def __init__(self, path: Path, call_timeout: float = CALL_TIMEOUT) -> None:
        self._path = path
        self._call_timeout = call_timeout
        self._thread: Thread | None = None  # not before the log is long: most who open a yard write little
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._is_copying = False
        self._is_too_long = False
        self._pages = 0  # of the log
        self._copied = 0
        self._has_failed = False  # the last time; only the first failure in a row is logged

    def watch(self, connection: apsw.Connection) -> None:
        """Take over from SQLite for this connection."""
        connection.set_wal_hook(self._committed)

    def bring_to_end(self, connection: apsw.Connection) -> None:
        """Between two transactions: copy what is left of a log that is too long, so that it begins anew."""
        if self._is_too_long and not self._is_copying:
            self._is_too_long = False
            with self._failing_once():
                _, self._copied = connection.wal_checkpoint()

    def close(self) -> None:
        if self._thread is not None:
            self._wanted.put(False)
            self._thread.join()

    def _committed(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._pages:
            self._copied = 0  # the log has begun anew
        self._pages = pages
        self._is_too_long = pages >= MOST
        if not self._is_too_long and not self._is_copying and pages - self._copied >= STEP:
            self._is_copying = True
            self._begin()
            self._wanted.put(True)
        return apsw.SQLITE_OK

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._run, name=f"taskyard copies the log of {self._path.name}", daemon=True)
            self._thread.start()

    @contextmanager
    def _failing_once(self) -> Generator[None]:
        try:
            yield
        except apsw.BusyError:
            pass  # another process copies the same log at this moment
        except apsw.Error as error:
            if not self._has_failed:
                logger.warning("%s: the log was not copied into the file, which is tried again: %s", self._path, error)
            self._has_failed = True
        else:
            self._has_failed = False

    # The thread.

    def _run(self) -> None:
        connection: apsw.Connection | None = None
        while self._wanted.get():
            with self._failing_once():
                connection = connection or connect(self._path, writes=True, call_timeout=self._call_timeout)
                _, self._copied = connection.wal_checkpoint()
            self._is_copying = False
        if connection is not None:
            connection.close()
