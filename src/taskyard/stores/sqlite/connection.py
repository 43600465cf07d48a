"""Connections to the yard's file, one for each thread, and the translation of SQLite's errors."""

from __future__ import annotations

import errno
import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from taskyard.core.errors import StoreCorrupt, StoreFull, StoreReadOnly, StoreUnavailable, Unavailable
from taskyard.stores.shared.filters import may_mention
from taskyard.stores.shared.timeouts import CALL_TIMEOUT
from taskyard.stores.sqlite.yard_file import make_private

_STATEMENTS_KEPT = 512
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def connect(path: Path, *, writes: bool, call_timeout: float = CALL_TIMEOUT) -> apsw.Connection:
    """Open a connection that waits for another process's lock as long as a call may take."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if writes else apsw.SQLITE_OPEN_READONLY
    if writes:
        make_private(path)
    connection = apsw.Connection(str(path), flags=flags, statementcachesize=_STATEMENTS_KEPT)
    connection.set_busy_handler(_busy_handler(call_timeout))
    # Without QPSG, SQLite prepares a statement on a partial index again for each new value: 50 µs.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.pragma("synchronous", "full")
    connection.pragma("temp_store", "memory")
    connection.pragma("cache_size", -16_384)  # KiB
    connection.pragma("wal_autocheckpoint", 4_000)  # pages; what is hot is copied into the file less often
    if not writes:
        connection.create_scalar_function("mentions", _mentions, 2, deterministic=True)
    return connection


def connect_memory() -> apsw.Connection:
    """Open an empty database in memory that no other connection sees."""
    return apsw.Connection(":memory:")


def _busy_handler(call_timeout: float) -> Callable[[int], bool]:
    """A busy handler of short sleeps. SQLite's own handler sleeps up to 100 ms, and is unfair to early waiters."""
    until = 0.0

    def wait(tries: int) -> bool:
        nonlocal until
        if tries == 0:
            until = time.monotonic() + call_timeout
        time.sleep(random.uniform(0.000_1, 0.001))
        return time.monotonic() < until

    return wait


def _mentions(*given: Any) -> bool:
    body, text = given
    wanted: str = text.casefold()
    if may_mention(body, wanted):
        definition: dict[str, str] = json.loads(body)
        return any(wanted in definition.get(name, "").casefold() for name in ("title", "prompt", "payload"))
    return False


def translate_error(error: BaseException, path: Path, connection: apsw.Connection | None = None) -> Unavailable | None:
    """The error that a caller gets for an error of SQLite; None for a bug of this program."""
    detail = f"{path}: {error}"
    # SQLite reports a full disk only for ENOSPC: quotas and limits of the file size are I/O errors to it.
    if isinstance(error, apsw.IOError) and connection is not None and connection.system_errno in _NO_ROOM:
        return StoreFull(detail)
    match error:
        case apsw.FullError():
            return StoreFull(detail)
        case apsw.ReadOnlyError():
            return StoreReadOnly(detail)
        case apsw.CantOpenError() if path.exists() and not os.access(path, os.W_OK, effective_ids=True):
            return StoreReadOnly(detail)
        case apsw.BusyError():
            return StoreUnavailable(f"{path}: another process kept it locked for longer than a call waits")
        case apsw.IOError() | apsw.CantOpenError() | apsw.LockedError() | apsw.ProtocolError() | apsw.NoMemError():
            return StoreUnavailable(detail)
        case apsw.CorruptError() | apsw.NotADBError():
            return StoreCorrupt(detail)
        case apsw.PermissionsError():
            return StoreUnavailable(detail)
        case Unavailable():
            return error
        case _:
            return None
