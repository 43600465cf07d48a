"""The command that the guide to events shows hears what the guide says."""

import asyncio
import os
import re
from pathlib import Path

import taskyard
from taskyard.server.server import served

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "events.md"


async def test_the_command_in_the_guide_follows_events():
    (command,) = re.findall(r"^\$ (curl .*)$", GUIDE.read_text(), re.MULTILINE)
    async with taskyard.connect("memory://") as yard, served(yard) as server:
        task = await yard.enqueue("code")
        curl = await asyncio.create_subprocess_shell(
            f"exec {command} --silent",
            env={**os.environ, "TASKYARD_URL": f"http://127.0.0.1:{server.port}"},
            stdout=asyncio.subprocess.PIPE,
        )
        assert curl.stdout is not None
        lines = [(await curl.stdout.readline()).decode() for _ in range(2)]
        curl.terminate()
        await curl.communicate()

    assert lines[0] == "id: 1\n"
    assert task.id in lines[1]
