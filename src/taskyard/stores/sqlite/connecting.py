"""A connection to the yard's file, as every thread of this store has its own; and what its errors mean to a caller."""

from __future__ import annotations

import errno
import json
import os
import random
import secrets
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw

from taskyard.core.errors import (
    InvalidInput,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreReplaced,
    StoreUnavailable,
    Unavailable,
)
from taskyard.stores.shared import migrations
from taskyard.stores.shared.filters import may_mention
from taskyard.stores.shared.patience import CALL_TIMEOUT
from taskyard.stores.sqlite.statements import SQL

MIGRATIONS = Path(__file__).with_name("migrations")
_STATEMENTS_KEPT = 512
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_MOUNTS = Path("/proc/self/mounts")

# Their locks and shared memory do not reach other machines, or not reliably: the file would be corrupted.
_NETWORKED = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smbfs", "smb3", "ncpfs", "afs", "coda", "ceph", "glusterfs", "lustre", "gpfs"),
        *("beegfs", "pvfs2", "orangefs", "davfs", "fuse.sshfs", "fuse.s3fs", "fuse.glusterfs", "fuse.rclone"),
        *("fuse.gcsfuse", "fuse.davfs2", "fuse.cephfs", "fuse.juicefs", "fuse.blobfuse", "fuse.blobfuse2"),
    }
)


class SameFile:
    """Whether a path still names the file that it named at first.

    A file that was deleted or replaced goes on being written by whoever has it open, and all of that is lost with the
    last of them. To ask takes two microseconds.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = self._found()

    def check(self) -> None:
        if self._found() != self._file:
            raise StoreReplaced(str(self._path))

    def _found(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)  # noqa: PTH116 - half as long as by the path's own method
        except OSError:
            return None
        return found.st_dev, found.st_ino


def refuse_network(path: Path, mounts: str | None = None) -> None:
    """Only a disk of this machine will do."""
    if mounts is None:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace") if _MOUNTS.exists() else ""
    kind = _file_system(path.resolve(), mounts)
    if kind in _NETWORKED:
        raise InvalidInput("path", f"must be on a disk of this machine, and {path} is on {kind}")


def _file_system(path: Path, mounts: str) -> str | None:
    """The kind of the mount that the path is under: the longest, and of equals the last, which covers the others."""
    found: tuple[int, str] | None = None
    for line in mounts.splitlines():
        _, where, kind, *_ = line.split(" ")
        # Blanks in a path are written as \040.
        where = where.encode().decode("unicode_escape")
        if path.is_relative_to(where) and (found is None or len(where) >= found[0]):
            found = len(where), kind
    return None if found is None else found[1]


def connect(path: Path, *, writes: bool, call_timeout: float = CALL_TIMEOUT) -> apsw.Connection:
    """One that waits for another process's write for as long as a call may take."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if writes else apsw.SQLITE_OPEN_READONLY
    if writes:
        _make_private(path)
    connection = apsw.Connection(str(path), flags=flags, statementcachesize=_STATEMENTS_KEPT)
    connection.set_busy_handler(_wait_a_little(call_timeout))
    # Without this, a statement that meets a partial index is prepared anew whenever it is given other values: 50 µs.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.pragma("synchronous", "full")
    connection.pragma("temp_store", "memory")
    connection.pragma("cache_size", -16_384)  # KiB
    connection.pragma("wal_autocheckpoint", 4_000)  # pages; what is hot is copied into the file less often
    if not writes:
        connection.create_scalar_function("mentions", _mentions, 2, deterministic=True)
    return connection


def _make_private(path: Path) -> None:
    """A new file is its owner's alone: prompts, outputs and the yard's secret are in it.

    SQLite gives its WAL and its shared memory the mode of the file. One that is there keeps the mode its owner gave it.
    """
    with suppress(OSError):  # where it cannot be made, SQLite says why
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _wait_a_little(call_timeout: float) -> Callable[[int], bool]:
    """SQLite's own busy handler sleeps up to 100 ms, and those who came last as short as those who came first."""
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


def prepare(connection: apsw.Connection, *, migrates: bool = True, call_timeout: float = CALL_TIMEOUT) -> bytes:
    """Bring the file to this release's schema, and make it a yard if it is none yet; its secret is answered."""
    if not migrates:
        schema(connection).require_current()
    _patiently(lambda: connection.pragma("journal_mode", "wal"), call_timeout)
    if schema(connection).outstanding():
        connection.execute(SQL["begin"])
        try:
            _migrate(connection)
            connection.execute(SQL["commit"])
        except BaseException:
            connection.execute(SQL["rollback"])
            raise
    return connection.execute(SQL["secret"]).get


def schema(connection: apsw.Connection) -> migrations.State:
    return migrations.State(_stored(connection), migrations.migrations(MIGRATIONS))


def schema_of(path: Path, call_timeout: float = CALL_TIMEOUT) -> migrations.State:
    """That of a file nobody here has open; of none, where there is none yet."""
    if not path.exists():
        return migrations.State(migrations.EMPTY, migrations.migrations(MIGRATIONS))
    with closing(connect(path, writes=False, call_timeout=call_timeout)) as connection:
        return schema(connection)


def bring_up(path: Path, call_timeout: float = CALL_TIMEOUT) -> None:
    """Make the file a yard of this release."""
    with closing(connect(path, writes=True, call_timeout=call_timeout)) as connection:
        prepare(connection, call_timeout=call_timeout)


def _migrate(connection: apsw.Connection) -> None:
    connection.execute(SQL["schema_table"])
    # Read again under the lock: another process may have been faster.
    for step in schema(connection).outstanding():
        connection.execute(step.sql)
        connection.execute(SQL["set_schema"], step.schema)
    connection.execute(SQL["found_yard"], (secrets.token_bytes(32),))


def _stored(connection: apsw.Connection) -> migrations.Schema:
    if not connection.execute(SQL["has_schema"]).get:
        return migrations.EMPTY
    row = connection.execute(SQL["schema"]).get
    return migrations.EMPTY if row is None else migrations.Schema(*row)


def _patiently(change: Callable[[], object], call_timeout: float) -> None:
    """Changing the journal mode is refused at once, past the busy handler, while another process does the same."""
    until = time.monotonic() + call_timeout
    while True:
        try:
            change()
            return
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(random.uniform(0.000_1, 0.001))


def refusal_of(error: BaseException, path: Path, connection: apsw.Connection | None = None) -> Unavailable | None:
    """What an error of the engine means to a caller; None where it is a mistake of this program."""
    detail = f"{path}: {error}"
    # SQLite calls a disk full only where it has no space left: a quota or a limit on the file is no less an end.
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
