"""Fast path: inotify on the write-ahead log shows when another process writes, so that polling can be rare.

It applies on Linux while a coroutine waits for writes. The slow path polls every 2 to 3 ms. Measured gain: an idle
worker picks up a task in about half the time (6.1 and 3.0 ms) and uses a third of the processor (decision 24).

An inotify event is only a hint. It comes when the log is written to, a moment before the commit is visible, and also
for writes of this process. It therefore only shortens the pauses between polls. Polling goes on without events, if
rarely. Writers need to know nothing of it, and a killed process leaves nothing behind.
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
_READ_BYTES = 4096  # bytes to read at once; an event has 16, and the kernel merges equal events that are unread
_SHORTEST_PAUSE = 0.000_1  # seconds between polls while a commit is about to become visible
_LONGEST_PAUSE = 0.025  # and while no event comes
_BUSY = 0.010  # seconds after a commit in which the pauses are as long as without inotify


class LogWatch:
    """Watches one file for writes, between `listen` and `pause_watch`."""

    def __init__(self, events: FileIO, loop: asyncio.AbstractEventLoop, on_write: Callable[[], None]) -> None:
        self._events = events
        self._loop = loop
        self._on_write = on_write  # called on the loop

    def listen(self) -> None:
        """Begin to watch. A write during the pause before is reported at once."""
        self._loop.add_reader(self._events, self._read)

    def pause_watch(self) -> None:
        self._loop.remove_reader(self._events)

    def close(self) -> None:
        self.pause_watch()
        self._events.close()

    def _read(self) -> None:
        self._events.read(_READ_BYTES)
        self._on_write()


def watch_log(path: str, loop: asyncio.AbstractEventLoop, on_write: Callable[[], None]) -> LogWatch | None:
    """Watch a file. None where the system has no inotify, or no instance left: the usual limit is 128 for each user."""
    events = _open_inotify(path) if sys.platform == "linux" else None
    return None if events is None else LogWatch(events, loop, on_write)


def _open_inotify(path: str) -> FileIO | None:
    with suppress(OSError, AttributeError):  # the C library cannot be loaded, or has no inotify
        system = ctypes.CDLL(None)
        if (number := system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)) >= 0:
            events = FileIO(number)
            if system.inotify_add_watch(number, os.fsencode(path), _MODIFIED) >= 0:
                return events
            events.close()
    return None


class PollSchedule:
    """How long to wait before the next poll for commits of other processes."""

    def __init__(self) -> None:
        self.is_watched = False  # whether inotify reports writes to the log
        self._last_log_write = self._last_commit = 0.0  # times of the monotonic clock

    def note_log_write(self) -> bool:
        """A process writes to the log. True: the current pause may be too long now."""
        self._last_log_write = monotonic()
        return not self._is_busy(self._last_log_write)

    def note_commit(self) -> None:
        """This process committed, or saw a commit of another process."""
        self._last_commit = monotonic()

    def pause(self) -> float:
        now = monotonic()
        if not self.is_watched or self._is_busy(now):
            return random.uniform(0.002, 0.003)
        # The commit follows soon, or the disk is slow, or it was rolled back: pauses grow with the time that passes.
        return min(max((now - self._last_log_write) / 4, _SHORTEST_PAUSE), _LONGEST_PAUSE)

    def _is_busy(self, now: float) -> bool:
        # After a commit, events mostly come from this process's own writes, or from very many writers.
        return now - self._last_commit < _BUSY
