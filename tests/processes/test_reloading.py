"""`taskyard work --reload`: a worker in development goes on with the changed file."""

import asyncio
import signal
import sys
from pathlib import Path

import taskyard

WAIT = 60.0
AGENTS = """
import taskyard

coder = taskyard.Agent("coder")


@coder.handles("code")
async def code(task):
    return {value}
"""


async def test_a_worker_runs_the_changed_file_and_ends_when_it_is_stopped(tmp_path: Path):
    module, url = tmp_path / "mine.py", f"sqlite:///{tmp_path}/yard.db"
    module.write_text(AGENTS.format(value=1))
    words = (sys.executable, "-m", "taskyard", "--url", url, "work", "--reload", "mine:coder")
    async with taskyard.connect(url) as yard, asyncio.timeout(WAIT):
        worker = await asyncio.create_subprocess_exec(*words, cwd=tmp_path, stderr=asyncio.subprocess.PIPE)
        try:
            assert await yard.result((await yard.enqueue("code")).id) == 1

            module.write_text("this is no Python")  # the worker fails, and waits for the next change
            await _reads(worker, b"SyntaxError")
            module.write_text(AGENTS.format(value=22))
            await _reads(worker, b"starts again")
            assert await yard.result((await yard.enqueue("code")).id) == 22

            worker.send_signal(signal.SIGTERM)
            await worker.communicate()
            assert worker.returncode == 0
        finally:
            if worker.returncode is None:
                worker.kill()
                await worker.wait()


async def _reads(worker: asyncio.subprocess.Process, text: bytes) -> None:
    """Read what the worker prints up to a line with this text."""
    assert worker.stderr is not None
    while text not in (line := await worker.stderr.readline()):
        assert line, "the worker has ended"
