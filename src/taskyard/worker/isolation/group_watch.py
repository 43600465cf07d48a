"""The process groups of programs that are at work, and the watchdog that ends them when this process has gone.

The watchdog is one small process for each worker, begun with the first program: see `watchdog.py`. Only this process
has the pipe to it open for writing, so the end of that pipe is the end of this process, also by -9.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock

logger = logging.getLogger("taskyard.worker")
PATIENCE = 5.0  # seconds between asking a process group to end and ending it
LEAVING = 5.0  # seconds in which a watchdog that has nothing to do must have ended
_WATCHDOG = Path(__file__).with_name("watchdog.py")


class GroupWatch:
    """The groups of this process's programs. Loops and threads share it."""

    def __init__(self) -> None:
        self._groups: dict[int, str] = {}  # the control group of each, where it has one
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def begin(self, group: int, folder: Path | None) -> None:
        """A program has begun, which leads this group."""
        with self._lock:
            line = self._groups[group] = f"begun {group} {folder or ''}".rstrip() + "\n"
            if self._watchdog is None or not self._tell(line):
                self._begin_watchdog()

    def forget(self, group: int) -> None:
        """It has ended: its number may soon be another's."""
        with self._lock:
            if self._groups.pop(group, None) is not None and self._watchdog is not None:
                self._tell(f"ended {group}\n")

    def kill_all(self) -> None:
        """For a process that is ended by force: nothing that it started goes on without it."""
        for group in list(self._groups):
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    async def part(self) -> None:
        """End the watchdog, if no program is at work."""
        if self._watchdog is not None and not self._groups:
            await asyncio.to_thread(self._part)

    def leave(self) -> None:
        """Close the pipe, and wait for nothing: this process ends. In one that was forked, both are its parent's."""
        self._lock = Lock()  # another thread may have it, and may be gone
        self._groups.clear()
        if self._watchdog is not None:
            assert self._watchdog.stdin is not None
            self._watchdog.stdin.close()
            self._watchdog.returncode = 0  # nobody waits for it
            self._watchdog = None

    def _part(self) -> None:
        with self._lock:
            if not self._groups and self._watchdog is not None:
                self._let_go(self._watchdog)

    def _begin_watchdog(self) -> None:
        words = [sys.executable, "-I", "-S", os.fspath(_WATCHDOG), f"{PATIENCE:g}"]
        try:
            self._watchdog = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={},  # what this process knows is no concern of it, and shows in the list of processes
                start_new_session=True,  # what is typed at a terminal does not reach it
            )
        except OSError as error:
            logger.warning("no watchdog can be started; programs would outlive a worker that is killed: %s", error)
            return
        assert self._watchdog.stdin is not None
        os.set_blocking(self._watchdog.stdin.fileno(), False)  # one that is stopped holds nothing up
        for line in self._groups.values():
            if not self._tell(line):
                return

    def _tell(self, line: str) -> bool:
        """Write a line; False where the watchdog has ended, or does not read."""
        assert self._watchdog is not None
        assert self._watchdog.stdin is not None
        try:
            os.write(self._watchdog.stdin.fileno(), line.encode())  # whole or not at all: it is short
            return True
        except BlockingIOError:
            why = "does not read"
        except OSError:
            why = "has ended"
        logger.warning("the watchdog %s %s; the next program begins another", self._watchdog.pid, why)
        self._watchdog.kill()
        self._let_go(self._watchdog)
        return False

    def _let_go(self, watchdog: subprocess.Popen[bytes]) -> None:
        assert watchdog.stdin is not None
        watchdog.stdin.close()
        try:
            watchdog.wait(LEAVING)
        except subprocess.TimeoutExpired:
            watchdog.kill()
            watchdog.wait()
        self._watchdog = None
