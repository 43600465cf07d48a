"""Ends the programs of a worker that has gone: `watchdog.py SECONDS`, with lines from the worker on standard input.

A line is `begun GROUP [FOLDER]` when a program begins, with its control group where it has one, or `ended GROUP`. At
the end of its input the worker is no more, however it ended: the process groups that are left are asked to end, and
after these seconds are ended. The control groups see to what has left its process group.

Run as a file, without the rest of the package.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

LOOK = 0.05  # seconds between looks whether they have ended
PARTING = 5.0  # seconds in which a control group that was killed must be empty
HEADING = signal.SIGINT, signal.SIGTERM, signal.SIGHUP  # meant for the worker, which may go on for a while


class WatchedGroup:
    """The process group of a program."""

    def __init__(self, group: int, folder: str) -> None:
        self._group = group
        self._folder = Path(folder) if folder else None
        self._began = began(group)

    def send(self, number: int) -> None:
        """Send it a signal, unless its number is another's by now."""
        if self.is_left():
            with suppress(OSError):
                os.killpg(self._group, number)

    def is_left(self) -> bool:
        """Whether a process of it is left. Its number stays its own until then, also when its leader has ended."""
        try:
            os.killpg(self._group, 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass
        leader = began(self._group)
        return not leader or leader == self._began

    def end(self) -> None:
        """End it now, with all of its control group."""
        self.send(signal.SIGKILL)
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / "cgroup.kill").write_text("1")

    def remove(self) -> None:
        """Delete its control group, which is empty in a moment."""
        until = time.monotonic() + PARTING
        while self._folder is not None and self._folder.exists() and time.monotonic() < until:
            with suppress(OSError):
                self._folder.rmdir()
                return
            time.sleep(LOOK)


def main() -> None:
    for number in HEADING:
        signal.signal(number, signal.SIG_IGN)
    watched: dict[str, WatchedGroup] = {}
    for line in sys.stdin:
        what, _, rest = line.rstrip("\n").partition(" ")
        group, _, folder = rest.partition(" ")
        if what == "begun":
            watched[group] = WatchedGroup(int(group), folder)
        else:
            watched.pop(group, None)
    left = list(watched.values())
    for each in left:
        each.send(signal.SIGTERM)
    until = time.monotonic() + float(sys.argv[1])
    while any(each.is_left() for each in left) and time.monotonic() < until:
        time.sleep(LOOK)
    for each in left:
        each.end()
    for each in left:
        each.remove()


def began(process: int) -> str:
    """When the process began, in the machine's own count; empty where there is none, or the system does not say."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


if __name__ == "__main__":
    main()
