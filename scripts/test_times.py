"""Prints how much processor time the tests take, by folder, file or test, with every process that they start.

python -m scripts.test_times [--by folder|file|test] [--most 40] [-- arguments of pytest]

The processor time of a test is that of its own process and of the processes that it waited for. Servers and browsers
serve many tests: theirs is printed by program, and is in the sum only. Wall times depend on what else the machine
does; processor time hardly does.
Like `make test`, it wants compiled files: PYTHONDONTWRITEBYTECODE= python -m scripts.test_times -- -n 0 tests/cli
"""

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of Linux: who is left by its parent becomes our child, as servers do
_PLUGIN = "scripts.test_times_plugin"


class Spent(NamedTuple):
    test: str
    set_up: float
    call: float
    tear_down: float
    waited: float  # for other processes, or for time to pass

    @property
    def sum(self) -> float:
        return self.set_up + self.call + self.tear_down

    @property
    def folder(self) -> str:
        return "/".join(self.test.split("/")[:2])

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]

    @property
    def function(self) -> str:
        return self.test.partition("[")[0]


def measure(arguments: list[str]) -> tuple[int, float, list[Spent]]:
    """The exit status of pytest, the processor time of everything that it started, and what each test took."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder) / "times.jsonl"
        environment = os.environ | {"TASKYARD_TEST_TIMES": str(noted)}
        words = [sys.executable, "-m", "pytest", "-q", "-p", _PLUGIN, *arguments]
        status = subprocess.run(words, env=environment, check=False).returncode
        for program, seconds in sorted(_wait_for_all().items(), key=lambda each: -each[1]):
            print(f"{seconds:8.1f} {program}")
        spent = [Spent(*json.loads(line)) for line in noted.read_text(encoding="utf-8").splitlines()]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, used.ru_utime + used.ru_stime, spent


def _wait_for_all() -> dict[str, float]:
    """Until the servers have ended, which pytest told to: the processor time of those of each program."""
    used: defaultdict[str, float] = defaultdict(float)
    try:
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT):
            program = Path(f"/proc/{ended.si_pid}/comm").read_text(encoding="utf-8").strip()
            _, _, usage = os.wait4(ended.si_pid, 0)
            used[program] += usage.ru_utime + usage.ru_stime
    except ChildProcessError:
        pass
    return used


def report(spent: list[Spent], by: str, most: int) -> None:
    sums: defaultdict[str, list[Spent]] = defaultdict(list)
    for each in spent:
        sums[{"folder": each.folder, "file": each.file, "test": each.function}[by]].append(each)
    print(f"{'seconds':>8} {'set up':>8} {'waited':>8} {'tests':>6}")
    for name, those in sorted(sums.items(), key=lambda found: -sum(each.sum for each in found[1]))[:most]:
        used, waited = sum(each.sum for each in those), sum(each.waited for each in those)
        set_up = sum(each.set_up + each.tear_down for each in those)
        print(f"{used:8.1f} {set_up:8.1f} {waited:8.1f} {len(those):6}  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--by", choices=["folder", "file", "test"], default="folder")
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--keep", type=Path, help="a file for what each test took, as JSON")
    parser.add_argument("arguments", nargs="*")
    given = parser.parse_args()
    status, used, spent = measure(given.arguments)
    if given.keep is not None:
        given.keep.write_text(json.dumps([used, spent]), encoding="utf-8")
    report(spent, given.by, given.most)
    print(f"{used:8.1f} seconds of processor time in all, {len(spent)} tests")
    sys.exit(status)


if __name__ == "__main__":
    main()
