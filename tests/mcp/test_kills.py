"""A server that is killed between creating a task and being asked about it has lost nothing."""

import asyncio
import re
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from taskyard.app import Yard, connect
from tests.mcp.conftest import SERVED
from tests.mcp.crew import at_work
from tests.mcp.raw import Raw
from tests.processes.nursery import nursery
from tests.storage import give_back, take, url_of

# What `taskyard serve` loads, and what its first callers have it load.
SERVER = (
    *("taskyard.cli.programs.serve", "taskyard.server.server"),
    *("taskyard.mcp.streamable_http", "taskyard.a2a.a2a_mount"),
)


@asynccontextmanager
async def server(url: str) -> AsyncGenerator[str]:
    """`taskyard serve` in a process of its own, which is killed when the block is left."""
    program = await nursery().fork("taskyard", "--url", url, "serve", "--port", "0", loads=SERVER)
    try:
        async with asyncio.timeout(60):
            said = await program.stdout.readuntil(b"look")
        (address,) = re.findall(r"http://[\w.:]+", said.decode())
        yield f"{address}/mcp"
    finally:
        program.send_signal(signal.SIGKILL)
        await program.communicate()


async def ended(raw: Raw, handle: str, yard: Yard) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while (task := (await raw.ask("tasks/get", taskId=handle))["result"])["status"] != "completed":
            for approval in await yard.approvals.list():
                await yard.signal(approval.task.id, "approve", {"approved": True}, wait=approval.wait)
            await yard.changed(await yard.mark(), 0.5)
        return task


@pytest.mark.parametrize("store", SERVED)
async def test_a_task_that_was_answered_with_is_found_after_the_server_was_killed(store: str, tmp_path: Path):
    take(store, tmp_path)
    url = url_of(store, tmp_path)
    async with server(url) as address:
        created = (await Raw(address).call("run_task", type="deploy"))["result"]
    async with connect(url) as yard, server(url) as address, at_work(yard):
        task = await ended(Raw(address), created["taskId"], yard)
        verified = await yard.verify()

    assert (created["resultType"], created["status"]) == ("task", "working")
    assert task["result"]["structuredContent"]["output"] == {"answer": {"approved": True}}
    assert verified.ok, str(verified)
    give_back(store, tmp_path)
