"""Checkpoints of the write-ahead log outside of commits: SQLite would run them inside the commit that fills the log.

A thread with its own connection copies the log into the file as the log grows. While writes never pause, it cannot
reach the end of the log, where the log would restart. The writer therefore copies the rest between two transactions,
when the thread has left little of it, or at the log's maximum length. A log that restarts is written over, which takes
a commit less time than making the file longer. A failed checkpoint loses nothing: a later one copies the pages.
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
COPIED_EVERY = 4_000  # new pages in the log before a checkpoint; pages that change often are copied once
LITTLE = 500  # pages that the writer copies itself
PASSES = 3  # of the thread, each over what was written during the one before, until little is left
MOST_PAGES = 4 * COPIED_EVERY  # pages of a log that the writer itself copies to the end


class Checkpoints:
    """Used by the writer's thread; only `_run` is on the thread for checkpoints."""

    def __init__(self, path: Path, call_timeout: float = CALL_TIMEOUT) -> None:
        self._path = path
        self._call_timeout = call_timeout
        self._thread: Thread | None = None  # started with the first checkpoint: most processes write little
        self._requests: SimpleQueue[bool] = SimpleQueue()
        self._is_copying = False
        self._is_too_long = False
        self._is_nearly_copied = False  # and the writer has not copied the rest yet
        self._pages = 0  # length of the log
        self._copied = 0
        self._has_failed = False  # whether the last checkpoint failed; only the first failure in a row is logged

    def watch(self, connection: apsw.Connection) -> None:
        """Replace SQLite's automatic checkpoints of this connection."""
        connection.set_wal_hook(self._on_commit)

    def finish_log(self, connection: apsw.Connection) -> None:
        """Copy the rest of a log that is nearly copied or too long, so that it restarts. Between transactions."""
        if (self._is_too_long or self._is_nearly_copied) and not self._is_copying:
            # Once, even if a reader holds the log up: the thread comes again when the log has grown.
            self._is_too_long = self._is_nearly_copied = False
            with self._log_first_failure():
                _, self._copied = connection.wal_checkpoint()

    def close(self) -> None:
        if self._thread is not None:
            self._requests.put(False)
            self._thread.join()

    def _on_commit(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._pages:
            self._copied = 0  # the log has restarted
        self._pages = pages
        self._is_too_long = pages >= MOST_PAGES
        if not self._is_too_long and not self._is_copying and pages - self._copied >= COPIED_EVERY:
            self._is_copying = True
            self._start_thread()
            self._requests.put(True)
        return apsw.SQLITE_OK

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._run, name=f"taskyard copies the log of {self._path.name}", daemon=True)
            self._thread.start()

    @contextmanager
    def _log_first_failure(self) -> Generator[None]:
        try:
            yield
        except apsw.BusyError:
            pass  # another process runs a checkpoint
        except apsw.Error as error:
            if not self._has_failed:
                logger.warning("%s: the log was not copied into the file, which is tried again: %s", self._path, error)
            self._has_failed = True
        else:
            self._has_failed = False

    # This runs in the thread.

    def _run(self) -> None:
        connection: apsw.Connection | None = None
        while self._requests.get():
            with self._log_first_failure():
                connection = connection or connect(self._path, writes=True, call_timeout=self._call_timeout)
                self._is_nearly_copied = self._copy(connection)
            self._is_copying = False
        if connection is not None:
            connection.close()

    def _copy(self, connection: apsw.Connection) -> bool:
        """Copy the log. Answers whether little of it is left."""
        for _ in range(PASSES):
            before = self._copied
            _, self._copied = connection.wal_checkpoint()
            if self._pages - self._copied <= LITTLE:
                return True
            if self._copied == before:
                break  # a reader holds the log up
        return False
