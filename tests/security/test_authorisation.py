"""Who may do what, over HTTP: the table of calls, tokens, what agents may say of themselves, and other sites' pages."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fastapi import APIRouter, Response
from fastapi.routing import APIRoute
from starlette.routing import Route, WebSocketRoute

import taskyard
from taskyard.api.calls import AT, CALLS
from taskyard.core.errors import InvalidInput
from taskyard.features.tokens.rules import Role
from taskyard.server.application import application
from taskyard.server.request import GuardedRoute
from taskyard.server.routing import RouteIndex
from taskyard.server.server import served, serving_of
from taskyard.yard import Yard
from tests.security.every_call import HTTP, OWN_GUARD, given_a_scene
from tests.security.policy import POLICY
from tests.server.calling import calling, client_of
from tests.yards import OpenYard, claim_that, given_an_agent


async def test_ids_of_another_workspace_are_unknown_inside_a_body_too(yard: Yard, open_yard: OpenYard):
    scene = await given_a_scene(yard)
    elsewhere = await open_yard(workspace="elsewhere")
    token = (await elsewhere.tokens.create("stranger", "admin")).text
    theirs, dag = scene.held.id, scene.names["dag_id"]
    item = {"task_id": theirs, "lease": scene.held.lease}
    async with calling(yard, token) as client:
        edge = await client.post("/api/tasks", json={"type": "code", "depends_on": [theirs]})
        graph = await client.post("/api/dags", json={"tasks": [{"type": "code", "depends_on": [theirs]}]})
        within = await client.post("/api/tasks", json={"type": "code", "dag_id": dag})
        below = await client.post("/api/tasks", json={"type": "code", "parent_id": theirs})
        again = await client.post("/api/tasks", json={"type": "code", "id": theirs})
        completed = await client.post("/api/tasks/complete", json={"results": [item]})
        failed = await client.post("/api/tasks/fail", json={"results": [item]})
        told = await client.post("/api/tasks/heartbeat", json={"heartbeats": [item]})
        lists = [await client.get("/api/tasks", params=which) for which in ({}, {"dag": dag}, {"parent": theirs})]
        bulk = await client.post("/api/tasks/bulk", json={"action": "cancel", "filter": {"dag_id": dag}})
        refers = await client.post("/api/tasks", json={"type": "code", "context_refs": [f"task:{theirs}:output"]})
        inputs = await client.get(f"/api/tasks/{refers.json()['task']['id']}/inputs")

    assert {edge.status_code, graph.status_code, within.status_code, below.status_code} <= {404, 422}
    assert again.status_code in (404, 409, 422), again.text
    assert [each.json()["results"][0]["error"]["code"] for each in (completed, failed)] == ["not_found", "not_found"]
    assert told.json()["told"][0]["words"] == ["lease_lost"]
    assert not any(theirs in answer.text for answer in lists)
    assert bulk.json()["task_ids"] == []
    assert inputs.json() == {"inputs": []}
    assert (await yard.get(theirs)).status == "running"


# Agents


async def test_an_agent_that_held_the_task_before_cannot_finish_it_with_the_next_ones_lease(yard: Yard):
    for name in ("ada", "bob"):
        await given_an_agent(yard, name)
    task = await yard.enqueue("code")
    first = await claim_that(yard, task.id, by="bob")
    await yard.release(first.id, first.lease)
    held = await claim_that(yard, task.id, by="ada", start=True)
    token = (await yard.tokens.create("bob", "agent", agent="bob")).text

    async with calling(yard, token) as client:
        answer = await client.post(f"/api/tasks/{held.id}/complete", json={"lease": held.lease})

    assert (answer.status_code, answer.json()["code"]) == (409, "lease_lost")


async def test_of_many_results_an_agent_hands_in_only_its_own(yard: Yard):
    for name in ("ada", "bob"):
        await given_an_agent(yard, name)
    tasks = [await yard.enqueue("code", dedup="none") for _ in range(2)]
    held = [
        await claim_that(yard, task.id, by=name, start=True) for task, name in zip(tasks, ("ada", "bob"), strict=True)
    ]
    items = [{"task_id": each.id, "lease": each.lease} for each in held]
    token = (await yard.tokens.create("bob", "agent", agent="bob")).text

    async with calling(yard, token) as client:
        told = await client.post("/api/tasks/heartbeat", json={"heartbeats": items})
        done = await client.post("/api/tasks/complete", json={"results": items})

    assert [each["words"] for each in told.json()["told"]] == [["lease_lost"], []]
    assert [each.get("status", each.get("error", {}).get("code")) for each in done.json()["results"]] == [
        "not_found",
        "completed",
    ]
    assert (await yard.get(held[0].id)).status == "running"


async def test_an_agent_finishes_its_own_task_and_may_say_so_twice(yard: Yard):
    scene = await given_a_scene(yard)
    token = (await yard.tokens.create("ada", "agent", agent="ada")).text
    lease = {"lease": scene.held.lease}
    async with calling(yard, token) as client:
        answers = [await client.post(f"/api/tasks/{scene.held.id}/complete", json=lease) for _ in range(2)]

    assert [answer.json()["status"] for answer in answers] == ["completed", "completed"]


async def test_a_token_for_a_type_of_agent_works_as_each_of_them(yard: Yard):
    await given_an_agent(yard, "coder-1", type="coder")
    held = await claim_that(yard, (await yard.enqueue("code")).id, by="coder-1", start=True)
    token = (await yard.tokens.create("coders", "agent", agent="coder")).text

    async with calling(yard, token) as client:
        answer = await client.post(f"/api/tasks/{held.id}/complete", json={"lease": held.lease})

    assert answer.status_code == 200


async def test_an_agent_reaches_its_own_inboxes_and_subagents_and_no_others(yard: Yard):
    await given_an_agent(yard, "ada")
    token = (await yard.tokens.create("ada", "agent", agent="ada")).text
    refused: list[int] = []
    async with calling(yard, token) as client:
        for agent in ("ada", "bob"):
            at = f"/api/inbox/{agent}/c1"
            put = await client.post(f"{at}/enqueue", json={"content": "hello"})
            took = await client.post(f"{at}/dequeue", json={})
            others = [
                await client.post(f"{at}/clear", json={}),
                await client.get(at),
                await client.get("/api/subagents", params={"parent": agent}),
            ]
            refused += [answer.status_code for answer in (put, took, *others)]
        everybodys = await client.get("/api/subagents")

    assert refused == [200] * 5 + [403] * 5
    assert everybodys.status_code == 403
    assert (await yard.inbox.list())[0].agent == "ada"


# The table


def test_the_policy_of_every_call_is_this_table():
    assert POLICY.keys() == CALLS.keys()
    for name, call in CALLS.items():
        assert {role.value for role in Role if call.allows(role)} == POLICY[name] - {"nobody"}, name
        assert (call.roles is None) == ("nobody" in POLICY[name]), name


def test_nobody_who_may_only_look_can_change_anything():
    assert [name for name, call in HTTP.items() if call.method != "GET" and call.allows(Role.VIEWER)] == []


async def test_an_agent_that_registers_again_keeps_the_budget_that_a_person_gave_it(yard: Yard):
    token = (await yard.tokens.create("t", "agent", agent="coder")).text
    async with calling(yard, token) as client:
        await client.post("/api/agents", json={"id": "coder", "budget_usd": 1})
        await yard.agents.set_budget("coder", 2)

        again = await client.post("/api/agents", json={"id": "coder", "budget_usd": 1000, "orchestrator": True})

    assert (again.json()["budget_usd"], again.json()["orchestrator"]) == ("2", False)


async def test_an_agent_that_is_to_drain_cannot_end_that_by_registering(yard: Yard):
    token = (await yard.tokens.create("t", "agent", agent="coder")).text
    async with calling(yard, token) as client:
        await client.post("/api/agents", json={"id": "coder"})
        await yard.agents.drain("coder")

        assert (await client.post("/api/agents", json={"id": "coder"})).status_code == 403
    assert (await yard.agents.get("coder")).status == "draining"


@pytest.mark.parametrize(
    ("asked", "refused_as"),
    [({"id": "planner"}, "identity_taken"), ({"id": "coder-2", "runtime_id": "theirs"}, "forbidden")],
)
async def test_an_agent_takes_neither_the_name_nor_the_runtime_of_another(
    yard: Yard, asked: dict[str, str], refused_as: str
):
    await yard.agents.register("planner", "planner", runtime_id="theirs")
    token = (await yard.tokens.create("t", "agent", agent="coder")).text

    async with calling(yard, token) as client:
        answer = await client.post("/api/agents", json={"type": "coder", **asked})

    assert answer.json()["code"] == refused_as


async def test_every_call_has_a_route_and_every_route_is_a_call(yard: Yard):
    app = application(await serving_of(yard, host="127.0.0.1"))
    http = [(method, route.path) for route in app.routes if isinstance(route, Route) for method in route.methods or ()]
    sockets = [("WEBSOCKET", route.path) for route in app.routes if isinstance(route, WebSocketRoute)]
    served_at = {(method, path) for method, path in [*http, *sockets] if method != "HEAD"}

    assert served_at == AT.keys()


async def test_every_route_that_shows_anything_is_guarded(yard: Yard):
    app = application(await serving_of(yard, host="127.0.0.1"))

    unguarded = [route for route in app.routes if not isinstance(route, GuardedRoute | RouteIndex)]

    assert {getattr(route, "path", None) for route in unguarded} <= OWN_GUARD
    assert not any(isinstance(route, APIRoute) for route in unguarded)


def test_a_route_that_is_not_in_the_table_cannot_be_built():
    async def unheard_of() -> Response:
        return Response()

    with pytest.raises(KeyError):
        APIRouter(route_class=GuardedRoute).add_api_route("/api/unheard-of", unheard_of, methods=["GET"])


# Tokens


async def test_a_token_ends_at_once_when_it_is_revoked(yard: Yard):
    issued, admin = await yard.tokens.create("ada", "viewer"), await yard.tokens.create("root", "admin")
    async with (
        served(yard) as server,
        client_of(server.port, issued.text) as client,
        client_of(server.port, admin.text) as root,
    ):
        before = await client.get("/api/stats")
        await root.delete(f"/api/tokens/{issued.token.id}")
        after = await client.get("/api/stats")

    assert [before.status_code, after.status_code] == [200, 401]


async def test_the_secret_of_a_token_is_nowhere_in_the_store(tmp_path: Path):
    file = tmp_path / "yard.db"
    async with taskyard.connect(f"sqlite:///{file}") as yard:
        issued = await yard.tokens.create("ada", "admin")
        held = await claim_that(yard, (await yard.enqueue("code")).id, by=await given_an_agent(yard))
        stored = await asyncio.to_thread(lambda: b"".join(path.read_bytes() for path in tmp_path.iterdir()))

    assert issued.token.id.encode() in stored
    assert issued.text[-43:].encode() not in stored
    assert held.lease.encode() not in stored


async def test_without_a_token_the_server_listens_on_loopback_only(yard: Yard):
    with pytest.raises(InvalidInput, match="loopback"):
        await serving_of(yard, host="0.0.0.0")

    await yard.tokens.create("ada", "admin")

    assert not (await serving_of(yard, host="0.0.0.0")).is_open


async def test_the_first_token_closes_a_server_that_was_open(yard: Yard):
    async with calling(yard) as client:
        before = await client.get("/api/stats")
        await client.post("/api/tokens", json={"name": "ada", "role": "admin"})
        after = await client.get("/api/stats")

    assert [before.status_code, after.status_code] == [200, 401]


# Browsers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": ""}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 201),
        ({"sec-fetch-site": "none"}, 201),
    ],
)
async def test_a_page_of_another_site_changes_nothing(yard: Yard, headers: dict[str, str], status: int):
    async with calling(yard) as client:
        answer = await client.post("/api/tasks", json={"type": "code"}, headers=headers)

    assert answer.status_code == status
    assert len(await yard.find()) == (status == 201)


async def test_a_name_that_was_made_to_point_here_shows_nothing(yard: Yard):
    async with calling(yard) as client:
        answer = await client.get("/api/tasks", headers={"host": "rebound.example:8420"})

    assert answer.status_code == 403


async def test_the_page_of_the_server_itself_may_change_things(yard: Yard):
    async with calling(yard) as client:
        origin = str(client.base_url).rstrip("/")
        answer = await client.post("/api/tasks", json={"type": "code"}, headers={"origin": origin})

    assert answer.status_code == 201
