"""Every call of the table over HTTP, as something that anybody may try: a scene that the paths name, and one call."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from taskyard.api.calls import CALLS, Call
from taskyard.client.transport.http_client import HttpAnswer, HttpClient, HttpRequest, HttpServer, http_server
from taskyard.features.artifacts.views import LEASE
from taskyard.features.tasks.views import Held
from taskyard.features.tokens.rules import Role
from taskyard.server.server import served
from taskyard.yard import Yard
from tests.yards import claim_that, given_an_agent

# The first three ask for themselves, MCP and A2A are made of other calls (tests/mcp, tests/a2a), the rest show nothing.
OPEN = (
    "SOCKET LINK LOG_IN DELIVER MCP MCP_METADATA OIDC_START OIDC_CALLBACK PAGE DOCUMENT DOCS A2A_CARD A2A_RPC A2A_SEND"
)
OWN_GUARD = {CALLS[name].path for name in OPEN.split()}
HTTP = {name: call for name, call in CALLS.items() if call.path not in OWN_GUARD}

# What makes a call about one task sound, so that it is refused for nothing else.
BODIES: dict[str, dict[str, Any]] = {
    "PROGRESS": {"progress": 1},
    "MESSAGE": {"message": "hello"},
    "APPEND": {"chunks": [{"text": "hello"}], "request_id": "r"},
    "SESSION": {"session_id": "s"},
    "SPAWN": {"name": "n", "tasks": [{"type": "code"}]},
    "CHECKPOINT": {"name": "n"},
    "SUSPEND": {"kind": "snooze", "duration_sec": 1},
    "SIGNAL": {"name": "approved"},
    "JOIN_BATCH": {"name": "n", "provider": "p", "group": "g", "request": {}},
    "SENT_BATCH": {"key": "k", "provider_id": "p", "calls": 1},
    "COLLECT_BATCH": {"results": []},
    "ANSWER": {"name": "approved", "data": True},
    "PRIORITY": {"priority": 5},
    "RESOLVE": {"resolution": "retry"},
    "ADD": {"tasks": [{"type": "code"}]},
    "DAG_BUDGET": {"budget_ceiling_usd": 1},
    "DAG_LIMIT": {"max_tasks": 1},
    "AGENT_BUDGET": {"budget_usd": 1},
    "GRANT": {"slots": 1},
    "FIRE_TRIGGER": {"data": {}},
    "MOVE_CUTOVER": {"phase": "dual_write"},
    "REPORT_CUTOVER": {"phase": "dual_write"},
    "MESSAGE_AGENT_TASK": {"message_id": "m", "content": "x"},
    "SET_PUSH": {"url": "https://example.com"},
    "SPAWN_SUBAGENT": {"name": "scout", "type": "explore", "prompt": "Look"},
}
QUERIES = {
    "EVENTS": "?task_id={task_id}",
    "SUBAGENTS": "?parent=ada",
    "APPROVAL": "?name=n",
    "CHILDREN": "?name=n",
}
SILENCE = 20.0  # seconds
LEASED = {name for name, call in CALLS.items() if "{task_id}" in call.path and Role.AGENT in (call.roles or ())}


class Scene(NamedTuple):
    """A task that ada holds, and what else a path may name."""

    held: Held
    names: dict[str, str]


async def given_a_scene(yard: Yard) -> Scene:
    await given_an_agent(yard, "ada", runtime_id="machine")
    await yard.runtimes.register("machine")
    dag = await yard.submit({"tasks": [{"type": "code", "name": "first", "subject": "issue:7"}]})
    held = await claim_that(yard, dag.tasks["first"].id, by="ada", start=True)
    await yard.schedules.add("nightly", "@daily", task={"type": "code"})
    await yard.triggers.add("reports", "webhook", ready_made="json")
    spare = await yard.tokens.create("spare", "viewer")
    names = {
        "task_id": held.id, "dag_id": dag.id, "agent_id": "ada", "runtime_id": "machine", "queue": "default",
        "type": "code", "token_id": spare.token.id, "issue_id": "7", "schedule_id": "nightly", "trigger_id": "reports",
        "agent": "ada", "conversation": "c1", "handle": "unguessable", "name": "report.md", "notification_id": "1.ops",
        "artifact_id": "art_01J8ZZZZZZZZZZZZZZZZZZZZZZ", "push_id": "p", "batch_id": held.id,
    }  # fmt: skip
    return Scene(held, names)


class Caller:
    """Somebody with a token, or without one, who makes calls in the scene.

    The client is the product's own below its verbs: it sends what it is given, and takes a third of httpx's time.
    """

    def __init__(self, scene: Scene, server: HttpServer, client: HttpClient, token: str | None) -> None:
        self._scene = scene
        self._server = server
        self._client = client
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}

    async def make(self, name: str) -> HttpAnswer:
        call, held = HTTP[name], self._scene.held
        is_leased = name in LEASED
        body = {**BODIES.get(name, {}), **({"lease": held.lease} if is_leased else {})}
        headers = {**self._headers, "content-type": "application/json", **({LEASE: held.lease} if is_leased else {})}
        target = call.to(**names_in(call, self._scene)) + QUERIES.get(name, "").format(task_id=held.id)
        content = json.dumps(body).encode() if call.method in ("POST", "PUT") else None
        return await self._client.ask(HttpRequest(self._server, call.method, target, headers, content, SILENCE))


@asynccontextmanager
async def callers(yard: Yard, scene: Scene, **options: Any) -> AsyncGenerator[Callable[[str | None], Caller]]:
    """Callers of one server, by their tokens."""
    client = HttpClient(most=2, idle_sec=SILENCE, reached_within=SILENCE)
    async with served(yard, **options) as server:
        at = http_server(f"http://127.0.0.1:{server.port}")
        try:
            yield lambda token: Caller(scene, at, client, token)
        finally:
            await client.close()


def names_in(call: Call, scene: Scene) -> dict[str, str]:
    return {name: value for name, value in scene.names.items() if f"{{{name}}}" in call.path}
