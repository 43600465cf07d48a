"""A token does over A2A what it may do over HTTP, in its own workspace, within the bounds of a request."""

import asyncio
from typing import Any

import httpx
import pytest
from a2a.types.a2a_pb2 import ListTasksRequest, SubscribeToTaskRequest

from taskyard.features.tokens.rules import Role
from taskyard.yard import Yard
from tests.a2a.clients import BINDINGS, client, get, message, send, serving, state_of
from tests.yards import OpenYard

HEADERS = {"a2a-version": "1.0"}
SENT: dict[str, Any] = {
    "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]},
    "configuration": {"returnImmediately": True},
}


@pytest.fixture
async def published(open_yard: OpenYard) -> Yard:
    yard = await open_yard()
    await yard.a2a.publish("code", description="here")
    return yard


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@pytest.mark.parametrize(
    ("role", "may_read", "may_send"),
    [
        (Role.VIEWER, True, False),
        (Role.AGENT, False, False),
        *((role, True, True) for role in (Role.ORCHESTRATOR, Role.OPERATOR, Role.ADMIN)),
    ],
)
async def test_a_role_does_what_it_may_do_over_http(published: Yard, role: Role, may_read: bool, may_send: bool):
    token = (await published.tokens.create("t", role, agent="ada" if role is Role.AGENT else None)).text
    headers = {**HEADERS, "authorization": f"Bearer {token}"}
    async with serving(published) as url, httpx.AsyncClient(base_url=url, headers=headers) as network:
        read = await network.get("/a2a/tasks")
        sent = await network.post("/a2a/message:send", json=SENT)
        called = await network.post("/a2a", json=rpc("SendMessage", **SENT))
        listed = await network.post("/a2a", json=rpc("ListTasks"))

    assert read.status_code == (200 if may_read else 403)
    assert sent.status_code == (200 if may_send else 403)
    assert ("result" in called.json()) == may_send
    assert ("result" in listed.json()) == may_read
    assert len(await published.find()) == int(may_send)


async def test_the_address_of_the_card_may_end_with_a_slash(published: Yard):
    viewer = (await published.tokens.create("v", Role.VIEWER)).text
    headers = {**HEADERS, "authorization": f"Bearer {viewer}"}
    async with serving(published) as url, httpx.AsyncClient(base_url=url, headers=headers) as network:
        listed = await network.post("/a2a/", json=rpc("ListTasks"))
        refused = await network.post("/a2a/", json=rpc("SendMessage", **SENT))
        bare = await network.post("/a2a/", json=rpc("ListTasks"), headers={"authorization": ""})

    assert listed.json()["result"]["tasks"] == []
    assert "error" in refused.json()
    assert bare.status_code == 401
    assert await published.find() == []


async def test_a_card_is_kept_for_a_minute_and_asked_for_again_by_its_tag(published: Yard):
    path = "/.well-known/agent-card.json"
    async with serving(published) as url, httpx.AsyncClient(base_url=url) as network:
        first = await network.get(path)
        known = {"if-none-match": f'"another", W/{first.headers["etag"]}'}
        again = await network.get(path, headers=known)
        await published.a2a.publish("research")
        changed = await network.get(path, headers=known)

    assert first.headers["cache-control"] == "private, max-age=60"
    assert first.headers["vary"] == "authorization"
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert (changed.status_code, len(changed.json()["skills"])) == (200, 2)


async def test_without_a_token_there_is_the_card_and_nothing_else(published: Yard):
    await published.tokens.create("somebody", Role.ADMIN)
    async with serving(published) as url, httpx.AsyncClient(base_url=url, headers=HEADERS) as network:
        card = await network.get("/.well-known/agent-card.json")
        refused = [
            await network.get("/a2a/tasks"),
            await network.post("/a2a/message:send", json=SENT),
            await network.post("/a2a", json=rpc("ListTasks")),
            await network.get("/.well-known/agent-card.json", headers={"authorization": "Bearer tok_x.y"}),
        ]

    assert card.status_code == 200
    assert [answer.status_code for answer in refused] == [401] * 4


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_workspace_has_its_own_card_and_sees_nothing_of_another(
    open_yard: OpenYard, published: Yard, binding: str
):
    there = await open_yard(workspace="there")
    await there.a2a.publish("research", description="there")
    ours, theirs = [(await each.tokens.create("t", Role.ADMIN)).text for each in (published, there)]
    async with (
        serving(published) as url,
        client(url, ours, binding=binding) as here,
        client(url, theirs, binding=binding) as stranger,
        httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {theirs}"}) as network,
    ):
        task = await send(here, message("a secret", context_id="ctx"), at_once=True)
        card = (await network.get("/.well-known/agent-card.json")).json()
        refusals = [
            await _refusal(get(stranger, task.id)),
            await _refusal(send(stranger, message("x", task_id=task.id))),
            await _refusal(send(stranger, message("x", reference_task_ids=[task.id]))),
            await _refusal(send(stranger, message("x", metadata={"skill": "code"}))),
        ]
        listed = await stranger.list_tasks(ListTasksRequest(context_id="ctx"))
        tenant = await network.post("/a2a", json=rpc("ListTasks", tenant="default"), headers=HEADERS)

    assert [skill["id"] for skill in card["skills"]] == ["research"]
    assert [name for name, _ in refusals] == [*["TaskNotFoundError"] * 3, "InvalidParamsError"]
    assert "secret" not in str(refusals)
    assert (list(listed.tasks), listed.total_size) == ([], 0)
    assert tenant.json()["error"]["code"] == -32602
    assert len(await published.find()) == 1
    assert await there.find() == []


async def _refusal(asked: Any) -> tuple[str, str]:
    with pytest.raises(Exception, match=r".*") as refused:
        await asked
    return type(refused.value).__name__, str(refused.value)


async def test_what_is_too_large_or_no_json_is_refused_before_it_is_decoded(published: Yard):
    async with serving(published) as url, httpx.AsyncClient(base_url=url, headers=HEADERS) as network:
        large = await network.post("/a2a/message:send", json={**SENT, "more": "x" * (9 << 20)})
        deep = await network.post("/a2a", content="[" * 500 + "]" * 500, headers={"content-type": "application/json"})
        broken = await network.post("/a2a", content="{", headers={"content-type": "application/json"})
        form = await network.post("/a2a", content="a=b", headers={"content-type": "text/plain"})
        unread = await network.post("/a2a/message:send", content="{", headers={"content-type": "application/json"})
        mistyped = await network.post("/a2a/message:send", content="{}", headers={"content-type": "text/plain"})
        typed = await network.post(
            "/a2a/message:send",
            content=httpx.Request("POST", "http://x", json=SENT).content,
            headers={"content-type": "application/a2a+json"},
        )

    assert large.status_code == 413
    assert [answer.json()["error"]["code"] for answer in (deep, broken, form)] == [-32700, -32700, -32005]
    assert (unread.status_code, unread.json()["error"]["details"][0]["reason"]) == (400, "INVALID_REQUEST")
    assert (mistyped.status_code, mistyped.json()["error"]["details"][0]["reason"]) == (
        415,
        "CONTENT_TYPE_NOT_SUPPORTED",
    )
    assert typed.status_code == 200


async def test_streams_of_a_token_are_counted_and_end_when_it_is_revoked(published: Yard):
    made = await published.tokens.create("t", Role.ADMIN)
    await published.tokens.create("another", Role.ADMIN)
    async with (
        serving(published, most_listeners=1) as url,
        client(url, made.text) as agent,
        client(url, made.text, streaming=True) as follower,
    ):
        task = await send(agent, message("x"), at_once=True)
        stream = follower.subscribe(SubscribeToTaskRequest(id=task.id))
        first = await anext(stream)
        second = await _refusal(anext(follower.subscribe(SubscribeToTaskRequest(id=task.id))))
        await published.tokens.revoke(made.token.id)
        rest = await asyncio.wait_for(_all(stream), 30)

    assert state_of(first.task) == "submitted"
    assert "429" in second[1] or "503" in second[1]
    assert rest == []


async def _all(stream: Any) -> list[Any]:
    return [each async for each in stream]


async def test_a_client_of_the_version_before_is_understood(published: Yard):
    sent = {
        "message": {"kind": "message", "messageId": "old", "role": "user", "parts": [{"kind": "text", "text": "hi"}]},
        "configuration": {"blocking": False},
    }
    async with serving(published) as url, httpx.AsyncClient(base_url=url) as network:
        made = (await network.post("/a2a", json=rpc("message/send", **sent))).json()["result"]
        found = (await network.post("/a2a", json=rpc("tasks/get", id=made["id"]))).json()["result"]

    assert (made["kind"], made["status"]["state"], found["id"]) == ("task", "submitted", made["id"])
    assert [task.prompt for task in await published.find()] == ["hi"]
