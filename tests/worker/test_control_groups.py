"""Control groups: which machines give a worker groups for its programs, what is written there, and what is refused.

The folders of a machine are made of files here, but for the last tests, which use the machine that they run on.
"""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import taskyard
from taskyard import Agent
from taskyard.app import Yard
from taskyard.core.errors import InvalidInput
from taskyard.worker.command import Command, command_agent
from taskyard.worker.isolation import control_groups, limits
from taskyard.worker.isolation.control_groups import WORKER, DelegatedGroup, NotDelegated, delegated
from taskyard.worker.isolation.limits import ProgramLimits

MOUNTED = "31 23 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
VERSION_1 = "32 31 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
UNIT = "/user.slice/taskyard.service"
ALL = "cpu io memory pids"
TOTAL = 64 << 20


def given_a_machine(
    root: Path, *, mounts: str = MOUNTED, group: str = f"0::{UNIT}\n", controllers: str = ALL, passed_on: str = ""
) -> Path:
    """The folders of a machine, and the group that a worker has there."""
    place = root / "sys/fs/cgroup" / UNIT.removeprefix("/")
    for folder in (root / "proc/self", place):
        folder.mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(f"23 1 8:1 / / rw - ext4 /dev/sda1 rw\n{mounts}")
    (root / "proc/self/cgroup").write_text(group)
    (place / "cgroup.controllers").write_text(controllers)
    (place / "cgroup.subtree_control").write_text(passed_on)
    return place


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    # A folder of files is not removed as a group is, whose files are no obstacle.
    monkeypatch.setattr(control_groups, "PARTING", 0.0)


def test_a_worker_moves_out_of_its_delegated_group_and_passes_the_controllers_on(tmp_path: Path) -> None:
    place = given_a_machine(tmp_path)

    found = delegated({"memory", "pids"}, tmp_path)

    assert found == DelegatedGroup(place)
    assert (place / WORKER / "cgroup.procs").read_text() == str(os.getpid())
    assert (place / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_a_worker_that_moved_before_uses_the_group_above(tmp_path: Path) -> None:
    place = given_a_machine(tmp_path, group=f"0::{UNIT}/{WORKER}\n", passed_on="memory pids")
    assert delegated({"memory"}, tmp_path).place == place
    assert not (place / WORKER).exists()


def test_groups_that_killed_workers_left_empty_are_removed(tmp_path: Path) -> None:
    place = given_a_machine(tmp_path, passed_on=ALL)
    left, used = place / "taskyard-program-1-a", place / "taskyard-program-2-b" / "below"
    left.mkdir()
    used.mkdir(parents=True)
    delegated({"memory"}, tmp_path)
    assert not left.exists()
    assert used.exists()


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        ({"mounts": VERSION_1}, "no control groups of version 2"),
        ({"mounts": ""}, "no control groups of version 2"),
        ({"group": "4:memory:/x\n"}, "cannot be seen from here"),
        ({"group": "0::/../elsewhere\n"}, "cannot be seen from here"),
        ({"mounts": MOUNTED.replace(" / /sys", " /other /sys")}, "cannot be seen from here"),
        ({"mounts": VERSION_1 + MOUNTED, "controllers": "hugetlb"}, "no controller memory"),
        ({"controllers": ""}, "no controller memory"),
    ],
    ids=["version 1", "no groups", "no name", "outside", "another part", "both versions", "none delegated"],
)
def test_a_machine_that_delegates_nothing_is_refused_with_what_is_missing(
    tmp_path: Path, machine: dict[str, str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_a_machine(tmp_path, **machine)
    with pytest.raises(NotDelegated, match=why):
        delegated({"memory"}, tmp_path)
    monkeypatch.setattr(limits, "delegated", partial(delegated, root=tmp_path))
    with pytest.raises(InvalidInput, match=rf"--limit-total-memory: cannot be enforced on this machine: .*{why}"):
        command_agent(Agent("program"), Command(words=["true"], limits=ProgramLimits(total_memory=TOTAL)))


def test_a_group_that_may_not_be_written_to_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    place = given_a_machine(tmp_path)
    (place / "cgroup.subtree_control").unlink()
    (place / "cgroup.subtree_control").mkdir()  # cannot be written to, also by root
    with pytest.raises(NotDelegated, match="is not delegated to this worker"):
        delegated({"cpu"}, tmp_path)
    assert (place / "cgroup.procs").read_text() == str(os.getpid())


def test_a_group_has_the_limits_of_its_program_and_the_program_enters_it(tmp_path: Path) -> None:
    place = given_a_machine(tmp_path, passed_on=ALL)
    held = ProgramLimits(total_memory=TOTAL, cores=1.5, processes=20, groups=delegated({"memory"}, tmp_path))

    group = held.new_group()

    assert group is not None
    assert group.place.parent == place
    written = {each.name: each.read_text() for each in group.place.iterdir()}
    assert written == {
        "memory.max": str(TOTAL),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "cpu.max": "150000 100000",
        "pids.max": "20",
    }
    done = subprocess.run(held.words(["echo", "ran"], group), check=True, capture_output=True, text=True)
    assert done.stdout == "ran\n"
    assert (group.place / "cgroup.procs").read_text() == "0"  # the kernel's word for whoever writes it


def test_a_program_that_cannot_enter_its_group_is_not_run(tmp_path: Path) -> None:
    place = given_a_machine(tmp_path, passed_on=ALL)
    held = ProgramLimits(cores=1, groups=DelegatedGroup(place))
    group = held.new_group()
    assert group is not None
    (group.place / "cgroup.procs").mkdir()
    done = subprocess.run(held.words(["echo", "ran"], group), check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (127, "")
    assert "cannot be entered" in done.stderr


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"total_memory": TOTAL}, "--limit-total-memory: cannot be enforced"),
        ({"cores": 1.0}, "--limit-cores: cannot be enforced"),
        ({"processes": 10}, "--limit-processes: cannot be enforced"),
    ],
)
def test_groups_that_hold_nothing_are_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], why: str
) -> None:
    given_a_machine(tmp_path)  # it takes every file, and holds no program to what is in it
    monkeypatch.setattr(limits, "delegated", partial(delegated, root=tmp_path))
    with pytest.raises(InvalidInput, match=why):
        ProgramLimits(**asked).check()


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"total_memory": 1}, "--limit-total-memory"),
        ({"cores": 0.0}, "--limit-cores"),
        ({"cores": float("nan")}, "--limit-cores"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"{field}: must be at least"):
        ProgramLimits(**asked).check()


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with taskyard.connect("memory://") as found:
        yield found


async def test_an_attempt_that_the_kernel_ended_for_its_memory_says_so(
    yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_a_machine(tmp_path, passed_on=ALL)
    monkeypatch.setattr(limits, "delegated", partial(delegated, root=tmp_path))

    def hold(limits: ProgramLimits) -> None:
        """What the kernel would do, the program does below."""

    monkeypatch.setattr(ProgramLimits, "_probe", hold)
    text = (
        "import glob, os, signal; [group] = glob.glob(os.environ['GROUPS'] + '/taskyard-program-*'); "
        "open(group + '/memory.events', 'w').write('oom 1\\noom_kill 1\\n'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    monkeypatch.setenv("GROUPS", os.fspath(tmp_path / "sys/fs/cgroup" / UNIT.removeprefix("/")))
    command = Command(words=[sys.executable, "-c", text], passed=["GROUPS"], limits=ProgramLimits(total_memory=TOTAL))
    task = await yard.enqueue("code", max_attempts=1)

    await yard.drain(command_agent(Agent("program"), command))

    (attempt,) = (await yard.get(task.id)).attempts
    assert attempt.reason == "limit_exceeded"
    assert "64 MiB together (--limit-total-memory)" in (attempt.error or "")


async def test_on_this_machine_a_total_is_held_or_refused_and_never_ignored(yard: Yard) -> None:
    eats = (
        f"import os; os.fork(); os.fork(); x = bytearray({TOTAL}); x[::4096] = b'x' * {TOTAL // 4096}; print('had it')"
    )
    command = Command(words=[sys.executable, "-c", eats], limits=ProgramLimits(total_memory=2 * TOTAL))
    try:
        delegated({"memory"})
    except NotDelegated:
        with pytest.raises(InvalidInput, match="--limit-total-memory: cannot be enforced on this machine"):
            command_agent(Agent("program"), command)
        return
    agent = command_agent(Agent("program"), command)
    task = await yard.enqueue("code", max_attempts=1)
    await yard.drain(agent)
    assert (await yard.get(task.id)).attempts[0].reason == "limit_exceeded"


def test_what_leaves_the_programs_session_ends_with_its_group_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_groups, "PARTING", 10.0)
    try:
        held = ProgramLimits(groups=delegated(()))
        group = held.new_group()
    except (NotDelegated, PermissionError, OSError):
        return  # this user may make no groups here: nothing is promised
    assert group is not None
    escapes = (
        "import os, time; print(os.getpid(), flush=True); os.setsid() if os.fork() == 0 else None; time.sleep(600)"
    )
    with subprocess.Popen(held.words([sys.executable, "-c", escapes], group), stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline()
        group.remove()
        assert program.wait(10) == -signal.SIGKILL
    assert not group.place.exists()
