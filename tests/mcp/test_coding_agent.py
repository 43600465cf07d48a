"""A coding agent's command line, as npm has it, works through a graph: MCP is all that it knows of the yard.

Its model is an endpoint in this process that plays a script, so that what is said is known and costs nothing.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.get_coding_agent import PROGRAM, bring
from scripts.node import command
from taskyard.app import Yard, connect
from tests.mcp.clients import serving
from tests.mcp.conftest import SERVED
from tests.mcp.scripted_model import Script, ScriptedModel, ToolCall, playing
from tests.storage import give_back, take, url_of

GRAPH: list[dict[str, Any]] = [
    {"name": "read", "type": "code", "prompt": "Read the issue"},
    {"name": "write", "type": "code", "prompt": "Write the fix", "depends_on": ["read"]},
    {"name": "test", "type": "code", "prompt": "Write the test", "depends_on": ["read"]},
    {"name": "merge", "type": "code", "prompt": "Merge both", "depends_on": ["write", "test"]},
]
ANSWER = {"approved": True, "comment": "go on"}


@pytest.fixture(scope="module", autouse=True)
def brought() -> None:
    bring()


def plan_and_work() -> Script:
    """A model that plans a graph, and then works as an agent until nothing is left."""
    submitted = yield ToolCall("submit_dag", {"title": "Fix the issue", "tasks": GRAPH})
    done = 0
    while (held := (yield ToolCall("claim_task", {"types": ["code"]})))["claimed"]:
        mine = {"task_id": held["task_id"], "lease": held["lease"]}
        yield ToolCall("heartbeat", {**mine, "progress": 0.5, "note": held["prompt"]})
        after = sorted(each["data"]["did"] for each in held["inputs"])
        yield ToolCall("complete_task", {**mine, "output": {"did": held["prompt"], "after": after}})
        done += 1
    found = yield ToolCall("find_tasks", {"dag_id": submitted["dag_id"], "status": "completed"})
    return f"{done} done, {len(found['tasks'])} found"


def work_and_ask() -> Script:
    """A model that fails at its first try, and asks a person before it hands its result in."""
    held = yield ToolCall("claim_task", {})
    mine = {"task_id": held["task_id"], "lease": held["lease"]}
    yield ToolCall("fail_task", {**mine, "reason": "agent_error", "error": "the disk was full"})
    answer: dict[str, Any] = {"suspended": True}
    while answer["suspended"]:
        held = yield ToolCall("claim_task", {"wait_sec": 30})
        mine = {"task_id": held["task_id"], "lease": held["lease"]}
        answer = yield ToolCall("ask_human", {**mine, "question": "Merge it?"})
    failed = [each["error"] for each in held["previous_attempts"] if each["error"]]
    yield ToolCall("complete_task", {**mine, "output": {"answer": answer["answer"], "failed": failed}})
    return "merged"


async def run_agent(folder: Path, server: dict[str, Any], script: Script, prompt: str) -> tuple[str, ScriptedModel]:
    """What the agent printed at its end, and the model that it talked to."""
    with playing(script) as (address, model):
        config = folder / "agent.yaml"
        endpoint = {"provider": "openai", "model": "scripted", "apiBase": address, "apiKey": "none"}
        models = [{"name": "scripted", **endpoint, "roles": ["chat"], "capabilities": ["tool_use"]}]
        servers = [{"name": "taskyard", **server}]
        # YAML, of which JSON is a part.
        config.write_text(
            json.dumps({"name": "tests", "version": "1.0.0", "schema": "v1", "models": models, "mcpServers": servers})
        )
        words, environment = command("node", str(PROGRAM), "--config", str(config), "--auto", "-p", prompt)
        program = await asyncio.create_subprocess_exec(
            *words,
            cwd=folder,
            env={**environment, "HOME": str(folder), "CONTINUE_TELEMETRY_ENABLED": "0"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(90):
                said, _ = await program.communicate()
        finally:
            if program.returncode is None:
                program.kill()
                await program.communicate()
    assert model.errors == []
    return said.decode().strip(), model


async def approves(yard: Yard) -> None:
    """A person who says yes to the first question."""
    async for stored in yard.tail():
        if stored.event.event == "task.suspended":
            (approval,) = await yard.approvals.list()
            await yard.signal(approval.task.id, approval.signal, dict(ANSWER), wait=approval.wait)
            return


@pytest.mark.parametrize("store", SERVED[:1])
async def test_it_plans_a_graph_and_works_through_it_over_stdio(store: str, tmp_path: Path):
    take(store, tmp_path)
    url = url_of(store, tmp_path)
    server = {
        "command": sys.executable,
        "args": ["-m", "taskyard", "mcp", "--agent", "coder-1"],
        "env": {**os.environ, "TASKYARD_URL": url},
    }
    said, model = await run_agent(tmp_path, server, plan_and_work(), "Fix the issue with the yard's tools.")

    async with connect(url, sweeps=False) as yard:
        tasks = [await yard.get(each.id) for each in await yard.find()]
        (dag,) = await yard.dags.list()
        verified = await yard.verify()
    assert said == "4 done, 4 found"
    assert {"claim_task", "submit_dag", "complete_task"} <= model.tools
    assert {task.prompt: task.result for task in tasks} == {
        "Read the issue": _done("Read the issue"),
        "Write the fix": _done("Write the fix", "Read the issue"),
        "Write the test": _done("Write the test", "Read the issue"),
        "Merge both": _done("Merge both", "Write the fix", "Write the test"),
    }
    assert {task.agent for task in tasks} == {"coder-1"}
    assert dag.status == "completed"
    assert verified.ok, str(verified)
    give_back(store, tmp_path)


@pytest.mark.parametrize("live", SERVED[-1:], indirect=True)
async def test_it_works_over_http_with_a_token_fails_and_asks_a_person(live: Yard, tmp_path: Path):
    token = (await live.tokens.create("coder", "agent", agent="coder")).text
    retry = {"strategy": "fixed", "initial_delay_sec": 0, "jitter": 0}
    task = await live.enqueue("code", prompt="Merge it", retry=retry)
    person = asyncio.create_task(approves(live))
    async with serving(live) as url:
        options = {"headers": {"Authorization": f"Bearer {token}"}}
        server = {"type": "streamable-http", "url": f"{url}?role=worker", "requestOptions": options}
        said, model = await run_agent(tmp_path, server, work_and_ask(), "Work for the yard.")
    await person

    stored = await live.get(task.id)
    assert said == "merged"
    assert "enqueue_task" not in model.tools
    assert (stored.status.value, stored.agent) == ("completed", "coder-mcp")
    assert stored.result == {"answer": ANSWER, "failed": ["the disk was full"]}
    assert [each.outcome.value for each in stored.attempts] == ["failed", "suspended", "completed"]


def _done(what: str, *after: str) -> dict[str, Any]:
    return {"did": what, "after": [*after]}
