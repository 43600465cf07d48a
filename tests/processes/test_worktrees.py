"""`taskyard work --worktree` as a process: killed and started again, it finds its worktree."""

import asyncio
import sys
from pathlib import Path

import pytest

from taskyard.yard import Yard
from tests.processes.test_runtimes import WAIT, killed, output, when
from tests.storage import url_of
from tests.worker.repositories import a_repository, git

# In its first attempt it leaves a file, says so and never ends: its worker is killed, and it is not.
PROGRAM = """
import json, os, pathlib, sys, time
task = json.load(sys.stdin)
if task["attempt"] == 1:
    pathlib.Path("half").write_text(str(os.getpid()))
    print(json.dumps({"type": "message", "text": "half"}), flush=True)
    time.sleep(600)
print(json.dumps({"type": "output", "data": [os.getcwd(), int(pathlib.Path("half").read_text())]}))
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    """One store will do: worktrees are no part of it."""
    return url_of("sqlite", tmp_path)


async def started(url: str, folder: Path, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "taskyard", "--url", url, *words), cwd=folder, stderr=asyncio.subprocess.DEVNULL
    )


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def test_a_worker_that_is_killed_and_started_again_finds_its_worktree(yard: Yard, url: str, tmp_path: Path):
    repository = a_repository(tmp_path / "r")
    (tmp_path / "program.py").write_text(PROGRAM)
    program = f"{sys.executable} {tmp_path / 'program.py'}"
    work = ("work", "--exec", program, "--worktree", str(repository))
    task = (await yard.enqueue("code", retry={"strategy": "immediate"})).id
    first = await started(url, tmp_path, *work)
    await when(yard, task, "task.message")
    await killed(first)

    second = await started(url, tmp_path, *work)
    directory, left = await output(yard, task)
    second.terminate()
    await asyncio.wait_for(second.wait(), WAIT)

    assert directory == str(tmp_path / ".taskyard" / "worktrees" / task)
    assert not is_alive(left)  # never two programs in one worktree
    assert git(repository, "show", f"taskyard/{task}:half")  # committed when the worktree was removed
