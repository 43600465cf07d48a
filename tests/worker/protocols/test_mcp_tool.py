"""A tool of an MCP server does the work of an agent."""

import sys
from pathlib import Path

import pytest

import taskyard
from taskyard.app import Yard
from taskyard.core.errors import TaskFailed
from taskyard.worker.handlers import Agent
from taskyard.worker.protocols.mcp_tool import McpTool, mcp_agent
from tests.worker.conftest import working

SERVER = Path(__file__).parent / "tool_server.py"


def agent_with(tool: str) -> Agent:
    return mcp_agent(Agent("tools", poll_interval_sec=1), McpTool(words=[sys.executable, str(SERVER)], tool=tool))


@pytest.fixture
async def plain():
    async with taskyard.connect("memory://") as yard:
        yield yard


async def test_a_task_is_a_call_and_its_answer_the_output(plain: Yard):
    task = await plain.enqueue("any", prompt="hello", payload={"times": 2})
    async with working(plain, agent_with("shout")):
        assert await plain.result(task.id, timeout=60) == {"text": "HELLOHELLO"}


async def test_what_a_tool_asks_its_user_a_person_answers_here(plain: Yard):
    task = await plain.enqueue("any", payload={"site": "shop"})
    async with working(plain, agent_with("deploy")):
        async for _ in plain.tail(task_id=task.id, event="task.asked"):
            break
        (asked,) = await plain.approvals.list(task_id=task.id)
        await plain.approvals.answer(task.id, asked.signal, {"approved": True})
        output = await plain.result(task.id, timeout=60)

    assert asked.question is not None
    assert asked.question.text == "Deploy shop?"
    assert "shop: {'approved': True}" in str(output)


@pytest.mark.parametrize(("tool", "words"), [("fail", "Error executing tool fail"), ("unknown", "has no tool unknown")])
async def test_a_call_that_fails_fails_the_attempt(plain: Yard, tool: str, words: str):
    task = await plain.enqueue("any", max_attempts=1)
    async with working(plain, agent_with(tool)):
        with pytest.raises(TaskFailed):
            await plain.result(task.id, timeout=60)

    failure = (await plain.get(task.id)).failure
    assert failure is not None
    assert words in (failure.error or "")
