"""Hearing that somebody writes to the yard's log, so that nobody has to look for it all the time.

The kernel tells it, on Linux (inotify): nothing is left behind by whoever is killed, and whoever writes needs to know
nothing of those who listen. What is heard is no more than a hint. It comes when the log is written to, which is before
the commit can be seen, and it comes for the writes of this process too. So it says when to look closely, and where it
cannot be had, or says nothing, somebody looks all the same.
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
_NOTES = 64 * 1024  # bytes; notes that are alike and unread are one
_CLOSEST = 0.000_1  # seconds between two looks, while a commit is on its way
_SELDOMEST = 0.025  # and while nothing is heard
_BUSY = 0.010  # seconds after a write in which looks are regular: what comes in a crowd is noticed in a crowd


class Ear:
    """Listens to one file, for one event loop, while it is asked to."""

    def __init__(self, notes: FileIO, loop: asyncio.AbstractEventLoop, heard: Callable[[], None]) -> None:
        self._notes = notes
        self._loop = loop
        self._heard = heard  # called on the loop

    def listen(self) -> None:
        """From now on; of what was written while nobody listened, too."""
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
    """None where there is no such thing, or no more of them: a user has 128 in all, unless told otherwise."""
    notes = _notes_of(path) if sys.platform == "linux" else None
    return None if notes is None else Ear(notes, loop, heard)


def _notes_of(path: str) -> FileIO | None:
    system = ctypes.CDLL(None)
    with suppress(AttributeError, OSError):
        if (number := system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)) >= 0:
            notes = FileIO(number)
            if system.inotify_add_watch(number, os.fsencode(path), _MODIFIED) >= 0:
                return notes
            notes.close()
    return None


class Lookout:
    """How long to wait before the next look at whether other processes have committed anything."""

    def __init__(self) -> None:
        self.hears = False  # whether an ear says when somebody writes
        self._stirred = self._wrote = 0.0  # by the monotonic clock

    def stirred(self) -> bool:
        """Somebody writes; whether that is a reason to look at once."""
        self._stirred = monotonic()
        return not self._is_busy(self._stirred)

    def wrote(self) -> None:
        """A commit was seen, or made."""
        self._wrote = monotonic()

    def pause(self) -> float:
        now = monotonic()
        if not self.hears or self._is_busy(now):
            return random.uniform(0.002, 0.003)
        # What is on its way is there in a moment, or the disk is slow: the longer it takes, the less does a pause add.
        return min(max((now - self._stirred) / 4, _CLOSEST), _SELDOMEST)

    def _is_busy(self, now: float) -> bool:
        return now - self._wrote < _BUSY
