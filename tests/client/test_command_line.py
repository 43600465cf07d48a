"""The command line beyond a server: TASKYARD_URL and TASKYARD_TOKEN are all it needs."""

import asyncio
import json
import os
import sys
from typing import Any

import pytest

from taskyard.server.server import Server
from taskyard.yard import Yard
from tests.remote import url_of


class Shell:
    """A shell in which the yard is a server's."""

    def __init__(self, url: str, token: str) -> None:
        self._environment = os.environ | {"TASKYARD_URL": url, "TASKYARD_TOKEN": token, "COLUMNS": "120"}

    async def run(self, *words: str) -> tuple[int | None, str, str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "taskyard", *words),
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await process.communicate()
        return process.returncode, out.decode(), errors.decode()

    async def json(self, *words: str) -> Any:
        status, out, errors = await self.run(*words, "--json")
        assert status == 0, errors
        return json.loads(out)


@pytest.fixture
async def shell(local: Yard, server: Server) -> Shell:
    return Shell(url_of(server), (await local.tokens.create("ops", "admin")).text)


async def test_work_is_put_in_done_and_looked_at(local: Yard, shell: Shell):
    task = await shell.json("enqueue", "code", "--prompt", "Fix it")
    await local.agents.register("coder")
    (held,) = (await shell.json("claim", "--agent", "coder"))["tasks"]
    done = await shell.json("complete", held["id"], "--lease", held["lease"], "--output", '{"ok": true}')

    assert held["id"] == task["id"]
    assert done["status"] == "completed"
    assert (await shell.json("show", task["id"]))["output"]["data"] == {"ok": True}
    assert (await local.get(task["id"])).created_by == "human:ops"


async def test_a_list_says_how_many_there_are_and_who_ended_what(local: Yard, shell: Shell):
    for _ in range(3):
        await local.enqueue("code")
    await local.agents.register("coder-7", "coder")
    (held,) = await local.claim("coder-7", start=True)
    await local.complete(held.id, held.lease, output={})

    _, listed, _ = await shell.run("ls", "-n", "2")
    _, ended, _ = await shell.run("ls", "--status", "completed")

    assert listed.splitlines()[-1] == "the newest 2 of 3 tasks"
    assert "coder-7" in ended


@pytest.mark.parametrize("command", [("doctor",), ("migrate", "status"), ("serve",)])
async def test_what_needs_the_store_itself_says_so(shell: Shell, command: tuple[str, ...]):
    status, _, errors = await shell.run(*command)

    assert status == 2
    assert "needs the store itself" in errors


async def test_without_a_good_token_nothing_is_answered(local: Yard, server: Server):
    await local.tokens.create("ops", "admin")

    status, out, errors = await Shell(url_of(server), "").run("ls")

    assert (status, out) == (5, "")
    assert "TASKYARD_TOKEN" in errors
