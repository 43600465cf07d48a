"""The yard's file on the disk: whether it is still the same file, on a disk of this machine, and private."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from taskyard.core.errors import InvalidInput, StoreReplaced

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


def make_private(path: Path) -> None:
    """A new file is its owner's alone: prompts, outputs and the yard's secret are in it.

    SQLite gives its WAL and its shared memory the mode of the file. One that is there keeps the mode its owner gave it.
    """
    with suppress(OSError):  # where it cannot be made, SQLite says why
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
