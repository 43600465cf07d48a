"""Questions to people, asked and answered by MCP clients: the same that the dashboard and the command line have."""

from typing import Any

import pytest

import taskyard
from taskyard.app import Yard
from taskyard.core.errors import InvalidInput
from taskyard.features.approvals.rules import DECISION
from taskyard.mcp.elicitation import form_of
from tests.mcp.clients import answer_of, http, serving, text_of
from tests.mcp.test_tasks_extension import fastmcp
from tests.worker.conftest import working
from tests.yards import given_a_running_task

CHOICES: dict[str, Any] = {"oneOf": [{"const": "eu", "title": "Europe"}, {"const": "us", "title": "America"}]}
NESTED = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "integer"}}}}
PLAIN = {"type": "object", "properties": {"version": {"type": "string"}}, "required": ["version"]}


@pytest.mark.parametrize(
    ("asked", "shown", "sent", "read"),
    [
        ({}, DECISION, {"approved": True}, {"approved": True}),
        ({"answer_schema": PLAIN}, PLAIN, {"version": "2"}, {"version": "2"}),
        (
            {"choices": ["yes", "no"]},
            {
                "type": "object",
                "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
                "required": ["answer"],
            },
            {"answer": "yes"},
            "yes",
        ),
        (
            {"answer_schema": {"type": "integer"}},
            {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]},
            {"answer": 3},
            3,
        ),
        (
            {"answer_schema": {"type": "object", "properties": {"region": CHOICES}}},
            {"type": "object", "properties": {"region": {"type": "string", **CHOICES}}},
            {"region": "eu"},
            {"region": "eu"},
        ),
        (
            {"answer_schema": NESTED},
            {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]},
            {"answer": '{"items": [1]}'},
            {"items": [1]},
        ),
    ],
)
async def test_a_form_of_mcp_holds_any_question(live: Yard, asked: Any, shown: Any, sent: Any, read: Any):
    held = await given_a_running_task(live)  # pyright: ignore[reportArgumentType]
    await live.attempts.ask(held.id, held.lease, "ask", "Which?", **asked)
    (wanted,) = await live.approvals.list()

    form = form_of(wanted)

    assert form.message.startswith("Which?")
    assert (form.schema, form.read(sent)) == (shown, read)
    if form.is_text:
        with pytest.raises(InvalidInput, match="JSON"):
            form.read({"answer": "{"})


async def test_the_user_of_a_client_is_asked_with_the_form_of_the_question(live: Yard):
    agent = taskyard.Agent("deployer", poll_interval_sec=1)
    shown: list[tuple[str, Any]] = []

    @agent.handles("deploy")
    async def deploy(task: taskyard.Context) -> Any:
        return await task.ask("Where to?", choices=["here", "there"])

    async def chooses(message: str, _: Any, params: Any, *__: Any) -> dict[str, Any]:
        shown.append((message, params.requested_schema["properties"]["answer"]["enum"]))
        return {"answer": "there"}

    async with serving(live) as url, working(live, agent), fastmcp(url, elicitation_handler=chooses) as client:
        done = await client.call_tool("run_task", {"type": "deploy"})

    assert shown == [("Where to?", ["here", "there"])]
    assert done.structured_content is not None
    assert done.structured_content["output"] == "there"


async def test_an_agent_asks_and_somebody_else_answers(live: Yard):
    async with serving(live) as url, http(url, None, "auto") as agent:
        answer_of(await agent.call_tool("enqueue_task", {"type": "code"}))
        held = answer_of(await agent.call_tool("claim_task", {"agent": "coder"}))
        mine = {"task_id": held["task_id"], "lease": held["lease"]}
        question = {"question": "Merge it?", "choices": ["yes", "no"], "signal": "merge"}
        asked = answer_of(await agent.call_tool("ask_human", {**mine, **question}))
        (listed,) = answer_of(await agent.call_tool("list_approvals", {}))["approvals"]
        answer = {"task_id": held["task_id"], "signal": "merge", "data": "yes"}
        own = await agent.call_tool("answer_approval", answer)
        await live.approvals.answer(held["task_id"], "merge", "yes", by="human:ada")
        again = answer_of(await agent.call_tool("claim_task", {"agent": "coder"}))
        heard = answer_of(await agent.call_tool("ask_human", {**mine, "lease": again["lease"], **question}))

    assert asked["suspended"]
    assert (listed["question"], listed["answer_schema"]) == ("Merge it?", {"enum": ["yes", "no"]})
    assert text_of(own).startswith("forbidden: ")
    assert (heard["answer"], heard["suspended"]) == ("yes", False)
