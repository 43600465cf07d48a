"""An A2A agent elsewhere does the work of an agent. The one elsewhere is a yard of its own, behind a server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

import taskyard
from taskyard.app import Yard
from taskyard.core.errors import TaskFailed
from taskyard.worker.context import Context
from taskyard.worker.handlers import Agent
from taskyard.worker.protocols.a2a_agent import RemoteAgent, a2a_agent
from tests.a2a.clients import serving
from tests.worker.conftest import working

elsewhere = taskyard.Agent("elsewhere", poll_interval_sec=1, max_concurrent_tasks=5)


@elsewhere.handles("write")
async def write(task: Context) -> dict[str, Any]:
    await task.spend("0.25", input_tokens=10, output_tokens=5)
    await task.artifact("notes.txt", "some notes")
    return {"said": task.prompt, "with": task.payload}


@elsewhere.handles("deploy")
async def deploy(task: Context) -> dict[str, Any]:
    first = await task.ask("Deploy it?")
    return {"first": first, "second": await task.ask("Where to?", choices=["here", "there"])}


@elsewhere.handles("fail")
async def fail(_: Context) -> None:
    raise taskyard.Fail("agent_error", "it is broken")


@elsewhere.handles("wait")
async def wait(task: Context) -> None:
    await task.progress(None, "waiting")
    await asyncio.Event().wait()


@pytest.fixture
async def remote() -> AsyncIterator[Yard]:
    async with taskyard.connect("memory://") as yard:
        for type_ in ("write", "deploy", "fail", "wait"):
            await yard.a2a.publish(type_)
        yield yard


@pytest.fixture
async def url(remote: Yard) -> AsyncIterator[str]:
    async with serving(remote) as url, working(remote, elsewhere):
        yield url


@pytest.fixture
async def here() -> AsyncIterator[Yard]:
    async with taskyard.connect("memory://") as yard:
        yield yard


def agent_at(url: str, skill: str) -> Agent:
    agent = Agent("proxy", poll_interval_sec=1, max_concurrent_tasks=2)
    return a2a_agent(agent, RemoteAgent(url=url, skill=skill, poll_sec=0.1))


async def test_a_task_is_a_message_and_output_files_and_cost_come_back(here: Yard, remote: Yard, url: str):
    task = await here.enqueue("any", prompt="hello", payload={"a": [1]})
    async with working(here, agent_at(url, "write")):
        output = await here.result(task.id, timeout=60)

    done = await here.get(task.id)
    assert output == {"said": "hello", "with": {"a": [1]}}
    assert (done.cost, done.tokens_used.input, done.tokens_used.output) == (250_000, 10, 5)
    (file,) = await here.artifacts.list(task_id=task.id)
    assert (file.name, len(await remote.find())) == ("notes.txt", 1)


async def test_what_the_agent_asks_people_here_answer_one_question_after_the_other(here: Yard, url: str):
    task = await here.enqueue("any")
    answers: list[Any] = [{"approved": True, "comment": "go"}, "there"]
    questions: list[str] = []
    async with working(here, agent_at(url, "deploy")):
        async for _ in here.tail(task_id=task.id, event="task.asked"):
            (asked,) = await here.approvals.list(task_id=task.id)
            assert asked.question is not None
            questions.append(asked.question.text)
            await here.approvals.answer(task.id, asked.signal, answers[len(questions) - 1])
            if len(questions) == len(answers):
                break
        output = await here.result(task.id, timeout=60)

    assert questions == ["Deploy it?", "Where to?"]
    assert output == {"first": answers[0], "second": "there"}


async def test_an_attempt_that_dies_after_sending_does_not_have_the_work_done_twice(
    here: Yard, remote: Yard, url: str, monkeypatch: pytest.MonkeyPatch
):
    stored = Context.store_step
    deaths: list[str] = []

    async def dies_once(self: Context, name: str, *more: Any, **named: Any) -> Any:
        if name.endswith(":task") and not deaths:
            deaths.append(name)
            raise RuntimeError("the process was killed here")
        return await stored(self, name, *more, **named)

    monkeypatch.setattr(Context, "store_step", dies_once)
    task = await here.enqueue("any", prompt="once", retry={"strategy": "immediate"})
    async with working(here, agent_at(url, "write")):
        output = await here.result(task.id, timeout=60)

    assert output["said"] == "once"
    assert deaths == ["a2a:0:task"]
    assert [each.outcome for each in (await here.get(task.id)).attempts] == ["failed", "completed"]
    assert len(await remote.find()) == 1


async def test_a_retry_after_the_agent_failed_asks_it_anew(here: Yard, remote: Yard, url: str):
    task = await here.enqueue("any", max_attempts=2, retry={"strategy": "immediate"})
    await remote.presets.current()
    async with working(here, agent_at(url, "fail")):
        for _ in range(2):
            await _bury(remote)
        with pytest.raises(TaskFailed):
            await here.result(task.id, timeout=60)

    failure = (await here.get(task.id)).failure
    assert failure is not None
    assert "CANCELED" in (failure.error or "")
    assert len(await remote.find()) == 2


async def _bury(remote: Yard) -> None:
    """End the next remote task by hand: its own retries would take their time."""
    async for stored in remote.tail(event="task.retrying"):
        task = await remote.get(stored.event.task_id or "")
        if not task.status.is_final:
            await remote.cancel(task.id, "enough")
            return


async def test_a_cancel_is_passed_on(here: Yard, remote: Yard, url: str):
    task = await here.enqueue("any")
    async with working(here, agent_at(url, "wait")):
        async for _ in here.tail(task_id=task.id, event="task.progress"):
            break
        await here.cancel(task.id, "not needed")
        (theirs,) = await remote.find()
        async for _ in remote.tail(task_id=theirs.id, event="task.cancelled"):
            break

    assert (await remote.get(theirs.id)).status.value == "cancelled"


async def test_a_key_goes_to_the_host_it_is_for_and_to_no_other(here: Yard, url: str):
    agent = Agent("proxy", poll_interval_sec=1)
    elsewhere_url = url.replace("127.0.0.1", "localhost")  # its card names where it was reached
    a2a_agent(agent, RemoteAgent(url=f"{elsewhere_url}/", key="secret", skill="write", poll_sec=0.1))
    task = await here.enqueue("any", max_attempts=1)
    async with working(here, agent):
        with pytest.raises(TaskFailed):
            await here.result(task.id, timeout=60)
