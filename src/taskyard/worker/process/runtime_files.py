"""What a worker keeps on its machine: the name of its runtime, and a lock for each process that runs.

    runtime.json        the runtime's id, and what it is bound to: this machine and this folder
    INCARNATION.lock    one for each process, locked while it lives; holds the id of its runtime

The system lets go of a lock when its process ends, however it ends. So a lock file that nobody holds is of a process
that has died. A folder that was copied to another machine, or to another place, makes a runtime of its own.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, NamedTuple

from taskyard.core.json_value import Json, compact
from taskyard.core.runtime import process_of

logger = logging.getLogger("taskyard.worker")
FOLDER = Path(".taskyard")  # below where the worker is started
LONGEST_HOST = 200  # characters of a host's name in the name of a runtime
_LOCK = ".lock"
_MACHINE_IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")


class Process(NamedTuple):
    """One process of a runtime."""

    runtime: str
    incarnation: str
    path: Path | None = None  # of its lock file; None: no other process will find out that it died
    lock: BinaryIO | None = None  # open, and locked, while the process lives

    def leave(self) -> None:
        """It has given up everything: no other process need do that after it."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
        if self.lock is not None:
            self.lock.close()


def passing() -> Process:
    """A process that leaves nothing behind: no other will be of its runtime."""
    incarnation = token_hex(8)
    return Process(f"{_host()}-{incarnation}", incarnation)


def enter(runtime: str | None, folder: Path = FOLDER) -> Process:
    """This process of the runtime of this folder, or of the one that is named."""
    if runtime is not None:
        process_of(runtime, None)
    try:
        prepare(folder)
        return _locked(runtime or _stored(folder), folder)
    except (OSError, ModuleNotFoundError) as error:
        logger.warning("cannot write to %s, so after a crash sessions are not resumed from here: %s", folder, error)
        return passing() if runtime is None else Process(runtime, token_hex(8))


@contextmanager
def dead_processes(folder: Path = FOLDER) -> Generator[list[Process]]:
    """The processes whose lock nobody holds. Within the block this process holds them."""
    found: list[Process] = []
    for path in sorted(folder.glob(f"*{_LOCK}")):
        with suppress(OSError):
            opened = path.open("r+b")
            if lock_file(opened):
                found.append(Process(opened.read().decode(), path.stem, path, opened))
            else:
                opened.close()
    try:
        yield found
    finally:
        for process in found:
            assert process.lock is not None
            process.lock.close()


def prepare(folder: Path) -> None:
    """Make the folder, for its owner alone and seen by no git."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError), (folder / ".gitignore").open("x") as ignored:
        ignored.write("*\n")


def _stored(folder: Path) -> str:
    """The runtime of this folder on this machine; where there is none yet, a new one."""
    with open_private(folder / "runtime.json") as file:
        lock_file(file, wait=True)
        bound_to = _place(folder)
        known = _read(file.read())
        if known.get("bound_to") == bound_to and known.get("id"):
            return known["id"]
        made = f"{_host()}-{token_hex(4)}"
        file.seek(0)
        file.truncate()
        file.write(compact({"id": made, "bound_to": bound_to}).encode())
        return made


def _read(text: bytes) -> dict[str, str]:
    """What a crash cut short says nothing."""
    try:
        found: Json = json.loads(text)
    except ValueError:
        return {}
    return {name: str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _locked(runtime: str, folder: Path) -> Process:
    # It gets its name when it is locked: whoever finds a lock file that is free finds one of the dead.
    incarnation = token_hex(8)
    making, path = folder / f"{incarnation}.new", folder / f"{incarnation}{_LOCK}"
    file = open_private(making)
    lock_file(file)
    file.write(runtime.encode())
    file.flush()
    making.rename(path)
    return Process(runtime, incarnation, path, file)


def open_private(path: Path) -> BinaryIO:
    """For its owner alone, and not passed on to programs that this process starts."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "r+b")


def lock_file(file: BinaryIO, *, wait: bool = False) -> bool:
    """Lock it until it is closed; False where another process has it."""
    from fcntl import LOCK_EX, LOCK_NB, flock  # noqa: PLC0415 - not every system has it, and the rest works there

    try:
        flock(file, LOCK_EX if wait else LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _place(folder: Path) -> str:
    """This machine and this folder, in a form that tells nobody of either."""
    return sha256(f"{_machine()}\0{folder.resolve()}".encode()).hexdigest()[:32]


def _machine() -> str:
    for path in _MACHINE_IDS:
        with suppress(OSError):
            if found := Path(path).read_text().strip():
                return found
    node = uuid.getnode()
    is_made_up = bool(node >> 40 & 1)  # where there is no network card, it is another one each time
    return _host() if is_made_up else f"{node:012x}"


def _host() -> str:
    return socket.gethostname()[:LONGEST_HOST] or "host"
