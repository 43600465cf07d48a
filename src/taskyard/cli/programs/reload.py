"""`taskyard work --reload`: the same command in a child process, started again when a Python file changes.

For development. The files are looked at by their times, twice a second; hidden folders and installed packages are not.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

logger = logging.getLogger("taskyard.worker")
EVERY = 0.5  # seconds between looks
PASSED_OVER = frozenset({"node_modules", "site-packages", "__pycache__"})
STOPPING = (signal.SIGTERM, signal.SIGINT)

Times = dict[str, int]


def run_again_on_changes(folder: Path) -> int:
    """Run this command without `--reload` until it ends or is stopped; its exit status."""
    words = [sys.executable, "-m", "taskyard", *(word for word in sys.argv[1:] if word != "--reload")]
    stopping: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        stopping.append(number)
        child.send_signal(number)  # the first asks it to finish, the second ends it at once

    # In a group of its own, so that Ctrl-C reaches it once, through this process.
    child, seen = subprocess.Popen(words, start_new_session=True), times(folder)
    before = {number: signal.signal(number, note) for number in STOPPING}
    try:
        while True:
            status = _ended(child)
            if stopping and status is not None:
                return status
            now = times(folder)
            if now != seen and not stopping:
                seen = now
                sys.stderr.write("a file has changed: starts again\n")
                child.terminate()
                child.wait()
                child = subprocess.Popen(words, start_new_session=True)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ended(child: subprocess.Popen[bytes]) -> int | None:
    """Its status, where it has ended within the time between two looks. One that fails waits for the next change."""
    try:
        status = child.wait(EVERY)
    except subprocess.TimeoutExpired:
        return None
    time.sleep(EVERY)
    return status


def times(folder: Path) -> Times:
    """When each Python file below the folder was last written to."""
    return dict(_times(os.fspath(folder)))


def _times(folder: str) -> Iterator[tuple[str, int]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in PASSED_OVER:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _times(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path, entry.stat().st_mtime_ns
