"""The yard's file: whether it is still the same file, on a local disk, and readable by its owner only."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from taskyard.core.errors import InvalidInput, StoreReplaced

_MOUNTS = Path("/proc/self/mounts")

# File systems whose locks and shared memory do not work across machines: the file would be corrupted.
_NETWORKED = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smbfs", "smb3", "ncpfs", "afs", "coda", "ceph", "glusterfs", "lustre", "gpfs"),
        *("beegfs", "pvfs2", "orangefs", "davfs", "fuse.sshfs", "fuse.s3fs", "fuse.glusterfs", "fuse.rclone"),
        *("fuse.gcsfuse", "fuse.davfs2", "fuse.cephfs", "fuse.juicefs", "fuse.blobfuse", "fuse.blobfuse2"),
    }
)


class FileIdentity:
    """Checks that a path still names the same file.

    Processes that have a deleted or replaced file open can still write to it, and all of that is lost when the last one
    closes it. The check takes two microseconds.
    """

    def __init__(self, path: Path) -> None:
        self._path = str(path)  # or each look would make one of it
        self._identity = self._read_identity()

    def check(self) -> None:
        if self._read_identity() != self._identity:
            raise StoreReplaced(self._path)

    def _read_identity(self) -> tuple[int, int] | None:
        try:
            stat = os.stat(self._path)  # noqa: PTH116 - takes half the time of Path.stat
        except OSError:
            return None
        return stat.st_dev, stat.st_ino


def refuse_network(path: Path, mounts: str | None = None) -> None:
    """Refuse a file on a network file system."""
    if mounts is None:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace") if _MOUNTS.exists() else ""
    kind = _file_system_of(path.resolve(), mounts)
    if kind in _NETWORKED:
        raise InvalidInput("path", f"must be on a disk of this machine, and {path} is on {kind}")


def _file_system_of(path: Path, mounts: str) -> str | None:
    """The type of the mount with the longest path that contains the file. Of equal paths the last mount is visible."""
    stat: tuple[int, str] | None = None
    above = {str(each) for each in (path, *path.parents)}
    for line in mounts.splitlines():
        _, where, kind, *_ = line.split(" ")
        # /proc writes blanks in a path as \040.
        where = where.encode().decode("unicode_escape") if "\\" in where else where
        if where in above and (stat is None or len(where) >= stat[0]):
            stat = len(where), kind
    return None if stat is None else stat[1]


def make_private(path: Path) -> None:
    """Create the file with mode 0600: it contains prompts, outputs and the yard's secret.

    SQLite gives its WAL and shared memory the mode of the file. An existing file keeps its mode.
    """
    with suppress(OSError):  # if it cannot be created, SQLite reports the reason
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
