"""Control groups of Linux, version 2: limits that all processes of a program share.

A worker has them where its own group is delegated to it: it may make groups below that one, and pass controllers on to
them. Whether a limit then holds is not known here: `limits.py` tries it.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from time import monotonic, sleep

logger = logging.getLogger("taskyard.worker")
ROOT = Path("/")
WORKER = "taskyard-worker"  # the group that a worker moves to: one with processes of its own passes nothing on
PROGRAM = "taskyard-program-"
PARTING = 5.0  # seconds in which a group that was killed must be empty
LOOK = 0.02


class NotDelegated(Exception):
    """This process cannot give programs groups of their own; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class ProgramGroup:
    """The group of one program and everything it starts."""

    place: Path

    def counted(self, file: str, name: str) -> int:
        """A number from one of the group's tables: how often the kernel did something to it."""
        with suppress(OSError, ValueError):
            for line in (self.place / file).read_text().splitlines():
                word, _, number = line.partition(" ")
                if word == name:
                    return int(number)
        return 0

    def remove(self) -> None:
        """End what is left in it, also what has left the program's session, and delete it."""
        with suppress(OSError):
            (self.place / "cgroup.kill").write_text("1")
        until = monotonic() + PARTING
        while self.place.exists():
            try:
                self.place.rmdir()
            except OSError as error:
                if monotonic() > until:
                    logger.warning("the control group %s cannot be removed: %s", self.place, error.strerror)
                    return
                sleep(LOOK)


@dataclass(frozen=True, slots=True)
class DelegatedGroup:
    """A group below which this process makes those of programs."""

    place: Path

    def make(self, settings: Mapping[str, str]) -> ProgramGroup:
        """A group with these settings, for one program."""
        group = ProgramGroup(self.place / f"{PROGRAM}{os.getpid()}-{token_hex(4)}")
        group.place.mkdir()
        try:
            for name, value in settings.items():
                (group.place / name).write_text(value)
        except OSError:
            group.remove()
            raise
        return group

    def tidy(self) -> None:
        """Delete the groups that workers which were killed have left, as far as they are empty."""
        for left in self.place.glob(f"{PROGRAM}*"):
            with suppress(OSError):
                left.rmdir()


def delegated(controllers: Collection[str], root: Path = ROOT) -> DelegatedGroup:
    """The group of this process, made ready to pass these controllers on. Refused where that is not possible."""
    own = _own_group(root)
    base = DelegatedGroup(own.parent if own.name == WORKER else own)
    offered = _words(base.place / "cgroup.controllers")
    if missing := sorted(set(controllers) - offered):
        raise NotDelegated(f"the control group of this process has no controller {', '.join(missing)}")
    if not set(controllers) <= _words(base.place / "cgroup.subtree_control"):
        _pass_on(base.place, controllers)
    base.tidy()
    return base


def _own_group(root: Path) -> Path:
    mounted = (_mount(line) for line in _text(root / "proc/self/mountinfo").splitlines())
    place = next((each for each in mounted if each is not None), None)
    if place is None:
        raise NotDelegated("this machine has no control groups of version 2")
    within, mount = place
    named = (line.removeprefix("0::") for line in _text(root / "proc/self/cgroup").splitlines() if line[:3] == "0::")
    path = next(named, "")
    if not path or ".." in Path(path).parts or not Path(path).is_relative_to(within):
        raise NotDelegated("the control group of this process cannot be seen from here")
    return root / mount.relative_to("/") / Path(path).relative_to(within)


def _mount(line: str) -> tuple[Path, Path] | None:
    """What of the hierarchy is mounted, and where, if the line is about control groups of version 2."""
    mounted, _, kind = line.partition(" - ")
    if kind.split(" ")[0] != "cgroup2":
        return None
    _, _, _, within, place, *_ = mounted.split(" ")
    return Path(within), Path(place)


def _pass_on(place: Path, controllers: Collection[str]) -> None:
    try:
        (place / WORKER).mkdir(exist_ok=True)
        (place / WORKER / "cgroup.procs").write_text(str(os.getpid()))
        (place / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in sorted(controllers)))
    except OSError as error:
        with suppress(OSError):
            (place / "cgroup.procs").write_text(str(os.getpid()))
        why = "other processes are in it" if error.errno == errno.EBUSY else error.strerror
        raise NotDelegated(f"the control group {place} is not delegated to this worker: {why}") from None


def _words(path: Path) -> set[str]:
    return set(_text(path).split())


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
