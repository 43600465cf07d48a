"""`taskyard work --a2a` and `--mcp`, killed in the middle of a task: what the agent or tool elsewhere sees of it."""

import asyncio
import json
import os
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import taskyard
from taskyard.app import Yard
from tests.a2a.clients import serving
from tests.processes.commands import WAIT, a_worker
from tests.processes.test_runtimes import killed, when
from tests.storage import asked_for_in_a_file, url_of
from tests.worker.conftest import working

TOOLS = Path(__file__).parents[1] / "worker" / "protocols" / "tool_server.py"
SENDING = b"/message:send"


@pytest.fixture(params=asked_for_in_a_file())
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """One store: what is stored of a step is the same on each, and every test here starts two interpreters or more."""
    return url_of(request.param, tmp_path)


class Elsewhere:
    """A yard behind an A2A server, and a line to it that can lose answers."""

    def __init__(self, yard: Yard) -> None:
        self.yard = yard
        self.go_on = asyncio.Event()
        self.agent = taskyard.Agent("elsewhere", poll_interval_sec=1)
        self.agent.handles("write")(self._write)
        self.agent.handles("deploy")(self._deploy)
        self.url = ""
        self.held = asyncio.Event()  # an answer is withheld: the agent has the message, and its sender does not know
        self._lost = 0  # the message whose answer gets lost; 0: none
        self._sent = 0

    async def _write(self, task: taskyard.Context) -> str:
        await task.progress(None, "writing")
        await self.go_on.wait()
        return f"{task.prompt}, written once"

    async def _deploy(self, task: taskyard.Context) -> Any:
        return await task.ask("Where to?", choices=["here", "there"])

    def lose(self, number: int) -> None:
        """Let the answer to this message get lost."""
        self._lost = number

    @asynccontextmanager
    async def reached(self) -> AsyncGenerator[None]:
        async with serving(self.yard) as url, working(self.yard, self.agent):
            port = int(url.rpartition(":")[2])

            async def carry(here: StreamReader, answer: StreamWriter) -> None:
                there, ask = await asyncio.open_connection("127.0.0.1", port)
                with suppress(ConnectionError):
                    await asyncio.gather(self._asked(here, ask), self._answered(there, answer))
                for end in (ask, answer):
                    end.close()

            async with await asyncio.start_server(carry, "127.0.0.1", 0) as line:
                self.url = f"http://127.0.0.1:{line.sockets[0].getsockname()[1]}"
                yield

    async def _asked(self, here: StreamReader, ask: StreamWriter) -> None:
        while text := await here.read(1 << 16):
            self._sent += text.count(SENDING)
            ask.write(text)
        ask.close()

    async def _answered(self, there: StreamReader, answer: StreamWriter) -> None:
        while text := await there.read(1 << 16):
            if self._lost and self._sent == self._lost:
                self._lost = 0
                self.held.set()
                return
            answer.write(text)
        answer.close()


@pytest.fixture
async def elsewhere() -> AsyncIterator[Elsewhere]:
    async with taskyard.connect("memory://") as yard:
        for type_ in ("write", "deploy"):
            await yard.a2a.publish(type_)
        place = Elsewhere(yard)
        async with place.reached():
            yield place


async def given_a_task(yard: Yard, **fields: Any) -> str:
    return (await yard.enqueue("any", retry={"strategy": "immediate"}, **fields)).id


async def test_a_worker_killed_while_the_agent_works_finds_the_agents_task_again(
    yard: Yard, url: str, tmp_path: Path, elsewhere: Elsewhere
):
    task = await given_a_task(yard, prompt="a poem")
    words = ("--a2a", elsewhere.url, "--skill", "write")
    async with a_worker(url, tmp_path / "a", *words) as first:
        await when(yard, task, "task.progress")  # the agent's own word has come through
        await killed(first)
    async with a_worker(url, tmp_path / "a", *words):
        elsewhere.go_on.set()
        await when(yard, task, "task.completed")

    done = await yard.get(task)
    assert done.result == "a poem, written once"
    assert [each.reason for each in done.attempts] == ["runtime_recovery", None]
    assert len(await elsewhere.yard.find()) == 1


async def test_a_worker_killed_before_it_hears_that_its_message_arrived_makes_no_second_task(
    yard: Yard, url: str, tmp_path: Path, elsewhere: Elsewhere
):
    task = await given_a_task(yard, prompt="a poem")
    words = ("--a2a", elsewhere.url, "--skill", "write")
    elsewhere.lose(1)
    async with a_worker(url, tmp_path / "a", *words) as first:
        await asyncio.wait_for(elsewhere.held.wait(), WAIT)
        await killed(first)
    elsewhere.go_on.set()
    async with a_worker(url, tmp_path / "a", *words):
        await when(yard, task, "task.completed")

    assert (await yard.get(task)).result == "a poem, written once"
    assert len(await elsewhere.yard.find()) == 1


async def test_a_worker_killed_before_it_hears_that_an_answer_arrived_asks_nobody_twice(
    yard: Yard, url: str, tmp_path: Path, elsewhere: Elsewhere
):
    task = await given_a_task(yard)
    words = ("--a2a", elsewhere.url, "--skill", "deploy")
    elsewhere.lose(2)
    async with a_worker(url, tmp_path / "a", *words) as first:
        await when(yard, task, "task.asked")
        (asked,) = await yard.approvals.list(task_id=task)
        await yard.approvals.answer(task, asked.signal, "there")
        await asyncio.wait_for(elsewhere.held.wait(), WAIT)
        await killed(first)
    async with a_worker(url, tmp_path / "a", *words):
        await when(yard, task, "task.completed")

    assert (await yard.get(task)).result == "there"
    assert len([each for each in await yard.events(task_id=task) if each.event.event == "task.asked"]) == 1
    assert len(await elsewhere.yard.find()) == 1


async def ended(pid: int) -> None:
    """Wait until a process that is nobody's child here is gone."""
    with suppress(ProcessLookupError):
        descriptor, gone = os.pidfd_open(pid), asyncio.Event()
        asyncio.get_running_loop().add_reader(descriptor, gone.set)
        try:
            await asyncio.wait_for(gone.wait(), WAIT)
        finally:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)


async def test_a_worker_killed_within_a_tools_call_makes_it_again_and_leaves_no_program_behind(
    yard: Yard, url: str, tmp_path: Path
):
    calls = tmp_path / "calls.jsonl"
    task = await given_a_task(yard, payload={"file": str(calls)})
    words = ("--mcp", f"{sys.executable} {TOOLS}", "--tool", "hang_once")
    async with a_worker(url, tmp_path / "a", *words) as first:
        await when(yard, task, "task.progress")
        await killed(first)
    await ended(json.loads(calls.read_text())["pid"])
    async with a_worker(url, tmp_path / "a", *words):
        await when(yard, task, "task.completed")

    # The protocol has no name for a call that comes twice, so the tool is told of it again.
    assert len(calls.read_text().splitlines()) == 2
    assert (await yard.get(task)).result == {"calls": 2}


async def test_a_worker_killed_between_a_tools_question_and_the_answer_asks_nobody_twice(
    yard: Yard, url: str, tmp_path: Path
):
    task = await given_a_task(yard, payload={"site": "shop"})
    words = ("--mcp", f"{sys.executable} {TOOLS}", "--tool", "deploy")
    async with a_worker(url, tmp_path / "a", *words) as first:
        await when(yard, task, "task.asked")
        await killed(first)
    (asked,) = await yard.approvals.list(task_id=task)
    await yard.approvals.answer(task, asked.signal, {"approved": True})
    async with a_worker(url, tmp_path / "a", *words):
        await when(yard, task, "task.completed")

    assert "shop: {'approved': True}" in str((await yard.get(task)).result)
    assert len([each for each in await yard.events(task_id=task) if each.event.event == "task.asked"]) == 1
