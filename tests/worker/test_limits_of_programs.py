"""Limits of command agents: real programs that break each of them, and machines that cannot enforce them."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import taskyard
from taskyard import Agent, Status
from taskyard.app import Yard
from taskyard.core.errors import InvalidInput
from taskyard.features.tasks.views import Details
from taskyard.worker.command import Command, command_agent
from taskyard.worker.isolation import limits as module
from taskyard.worker.isolation.limits import ProgramLimits, size_of
from tests import programs

NOBODY = 65534
MEMORY = 128 << 20
EATS_MEMORY = f"x = bytearray({2 * MEMORY}); print(len(x))"
BURNS = "while True: pass"
CONNECTS = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5); print('connected')"


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with taskyard.connect("memory://") as found:
        yield found


@pytest.fixture(autouse=True)
def bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    found = programs.environment("bwrap")
    for name in ("PATH", "LD_LIBRARY_PATH"):
        if name in found:
            monkeypatch.setenv(name, found[name])


async def outcome(yard: Yard, text: str, *words: str, **limits: Any) -> Details:
    command = Command(words=[sys.executable, "-c", text, *words], limits=ProgramLimits(**limits))
    task = await yard.enqueue("code", max_attempts=1)
    await yard.drain(command_agent(Agent("program"), command))
    return await yard.get(task.id)


@pytest.mark.parametrize(
    ("text", "limits", "reason", "error"),
    [
        (EATS_MEMORY, {"memory": MEMORY}, "limit_exceeded", "128 MiB (--limit-memory)"),
        (BURNS, {"cpu_sec": 1}, "limit_exceeded", "more than 1 s of processor time (--limit-cpu)"),
        (BURNS, {"cpu_sec": 1, "network": False}, "limit_exceeded", "processor time (--limit-cpu)"),
        ("import time; time.sleep(600)", {"time_sec": 0.5}, "timeout", "longer than 0.5 s (--limit-time)"),
        ("exit(3)", {"memory": MEMORY, "network": False}, "agent_error", "(limits: memory 128 MiB, no network)"),
    ],
    ids=["memory", "processor", "processor in bubblewrap", "time", "any other end"],
)
async def test_an_attempt_says_which_limit_its_program_met(
    yard: Yard, text: str, limits: dict[str, Any], reason: str, error: str
):
    (attempt,) = (await outcome(yard, text, **limits)).attempts

    assert attempt.reason == reason
    assert error in (attempt.error or "")


async def test_a_program_within_its_limits_is_as_without(yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    text = "import os, sys, json; print(json.load(sys.stdin)['type'], os.getcwd())"

    details = await outcome(yard, text, memory=1 << 30, cpu_sec=60, time_sec=60, network=False)

    assert details.result == f"code {tmp_path}"


async def test_without_the_network_not_even_this_machine_is_reached(yard: Yard):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = str(listening.getsockname()[1])
        assert (await outcome(yard, CONNECTS, port)).result == "connected"
        details = await outcome(yard, CONNECTS, port, network=False)

    assert details.status is Status.DEAD_LETTERED
    assert "no network" in (details.attempts[0].error or "")
    assert "refused" in (details.attempts[0].error or "")


def test_a_program_cannot_start_more_processes_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    user, python = os.geteuid(), sys.executable
    if user == 0:  # whom the system never limits: try it as another user, with what that user may read
        user, python = NOBODY, "/usr/bin/python3"
        if not Path(python).exists():
            pytest.skip("root has no interpreter here that another user may run")
        shared = Path("/tmp") / f"taskyard-{os.getpid()}"  # other users see into no folder of the tests
        shutil.copytree(Path(module.__file__).parent, shared)
        monkeypatch.setattr(module, "SCRIPTS", shared)
        monkeypatch.setattr(sys, "executable", python)
    tried = [python, "-I", "-S", os.fspath(module.SCRIPTS / "probe.py"), "0", "50", "0"]
    try:
        done = subprocess.run(
            ProgramLimits(processes=10).words(tried), user=user, cwd="/", check=True, capture_output=True
        )
    finally:
        if user == NOBODY:
            shutil.rmtree(module.SCRIPTS)

    assert 0 < json.loads(done.stdout)["processes"] < 10


def test_a_limit_that_root_is_not_held_to_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(InvalidInput, match="--limit-processes: cannot be enforced for root"):
        ProgramLimits(processes=10).check()


@pytest.mark.parametrize("limits", [{"network": False}, {"processes": 10}], ids=["network", "processes"])
def test_a_machine_without_bubblewrap_refuses_what_needs_it(
    limits: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(InvalidInput, match=r"needs bubblewrap \(bwrap\), which is not installed"):
        command_agent(Agent("program"), Command(words=["true"], limits=ProgramLimits(**limits)))


@pytest.mark.parametrize(
    ("script", "rule"),
    [
        ("echo 'no permission to make a namespace' >&2; exit 1", "no permission to make a namespace"),
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "reached this machine"),
    ],
    ids=["that fails", "that takes nothing away"],
)
def test_a_bubblewrap_that_does_not_work_is_found_out(
    script: str, rule: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(InvalidInput, match=rule):
        ProgramLimits(network=False).check()


def test_a_memory_limit_that_does_not_hold_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copy(module.SCRIPTS / "probe.py", tmp_path)
    (tmp_path / "launcher.py").write_text("import os, sys; w = sys.argv; w = w[w.index('--') + 1:]; os.execvp(w[0], w)")
    monkeypatch.setattr(module, "SCRIPTS", tmp_path)
    with pytest.raises(InvalidInput, match="--limit-memory: cannot be enforced"):
        ProgramLimits(memory=1 << 30).check()
    with pytest.raises(InvalidInput, match="--limit-cpu: cannot be enforced"):
        ProgramLimits(cpu_sec=600).check()


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"memory": 1}, "--limit-memory"),
        ({"cpu_sec": 0}, "--limit-cpu"),
        ({"time_sec": 0.0}, "--limit-time"),
        ({"time_sec": float("nan")}, "--limit-time"),
        ({"processes": 1}, "--limit-processes"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(limits: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        ProgramLimits(**limits).check()


def test_sizes_are_read_as_people_write_them() -> None:
    assert [size_of(each) for each in ("1048576", "512MiB", "2GiB", "2 GiB", "1G")] == [1 << 20, 512 << 20, *(
        2 << 30, 2 << 30, 1 << 30)]  # fmt: skip
    for wrong in ("", "GiB", "2GB", "-1", "1.5GiB", "9" * 40):
        with pytest.raises(InvalidInput, match="--limit-memory"):
            size_of(wrong)
