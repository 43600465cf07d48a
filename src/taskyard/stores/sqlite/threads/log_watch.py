"""Hearing that somebody writes to the yard's log, so that nobody has to look for it all the time.

The kernel tells it, on Linux, by inotify: whoever writes needs to know nothing of those who listen, and whoever is
killed leaves nothing behind. What is heard is only a hint. It comes as the log is written to, a moment before the
commit can be seen, and for the writes of this process too. So it says when to look closely, and no more; where it
cannot be had, or stays silent, somebody looks all the same.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from time import monotonic

_MODIFIED = 0x2  # IN_MODIFY
_NOTES = 4096  # bytes to read at once; each note has 16, and those not yet read that are alike are one
_CLOSEST = 0.000_1  # seconds from look to look while a commit is on its way
_SELDOMEST = 0.025  # and while nothing is heard
_BUSY = 0.010  # seconds after a commit in which looks are as regular as where nothing is heard


class Ear:
    """Listens to one file while it is asked to."""

    def __init__(self, notes: FileIO, loop: asyncio.AbstractEventLoop, heard: Callable[[], None]) -> None:
        self._notes = notes
        self._loop = loop
        self._heard = heard  # called on the loop

    def listen(self) -> None:
        """From now on, and hear at once if the file was written to while this ear had its rest."""
        self._loop.add_reader(self._notes, self._read)

    def rest(self) -> None:
        self._loop.remove_reader(self._notes)

    def close(self) -> None:
        self.rest()
        self._notes.close()

    def _read(self) -> None:
        self._notes.read(_NOTES)
        self._heard()


def ear_at(path: str, loop: asyncio.AbstractEventLoop, heard: Callable[[], None]) -> Ear | None:
    """None where the system has no ears, or none left: Linux gives each user 128, unless it was told otherwise."""
    notes = _notes_of(path) if sys.platform == "linux" else None
    return None if notes is None else Ear(notes, loop, heard)


def _notes_of(path: str) -> FileIO | None:
    with suppress(OSError, AttributeError):  # a C library that cannot be got at, or that has no inotify
        system = ctypes.CDLL(None)
        if (number := system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)) >= 0:
            notes = FileIO(number)
            if system.inotify_add_watch(number, os.fsencode(path), _MODIFIED) >= 0:
                return notes
            notes.close()
    return None


class Lookout:
    """How long to wait until the next look at what other processes have committed."""

    def __init__(self) -> None:
        self.hears = False  # whether an ear tells when somebody writes
        self._stirred = self._committed = 0.0  # when that was last, by the monotonic clock

    def stirred(self) -> bool:
        """Somebody writes. Whether the pause that is under way may be too long for that."""
        self._stirred = monotonic()
        return not self._is_busy(self._stirred)

    def committed(self) -> None:
        """This process has committed something, or has seen that another did."""
        self._committed = monotonic()

    def pause(self) -> float:
        now = monotonic()
        if not self.hears or self._is_busy(now):
            return random.uniform(0.002, 0.003)
        # A commit follows in a moment, or the disk is slow, or it was rolled back: in step with how long it takes.
        return min(max((now - self._stirred) / 4, _CLOSEST), _SELDOMEST)

    def _is_busy(self, now: float) -> bool:
        # Close looks would be wasted on the echo of one's own writes, and on those of a crowd.
        return now - self._committed < _BUSY
