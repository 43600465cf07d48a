"""What a command agent's program may use: memory, processor time, cores, time, processes, the network.

The system enforces all but the time: by resource limits, by control groups where the worker's own group is delegated to
it, and by bubblewrap's namespaces. Nothing is taken on trust: `check` runs a program that tries to break each limit,
and a limit that does not hold on this machine is refused. These limits hold a program that errs; they are no wall
against one that attacks its own user.
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
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from taskyard.core.errors import InvalidInput
from taskyard.worker.control import Fail
from taskyard.worker.isolation.control_groups import DelegatedGroup, NotDelegated, ProgramGroup, delegated

REASON = "limit_exceeded"
LEAST_MEMORY = 32 << 20  # bytes: below that, few programs begin at all
LEAST_PROCESSES = 2
PROBED_MEMORY = 64 << 20  # bytes that the probe is limited to, whatever the limit will be
PROBED_PROCESSES = 8
PROBED_CORES = 0.05
PERIOD = 100_000  # microseconds over which cores are counted
LEAST_CORES = 0.01
GROUP = "GROUP"  # the launcher's word for a control group
PROBING = 60.0  # seconds
SCRIPTS = Path(__file__).parent  # what is run as a file, and not imported
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d{1,12})\s*(?:([KMGT])(?:iB)?)?", re.ASCII)
_NO_MEMORY = re.compile(r"MemoryError|out of memory|cannot allocate memory|bad_alloc|ENOMEM", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    """The limits of one program; None: no limit."""

    memory: int | None = None  # bytes that each of its processes may have of its own
    total_memory: int | None = None  # bytes that all of its processes may have together
    cores: float | None = None  # that all of its processes may use together
    cpu_sec: int | None = None  # of processor time, for each of its processes
    time_sec: float | None = None  # from its start to its end
    processes: int | None = None  # at the same time, threads included
    network: bool = True  # False: not even this machine can be reached
    groups: DelegatedGroup | None = None  # where programs get control groups; found by `check`

    def new_group(self) -> ProgramGroup | None:
        """A control group for one program, where it needs one. Who asks for it removes it."""
        return None if self.groups is None else self.groups.make(self._settings)

    def words(self, words: Sequence[str], group: ProgramGroup | None = None) -> list[str]:
        """The command that runs these words under the limits, in this control group."""
        in_user = self.processes is not None and self.groups is None
        numbers = {"DATA": self.memory, "CPU": self.cpu_sec, "NPROC": self.processes if in_user else None}
        if given := [f"{name}={number}" for name, number in numbers.items() if number is not None]:
            words = _launched(given, words)
        if needs := [*_IN_USER * in_user, *_NO_NETWORK * (not self.network)]:
            words = [shutil.which("bwrap") or "bwrap", *_EVERYTHING, *needs, "--", *words]
        return list(words) if group is None else _launched([f"{GROUP}={group.place}"], words)

    def check(self) -> ProgramLimits:
        """These limits, with what holds a program to them. What cannot be enforced on this machine is refused."""
        self._check_numbers()
        found = replace(self, groups=self._find_groups())
        found.check_tools()
        if found._is_probed:
            found._probe()
        return found

    def check_tools(self) -> None:
        """Refuse what needs something that is not here."""
        in_user = self.processes is not None and self.groups is None
        if (in_user or not self.network) and shutil.which("bwrap") is None:
            field = "--no-network" if not self.network else "--limit-processes"
            raise InvalidInput(field, "needs bubblewrap (bwrap), which is not installed on this machine")
        if in_user and os.geteuid() == 0:
            raise InvalidInput(
                "--limit-processes",
                "cannot be enforced for root, whom the system lets start any number: use another user, or a control "
                "group that is delegated to the worker",
            )

    def _find_groups(self) -> DelegatedGroup | None:
        """Where programs get control groups, if a limit needs one. Processes can be counted otherwise too."""
        needed = {"memory": self.total_memory is not None, "cpu": self.cores is not None}
        wanted = {name for name, is_needed in needed.items() if is_needed}
        try:
            if wanted or self.processes is not None:
                return delegated(wanted | ({"pids"} if self.processes is not None else set()))
        except NotDelegated as missing:
            if wanted:
                field = "--limit-total-memory" if self.total_memory is not None else "--limit-cores"
                raise InvalidInput(field, f"cannot be enforced on this machine: {missing}") from None
        return None

    @property
    def _settings(self) -> dict[str, str]:
        """The files of a control group that have these limits."""
        found: dict[str, str] = {}
        if self.total_memory is not None:
            # What does not fit is not moved to the disk, and the whole program ends, not some part of it.
            found |= {"memory.max": str(self.total_memory), "memory.swap.max": "0", "memory.oom.group": "1"}
        if self.cores is not None:
            found["cpu.max"] = f"{int(self.cores * PERIOD)} {PERIOD}"
        if self.processes is not None:
            found["pids.max"] = str(self.processes)
        return found

    @property
    def _is_probed(self) -> bool:
        return replace(self, time_sec=None, groups=None) != ProgramLimits()

    def met(self, group: ProgramGroup | None) -> Fail | None:
        """The failure, where the kernel ended the program because of its control group."""
        if group is None or self.total_memory is None or not group.counted("memory.events", "oom_kill"):
            return None
        allowed = f"its processes may have {_shown(self.total_memory)} together (--limit-total-memory)"
        return Fail(REASON, f"out of memory, {allowed}")

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
            self.total_memory is not None and f"memory {_shown(self.total_memory)} in all",
            self.cores is not None and f"{self.cores:g} cores",
            self.cpu_sec is not None and f"processor time {self.cpu_sec} s",
            self.processes is not None and f"{self.processes} processes",
            not self.network and "no network",
        )
        return ", ".join(each for each in words if each)

    def _check_numbers(self) -> None:
        if self.memory is not None and self.memory < LEAST_MEMORY:
            raise InvalidInput("--limit-memory", f"must be at least {_shown(LEAST_MEMORY)}")
        if self.total_memory is not None and self.total_memory < LEAST_MEMORY:
            raise InvalidInput("--limit-total-memory", f"must be at least {_shown(LEAST_MEMORY)}")
        if self.cores is not None and not LEAST_CORES <= self.cores < float("inf"):
            raise InvalidInput("--limit-cores", f"must be at least {LEAST_CORES}")
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
            total_memory=None if self.total_memory is None else PROBED_MEMORY,
            cores=None if self.cores is None else PROBED_CORES,
            processes=None if self.processes is None else PROBED_PROCESSES,
        )
        if self.total_memory is not None:
            small._probe_total_memory()
            small = replace(small, total_memory=None)
        if self.cores is not None:
            small._probe_cores()
            small = replace(small, cores=None)
        if not small._is_probed:
            return
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
                "--limit-processes",
                "cannot be enforced: it needs a control group, or Linux 5.14, which counts a user namespace by itself",
            )
        if found["network"]:
            raise InvalidInput("--no-network", "cannot be enforced: a program in bubblewrap reached this machine")

    def _probe_total_memory(self) -> None:
        """Have a program take twice what it may: the kernel must end it."""
        with _probing(self) as group:
            status = _run_probe(replace(self, memory=None), (2 * PROBED_MEMORY, 0, 0), group).returncode
            is_held = status in (-signal.SIGKILL, 128 + signal.SIGKILL) and self.met(group) is not None
        if not is_held:
            raise InvalidInput("--limit-total-memory", "cannot be enforced: its control group does not hold a program")

    def _probe_cores(self) -> None:
        """Have a program use more than it may: the kernel must slow it down."""
        with _probing(self) as group:
            _run_probe(self, (0, 0, 0), group)
            is_held = group is not None and group.counted("cpu.stat", "nr_throttled") > 0
        if not is_held:
            raise InvalidInput("--limit-cores", "cannot be enforced: its control group does not slow a program down")


# The whole file system as it is: only what is asked for is taken away. It ends with its worker.
_EVERYTHING = ("--dev-bind", "/", "/", "--die-with-parent")
_IN_USER = ("--unshare-user",)
_NO_NETWORK = ("--unshare-net",)


def size_of(text: str, field: str = "--limit-memory") -> int:
    """Bytes: a number, or one with KiB, MiB, GiB or TiB."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(field, f"{text} must be a size, such as 512MiB or 2GiB")
    return int(found[1]) * _UNITS[found[2] or ""]


def _probed(limits: ProgramLimits, asked: Sequence[int]) -> dict[str, Any]:
    with _probing(limits) as group:
        done = _run_probe(limits, asked, group)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise _refused(limits, done.stderr.strip() or f"exit status {done.returncode}") from None


@contextmanager
def _probing(limits: ProgramLimits) -> Generator[ProgramGroup | None]:
    group = limits.new_group()
    try:
        yield group
    finally:
        if group is not None:
            group.remove()


def _run_probe(
    limits: ProgramLimits, asked: Sequence[int], group: ProgramGroup | None
) -> subprocess.CompletedProcess[str]:
    probe = [sys.executable, "-I", "-S", os.fspath(SCRIPTS / "probe.py"), *(str(number) for number in asked)]
    words = limits.words(probe, group)
    try:
        return subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBING, check=False, text=True
        )
    except subprocess.TimeoutExpired:
        raise _refused(limits, f"a program did not end within {PROBING:g} s") from None


def _launched(given: Sequence[str], words: Sequence[str]) -> list[str]:
    return [sys.executable, "-I", "-S", os.fspath(SCRIPTS / "launcher.py"), *given, "--", *words]


def _refused(limits: ProgramLimits, why: str) -> InvalidInput:
    field = "--no-network" if not limits.network else "--limit-processes" if limits.processes else "--limit-memory"
    return InvalidInput(field, f"cannot be enforced on this machine: {why} ({limits})")


def _shown(size: int) -> str:
    for unit in "TGM":
        if size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]} {unit}iB"
    return f"{size} bytes"
