"""A worker that is killed with -9 has programs at work: they end, with everything that they started."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from taskyard.yard import Yard
from tests.processes.commands import WAIT, a_worker
from tests.processes.test_runtimes import given_a_task, killed, when
from tests.storage import url_of
from tests.worker.repositories import a_repository

# It and two children hold a pipe open, for longer than any test takes.
PROGRAM = """\
exec 3<>"$(dirname "$0")/pipe"
sleep 600 &
(sleep 600; true) &
echo '{"type": "message", "text": "begun"}'
wait
"""
DEAF = "trap '' TERM HUP INT\n"  # and so are its children


@pytest.fixture
def url(tmp_path: Path) -> str:
    """One store will do: programs are no part of it."""
    return url_of("sqlite", tmp_path)


@asynccontextmanager
async def ended_in_time(pipe: Path) -> AsyncGenerator[None]:
    """All who have it open when this begins must end."""
    reader, reading = asyncio.StreamReader(), os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb", 0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), reading
    )
    try:
        yield
        async with asyncio.timeout(WAIT):
            await reader.read()
    finally:
        transport.close()


@pytest.mark.parametrize(
    ("program", "options"),
    [
        (PROGRAM, ()),
        (DEAF + PROGRAM, ()),
        (PROGRAM, ("--worktree", "made")),
        (PROGRAM, ("--limit-memory", "1GiB", "--limit-cpu", "60", "--limit-time", "500")),
    ],
    ids=["plain", "deaf to being asked", "worktree", "limits"],
)
async def test_what_a_killed_worker_has_started_ends(
    yard: Yard, url: str, tmp_path: Path, program: str, options: tuple[str, ...]
):
    a_repository(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "program.sh").write_text(program)
    task = await given_a_task(yard)
    async with a_worker(url, tmp_path, "--exec", f"sh {tmp_path / 'program.sh'}", *options) as worker:
        await when(yard, task, "task.message")
        async with ended_in_time(tmp_path / "pipe"):
            await killed(worker)
