"""A token that works as an agent answers none of that agent's questions, over HTTP, MCP or A2A."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from taskyard.app import a2a_mount, mcp_mount
from taskyard.core.task import Status
from taskyard.ledger.clock import SystemClock
from taskyard.ledger.options import Options
from taskyard.stores.memory import MemoryStore
from taskyard.yard import Yard, local_yard
from tests.mcp.raw import Raw
from tests.server.calling import calling, client_of

YES = {"approved": True}
OWN = "does not answer its own question"


@asynccontextmanager
async def a_server(tmp_path: Path) -> AsyncGenerator[tuple[Yard, int]]:
    """A yard with every protocol that an answer may come by, and the port of its server."""
    async with local_yard(MemoryStore(clock=SystemClock()), Options(sweeps=False, transcripts=tmp_path)) as yard:
        await yard.a2a.publish("code", description="here")
        async with calling(yard, mcp=mcp_mount(), a2a=a2a_mount()) as client:
            assert client.base_url.port is not None
            yield yard, client.base_url.port


async def asked(*clients: httpx.AsyncClient, agent: str = "coder") -> str:
    """Claim a task as this agent, and ask, each client the same; the task."""
    claim = await clients[0].post("/api/tasks/claim", json={"agent_id": agent, "start": True})
    (held,) = claim.json()["tasks"]
    question = {"lease": held["lease"], "kind": "question", "name": "deploy", "question": "Deploy?"}
    for client in clients:
        suspended = await client.post(f"/api/tasks/{held['id']}/suspend", json=question)
        assert suspended.json()["over"] is False, suspended.text
    return str(held["id"])


async def responses_to_answers(yard: Yard, client: httpx.AsyncClient, task: str, token: str) -> dict[str, str]:
    """The responses to this token where it answers the task's question, by path or method: HTTP, MCP and A2A."""
    answer, signal = {"name": "deploy", "data": YES}, {"task_id": task, "signal": "deploy", "data": YES}
    shared, handle = (await yard.a2a.share(task)).handle, (await yard.handles.create(task)).handle
    (wanted,) = await yard.approvals.list(task_id=task)
    message: dict[str, Any] = {"taskId": shared, "messageId": "m", "role": "ROLE_USER", "parts": [{"data": YES}]}
    update = {f"deploy:{wanted.wait}": {"action": "accept", "content": YES}}
    raw = Raw(f"{client.base_url}/mcp", token)
    sent = {"message": message, "configuration": {"returnImmediately": True}}
    version = {"a2a-version": "1.0"}
    posted = {
        f"/api/tasks/{task}/answer": answer,
        f"/api/tasks/{task}/signal": answer,
        f"/api/a2a/tasks/{shared}/messages": {"message_id": "m", "content": YES},
        "/a2a/message:send": sent,
        "/a2a": {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": sent},
    }
    responses = {path: (await client.post(path, json=body, headers=version)).text for path, body in posted.items()}
    responses["answer_approval"] = str(await raw.call("answer_approval", **signal))
    responses["tasks/update"] = str(await raw.ask("tasks/update", taskId=handle, inputResponses=update))
    return responses


@pytest.mark.parametrize(("registers", "status"), [("own", 200), ("other", 403)])
async def test_neither_the_token_that_asked_nor_the_one_that_registered_the_agent_answers(
    tmp_path: Path, registers: str, status: int
):
    async with a_server(tmp_path) as (yard, port):
        await yard.enqueue("code")
        own, other = [(await yard.tokens.create(name, "orchestrator")).text for name in ("own", "other")]
        async with client_of(port, own) as client, client_of(port, other) as person:
            await (client if registers == "own" else person).post("/api/agents", json={"id": "coder"})
            task = await asked(client)
            responses = await responses_to_answers(yard, client, task, own)
            still = (await yard.get(task)).status
            answered = await person.post(f"/api/tasks/{task}/answer", json={"name": "deploy", "data": YES})

    assert {path: text for path, text in responses.items() if OWN not in text} == {}
    assert (still, answered.status_code) == (Status.PENDING, status)


async def test_no_token_that_asked_answers_whichever_of_them_asked_last(tmp_path: Path):
    async with a_server(tmp_path) as (yard, port):
        await yard.enqueue("code")
        await yard.agents.register("coder")
        tokens = [(await yard.tokens.create(name, "orchestrator")).text for name in ("one", "two", "third")]
        async with (
            client_of(port, tokens[0]) as one,
            client_of(port, tokens[1]) as two,
            client_of(port, tokens[2]) as other,
        ):
            task = await asked(one, two)
            responses = {
                (name, path): text
                for name, client, token in (("one", one, tokens[0]), ("two", two, tokens[1]))
                for path, text in (await responses_to_answers(yard, client, task, token)).items()
            }
            still = (await yard.get(task)).status
            answered = await other.post(f"/api/tasks/{task}/answer", json={"name": "deploy", "data": YES})

    assert {way: text for way, text in responses.items() if OWN not in text} == {}
    assert (still, answered.status_code) == (Status.PENDING, 200)
