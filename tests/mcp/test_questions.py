"""Questions to people, asked and answered by MCP clients: the same that the dashboard and the command line have."""

import json
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Literal

import pytest
from mcp_types._v2025_11_25 import PrimitiveSchemaDefinition
from pydantic import BaseModel, Field, TypeAdapter

import taskyard
from taskyard.app import Yard
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.features.approvals.rules import DECISION
from taskyard.mcp.elicitation import form_of
from tests.mcp.clients import answer_of, http, serving, text_of
from tests.mcp.test_tasks_extension import fastmcp
from tests.worker.conftest import working
from tests.yards import given_a_running_task

CHOICES: dict[str, Any] = {"oneOf": [{"const": "eu", "title": "Europe"}, {"const": "us", "title": "America"}]}
ITEMS: dict[str, Any] = {"description": "Which.", "type": "array", "items": {"type": "integer"}}
NESTED: dict[str, Any] = {"type": "object", "properties": {"items": ITEMS}}
PLAIN = {"type": "object", "properties": {"version": {"type": "string"}}, "required": ["version"]}


def in_json(schema: dict[str, Any], about: str = "") -> dict[str, Any]:
    rest = json.dumps({name: each for name, each in schema.items() if name != "description"})
    return {"type": "string", "description": f"{about}JSON that fits this schema: {rest}"}


def wrapped(answer: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}


ANY_OBJECT = wrapped(in_json({"type": "object"}))
ANYTHING = wrapped({"type": "string", "description": "JSON"})


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
            {"type": "object", "properties": {"items": in_json(NESTED["properties"]["items"], "Which.\n\n")}},
            {"items": "[1]"},
            {"items": [1]},
        ),
        ({"answer_schema": {"type": "object"}}, ANY_OBJECT, {"answer": '{"a": 1}'}, {"a": 1}),
        ({"answer_schema": {}}, ANYTHING, {"answer": "whatever"}, "whatever"),
    ],
)
async def test_a_form_of_mcp_holds_any_question(live: Yard, asked: Any, shown: Any, sent: Any, read: Any):
    held = await given_a_running_task(live)  # pyright: ignore[reportArgumentType]
    await live.attempts.ask(held.id, held.lease, "ask", "Which?", **asked)
    (wanted,) = await live.approvals.list()

    form = form_of(wanted)

    assert form.message.startswith("Which?")
    assert (form.schema, form.read(sent)) == (shown, read)
    for name in form.in_json:
        with pytest.raises(InvalidInput, match="JSON"):
            form.read({name: "{"})


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str


class Order(BaseModel):
    """Nearly everything that a class may have."""

    name: str = Field(min_length=1, max_length=300)
    colour: Colour
    extras: list[Colour] = []
    size: Literal[1, 2, 3]
    needed: int | None
    price: Decimal
    day: date
    hour: time | None = None
    at: datetime
    plan: str = Field(default="artifact:none", json_schema_extra={"format": "binary"})
    ok: bool = False
    home: Address
    version: Literal["v1"]


@pytest.mark.parametrize(
    "schema",
    [
        Order.model_json_schema(),
        {"type": ["string", "null"]},
        {"type": "integer", "enum": [1, 2], "default": None},
        {"oneOf": [{"const": "a"}, {"const": "b", "title": "B"}], "default": 3},
        {"type": "array", "items": CHOICES},
        {"type": "object", "properties": {"any": True, "none": {"type": "string", "default": None}}},
    ],
)
async def test_a_form_of_mcp_is_one_that_every_client_takes(live: Yard, schema: dict[str, Any]):
    held = await given_a_running_task(live)  # pyright: ignore[reportArgumentType]
    await live.attempts.ask(held.id, held.lease, "ask", "Which?", answer_schema=schema)
    (wanted,) = await live.approvals.list()

    for field in form_of(wanted).schema["properties"].values():
        TypeAdapter[Any](PrimitiveSchemaDefinition).validate_python(field)
        assert ("enum" in field) <= (field["type"] == "string")


async def test_only_what_is_nested_is_asked_for_in_json(live: Yard):
    held = await given_a_running_task(live)  # pyright: ignore[reportArgumentType]
    await live.attempts.ask(held.id, held.lease, "ask", "Which?", answer_schema=Order.model_json_schema())
    (wanted,) = await live.approvals.list()
    form = form_of(wanted)

    assert form.in_json == {"needed", "price", "home"}
    assert form.schema["properties"]["size"]["description"] == "The answer must be one of 1, 2, 3."
    assert form.schema["properties"]["hour"]["description"].startswith("The answer must be a time with its zone")
    filled_in: Json = {
        "name": "Ada", "colour": "red", "extras": ["blue"], "size": 2, "needed": "null", "price": "2.50",
        "day": "2026-03-01", "at": "2026-03-01T09:30:00Z", "home": '{"street": "Elm 7"}', "version": "v1",
    }  # fmt: skip
    await live.approvals.answer(held.id, "ask", form.read(filled_in))
    found = (await live.approvals.get(held.id, "ask")).question
    assert found is not None
    assert found.answered is not None
    assert Order.model_validate(found.answered.data).home == Address(street="Elm 7")


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
