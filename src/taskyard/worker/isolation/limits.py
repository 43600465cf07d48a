"""What a command agent's program may use: memory, processor time, time, processes, the network.

The system enforces all but the time: by resource limits, and by bubblewrap's namespaces for processes and the network.
Nothing is taken on trust: `check` runs a program that tries to break each limit, and a limit that does not hold on this
machine is refused. These limits hold a program that errs; they are no wall against one that attacks its own user.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from taskyard.core.errors import InvalidInput
from taskyard.worker.control import Fail

REASON = "limit_exceeded"
LEAST_MEMORY = 32 << 20  # bytes: below that, few programs begin at all
LEAST_PROCESSES = 2
PROBED_MEMORY = 64 << 20  # bytes that the probe is limited to, whatever the limit will be
PROBED_PROCESSES = 8
PROBING = 60.0  # seconds
SCRIPTS = Path(__file__).parent  # what is run as a file, and not imported
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d{1,12})\s*(?:([KMGT])(?:iB)?)?", re.ASCII)
_NO_MEMORY = re.compile(r"MemoryError|out of memory|cannot allocate memory|bad_alloc|ENOMEM", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    """The limits of one program; None: no limit."""

    memory: int | None = None  # bytes that each of its processes may have of its own
    cpu_sec: int | None = None  # of processor time, for each of its processes
    time_sec: float | None = None  # from its start to its end
    processes: int | None = None  # at the same time, threads included
    network: bool = True  # False: not even this machine can be reached

    def words(self, words: Sequence[str]) -> list[str]:
        """The command that runs these words under the limits."""
        numbers = {"DATA": self.memory, "CPU": self.cpu_sec, "NPROC": self.processes}
        if given := [f"{name}={number}" for name, number in numbers.items() if number is not None]:
            words = [sys.executable, "-I", "-S", os.fspath(SCRIPTS / "launcher.py"), *given, "--", *words]
        if needs := [*_IN_USER * (self.processes is not None), *_NO_NETWORK * (not self.network)]:
            words = [shutil.which("bwrap") or "bwrap", *_EVERYTHING, *needs, "--", *words]
        return list(words)

    def check(self) -> None:
        """Refuse what cannot be enforced on this machine, and say what is missing."""
        self._check_numbers()
        if (self.processes is not None or not self.network) and shutil.which("bwrap") is None:
            field = "--no-network" if not self.network else "--limit-processes"
            raise InvalidInput(field, "needs bubblewrap (bwrap), which is not installed on this machine")
        if self.processes is not None and os.geteuid() == 0:
            raise InvalidInput(
                "--limit-processes",
                "cannot be enforced for root, whom the system lets start any number: use another user",
            )
        if (self.memory, self.cpu_sec, self.processes, self.network) != (None, None, None, True):
            self._probe()

    def exceeded(self, status: int, errors: str) -> Fail | None:
        """The failure, where the way in which the program ended shows that it met a limit."""
        if self.cpu_sec is not None and status in (-signal.SIGXCPU, 128 + signal.SIGXCPU):
            return Fail(REASON, f"used more than {self.cpu_sec} s of processor time (--limit-cpu)")
        if self.memory is not None and _NO_MEMORY.search(errors):
            allowed = f"a process may have {_shown(self.memory)} (--limit-memory)"
            return Fail(REASON, f"out of memory, {allowed}: {errors.strip()}")
        return None

    def __str__(self) -> str:
        words = (
            self.memory is not None and f"memory {_shown(self.memory)}",
            self.cpu_sec is not None and f"processor time {self.cpu_sec} s",
            self.processes is not None and f"{self.processes} processes",
            not self.network and "no network",
        )
        return ", ".join(each for each in words if each)

    def _check_numbers(self) -> None:
        if self.memory is not None and self.memory < LEAST_MEMORY:
            raise InvalidInput("--limit-memory", f"must be at least {_shown(LEAST_MEMORY)}")
        if self.cpu_sec is not None and self.cpu_sec < 1:
            raise InvalidInput("--limit-cpu", "must be at least 1 second")
        if self.time_sec is not None and not 0 < self.time_sec < float("inf"):
            raise InvalidInput("--limit-time", "must be seconds above 0")
        if self.processes is not None and self.processes < LEAST_PROCESSES:
            raise InvalidInput("--limit-processes", f"must be at least {LEAST_PROCESSES}")

    def _probe(self) -> None:
        small = replace(
            self,
            memory=None if self.memory is None else PROBED_MEMORY,
            processes=None if self.processes is None else PROBED_PROCESSES,
        )
        with socket.create_server(("127.0.0.1", 0)) as listening:
            asked = (
                0 if self.memory is None else 2 * PROBED_MEMORY,
                0 if self.processes is None else 2 * PROBED_PROCESSES,
                0 if self.network else listening.getsockname()[1],
            )
            found = _probed(small, asked)
        if found["memory"]:
            raise InvalidInput(
                "--limit-memory", "cannot be enforced: this system does not hold a program to RLIMIT_DATA"
            )
        if self.cpu_sec is not None and found["cpu"] != self.cpu_sec:
            raise InvalidInput("--limit-cpu", "cannot be enforced: this system does not keep RLIMIT_CPU")
        if self.processes is not None and not 0 < found["processes"] < PROBED_PROCESSES:
            raise InvalidInput(
                "--limit-processes", "cannot be enforced: it needs Linux 5.14, which counts a user namespace by itself"
            )
        if found["network"]:
            raise InvalidInput("--no-network", "cannot be enforced: a program in bubblewrap reached this machine")


# The whole file system as it is: only what is asked for is taken away. It ends with its worker.
_EVERYTHING = ("--dev-bind", "/", "/", "--die-with-parent")
_IN_USER = ("--unshare-user",)
_NO_NETWORK = ("--unshare-net",)


def size_of(text: str) -> int:
    """Bytes: a number, or one with KiB, MiB, GiB or TiB."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InvalidInput("--limit-memory", f"{text} must be a size, such as 512MiB or 2GiB")
    return int(found[1]) * _UNITS[found[2] or ""]


def _probed(limits: ProgramLimits, asked: Sequence[int]) -> dict[str, Any]:
    probe = [sys.executable, "-I", "-S", os.fspath(SCRIPTS / "probe.py"), *(str(number) for number in asked)]
    try:
        done = subprocess.run(
            limits.words(probe), stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBING, check=False, text=True
        )
    except subprocess.TimeoutExpired:
        raise _refused(limits, f"a program did not end within {PROBING:g} s") from None
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise _refused(limits, done.stderr.strip() or f"exit status {done.returncode}") from None


def _refused(limits: ProgramLimits, why: str) -> InvalidInput:
    field = "--no-network" if not limits.network else "--limit-processes" if limits.processes else "--limit-memory"
    return InvalidInput(field, f"cannot be enforced on this machine: {why} ({limits})")


def _shown(size: int) -> str:
    for unit in "TGM":
        if size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]} {unit}iB"
    return f"{size} bytes"
