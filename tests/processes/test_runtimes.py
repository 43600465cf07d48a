"""`taskyard work` as a process of its runtime: killed and started again, it goes on where it was."""

import asyncio
import signal
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from taskyard.core.task import Status
from taskyard.server.server import served
from taskyard.yard import Yard
from tests.processes import commands
from tests.processes.commands import WAIT
from tests.processes.nursery import Forked

# Pins a session and waits for its worker to die; where it has been given a session, that is its output.
PROGRAM = """
import json, os, sys, time
task, worker = json.load(sys.stdin), os.getppid()
if task["session"]["session_id"] is None and task["attempt"] == 1:
    print(json.dumps({"type": "session", "session_id": "s-1", "work_dir": os.getcwd()}), flush=True)
    while os.getppid() == worker:
        time.sleep(0.05)
print(json.dumps({"type": "output", "data": task["session"]["session_id"]}))
"""


def program_in(folder: Path) -> str:
    """The command that runs the program, which is in the folder."""
    folder.mkdir(exist_ok=True)
    (folder / "program.py").write_text(PROGRAM)
    return f"{sys.executable} {folder / 'program.py'}"


def a_worker(url: str, folder: Path, *more: str) -> AbstractAsyncContextManager[Forked]:
    return commands.a_worker(url, folder, "--exec", program_in(folder), *more)


async def when(yard: Yard, task_id: str, event: str) -> None:
    """Wait for the first event of this name."""
    async with asyncio.timeout(WAIT):
        async for stored in yard.tail():
            if stored.event.task_id == task_id and stored.event.event == event:
                return


async def given_a_task(yard: Yard, **fields: Any) -> str:
    task = await yard.enqueue("code", retry={"strategy": "immediate"}, **fields)
    return task.id


async def heard_of(yard: Yard) -> Any:
    """The only runtime, once it is heard of: a worker begins to work without waiting for that."""
    async with asyncio.timeout(WAIT):
        while not (views := await yard.runtimes.list()):
            await yard.changed(await yard.mark(), 0.1)
    (view,) = views
    return view


async def killed(process: asyncio.subprocess.Process | Forked) -> None:
    process.send_signal(signal.SIGKILL)
    await process.wait()


async def output(yard: Yard, task_id: str) -> Any:
    await when(yard, task_id, "task.completed")
    return (await yard.get(task_id)).result


async def test_a_worker_that_is_killed_and_started_again_resumes_its_session(yard: Yard, url: str, tmp_path: Path):
    task = await given_a_task(yard)
    async with a_worker(url, tmp_path / "a") as first:
        await when(yard, task, "task.session")
        await killed(first)
    async with a_worker(url, tmp_path / "a"):
        assert await output(yard, task) == "s-1"

    (attempt, _) = (await yard.get(task)).attempts
    assert attempt.reason == "runtime_recovery"  # at once, and not when the lease has run out
    assert await yard.runtimes.list() == []


async def test_a_worker_of_a_server_that_is_killed_and_started_again_resumes_its_session(yard: Yard, tmp_path: Path):
    task = await given_a_task(yard)
    async with served(yard) as server:
        url = f"http://127.0.0.1:{server.port}"
        async with a_worker(url, tmp_path / "a") as first:
            await when(yard, task, "task.session")
            await killed(first)
        async with a_worker(url, tmp_path / "a"):
            assert await output(yard, task) == "s-1"

    (attempt, _) = (await yard.get(task)).attempts
    assert attempt.reason == "runtime_recovery"


async def test_another_folder_resumes_nothing_and_gives_up_nothing(yard: Yard, url: str, tmp_path: Path):
    task = await given_a_task(yard, timeouts={"lease_sec": 2, "heartbeat_sec": 1})
    async with a_worker(url, tmp_path / "a") as first:
        await when(yard, task, "task.session")
        await killed(first)
    async with a_worker(url, tmp_path / "b"):
        assert await output(yard, task) is None

    assert (await yard.get(task)).attempts[0].reason == "heartbeat_timeout"


async def test_a_worker_that_starts_beside_another_takes_nothing_from_it(yard: Yard, url: str, tmp_path: Path):
    task = await given_a_task(yard)
    async with a_worker(url, tmp_path / "a") as first:
        await when(yard, task, "task.session")
        async with a_worker(url, tmp_path / "a", "--type", "other"):
            other = await yard.enqueue("other")
            await when(yard, other.id, "task.session")  # it is at work: what it gives up, it has given up by now
            assert (await yard.get(task)).status is Status.RUNNING
            views = {view.pid: view for view in await yard.runtimes.list()}
            assert first.pid in views
            assert len({view.id for view in views.values()}) == 1
            assert len({view.incarnation for view in views.values()}) == len(views)
            await yard.cancel(other.id)
        await yard.cancel(task)
    assert await yard.runtimes.list() == []  # who leaves in order is heard of no more


async def test_a_runtime_may_be_named(yard: Yard, url: str, tmp_path: Path):
    task = await given_a_task(yard)
    async with a_worker(url, tmp_path / "a", "--runtime", "laptop"):
        await when(yard, task, "task.session")
        view = await heard_of(yard)
        claim: Any = (await yard.get(task)).to_dict()["claim"]
        assert (
            (claim["runtime_id"], claim["incarnation"]) == (view.id, view.incarnation) == ("laptop", view.incarnation)
        )
        await yard.cancel(task)
