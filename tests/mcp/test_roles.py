"""Who sees which tool, and that a token does by MCP what it may do by HTTP and nothing else."""

from collections.abc import Mapping
from typing import Any

import pytest

from taskyard.features.tokens.rules import Role
from taskyard.mcp.catalogue import TOOLS
from taskyard.yard import Yard
from tests.mcp.clients import http, names_of_tools, serving, text_of
from tests.mcp.raw import Raw
from tests.yards import OpenYard, claim_that, given_an_agent

# Written down a second time, on purpose: a tool that is new, or shown to others, is looked at twice.
LOOKING = "viewer orchestrator operator admin"
SHOWN: Mapping[str, str] = {
    LOOKING: "find_tasks list_approvals list_dead_letters yard_overview spend_report",
    f"{LOOKING} agent": "get_task why_waiting wait_for_task read_artifact search_memory",
    "agent orchestrator operator admin": """
        claim_task heartbeat complete_task fail_task release_task save_checkpoint spawn_tasks ask_human
        put_task_artifact inbox_send inbox_next inbox_consume
    """,
    "orchestrator operator admin": """
        enqueue_task run_task cancel_task rerun_task set_priority submit_dag add_tasks answer_approval
        resolve_dead_letter put_artifact
    """,
    "operator admin": "pause_queue resume_queue",
}
ROLES_OF = {tool: set(roles.split()) for roles, tools in SHOWN.items() for tool in tools.split()}
HIDDEN = "the title of a task of others"  # in no description of a tool
TOOLSETS = {
    "producer": ["complete_task", "pause_queue", "resolve_dead_letter", "claim_task"],
    "worker": ["enqueue_task", "find_tasks", "resolve_dead_letter"],
    "operator": ["claim_task", "enqueue_task", "submit_dag"],
}


def sound(tool: str, names: Mapping[str, str]) -> dict[str, Any]:
    """Arguments that are refused for nothing but who asks."""
    known: dict[str, Any] = {
        **names,
        "type": "code",
        "reason": "crash",
        "error": "no",
        "priority": 5,
        "tasks": [{"type": "code", "name": "a"}],
        "name": "step",
        "question": "Go on?",
        "resolution": "retry",
        "confirmed": True,
        "queue": "default",
        "text": "hello",
        "artifact_id": "art_01J8ZZZZZZZZZZZZZZZZZZZZZZ",
        "agent": "ada",
        "content": "hello",
        "batch_id": "b",
        "signal": "go",
        "wait_sec": 0,
        "timeout_sec": 0,
    }
    schema = TOOLS[tool].listed.input_schema
    wanted = {*schema.get("required", ()), "text", "wait_sec", "timeout_sec"} & schema["properties"].keys()
    return {name: known[name] for name in wanted - ({"timeout_sec"} if tool == "ask_human" else set())}


async def a_scene(yard: Yard) -> dict[str, str]:
    await given_an_agent(yard, "ada")
    dag = await yard.submit({"tasks": [{"type": "code", "name": "first", "title": HIDDEN}]})
    held = await claim_that(yard, dag.tasks["first"].id, by="ada", start=True)
    return {"task_id": held.id, "lease": held.lease, "dag_id": dag.id}


def test_every_tool_is_in_the_table():
    assert ROLES_OF.keys() == TOOLS.keys()


@pytest.mark.parametrize("role", Role)
async def test_a_role_sees_its_tools_and_can_call_no_other(yard: Yard, role: Role):
    names = await a_scene(yard)
    token = (await yard.tokens.create("caller", role, agent="ada" if role is Role.AGENT else None)).text
    wrong: dict[str, str] = {}
    async with serving(yard) as url, http(url, token) as client:
        assert await names_of_tools(client) == {tool for tool, roles in ROLES_OF.items() if role.value in roles}
        for tool, roles in ROLES_OF.items():
            answer = await Raw(url, token, extensions={}).call(tool, **sound(tool, names))
            if ("forbidden:" in str(answer)) == (role.value in roles):
                wrong[tool] = str(answer)

    assert wrong == {}


@pytest.mark.parametrize("toolset", TOOLSETS)
async def test_fewer_tools_can_be_asked_for(yard: Yard, toolset: str):
    async with serving(yard) as url, http(f"{url}?role={toolset}") as client:
        shown = await names_of_tools(client)
        refused = await client.call_tool(TOOLSETS[toolset][0], {})
    async with serving(yard) as url:
        unknown = await Raw(f"{url}?role=king").ask("tools/list")

    assert shown.isdisjoint(TOOLSETS[toolset])
    assert shown < TOOLS.keys()
    assert text_of(refused).startswith("forbidden: ")
    assert unknown["error"]["code"] == -32602


async def test_nothing_of_one_workspace_is_reached_from_another(open_yard: OpenYard):
    here, there = await open_yard(), await open_yard(workspace="there")
    names = await a_scene(here)
    handle = await here.handles.create(names["task_id"])
    token = (await there.tokens.create("stranger", "admin")).text
    before = (await here.get(names["task_id"])).version
    async with serving(here) as url:
        raw = Raw(url, token)
        heard = [await raw.call(tool, **sound(tool, names)) for tool in TOOLS]
        heard += [await raw.ask(f"tasks/{verb}", taskId=handle.handle, inputResponses={}) for verb in ("get", "cancel")]
        uris = [f"yard://tasks/{names['task_id']}", f"yard://dags/{names['dag_id']}", "yard://overview"]
        heard += [await raw.ask("resources/read", uri=uri) for uri in uris]

    assert HIDDEN not in str(heard)
    assert (await here.get(names["task_id"])).version == before
    assert [row.id for row in await here.tasks.rows()] == [names["task_id"]]


async def test_an_agent_touches_only_what_it_holds(yard: Yard):
    names = await a_scene(yard)
    token = (await yard.tokens.create("bob", "agent", agent="bob")).text
    async with serving(yard) as url:
        raw = Raw(url, token)
        looked = await raw.call("get_task", task_id=names["task_id"])
        taken = await raw.call("complete_task", task_id=names["task_id"], lease=names["lease"])
        as_ada = await raw.call("claim_task", agent="ada")

    assert [each["result"]["isError"] for each in (looked, taken, as_ada)] == [True] * 3
    assert (await yard.get(names["task_id"])).status.value == "running"


async def test_a_revoked_token_ends_at_once(yard: Yard):
    issued = await yard.tokens.create("caller", "admin")
    async with serving(yard) as url:
        raw = Raw(url, issued.text)
        before = await raw.send("tools/list")
        await yard.tokens.revoke(issued.token.id)
        after = await raw.send("tools/list")

    assert (before.status_code, after.status_code) == (200, 401)
