"""Proxies that say who is calling: taken from listed addresses, for every door, and from nobody else."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.requests import HTTPConnection
from websockets.asyncio.client import connect as connect_socket
from websockets.exceptions import InvalidStatus

from taskyard.app import mcp_mount
from taskyard.core.errors import InvalidInput
from taskyard.core.units import HOUR, Micros
from taskyard.features.tokens.sign_in_settings import SignInSettings, sign_in_settings
from taskyard.server.access.trusted_proxy import TrustedProxy
from taskyard.server.server import served
from taskyard.yard import Yard
from tests.server.calling import calling, client_of

HERE = "127.0.0.0/8, ::1"
ANNA = {"x-forwarded-user": "anna", "x-forwarded-groups": "staff, ops"}
PAGE = {"sec-fetch-site": "same-origin"}


def proxied(addresses: str = HERE, *members: str, **more: str) -> SignInSettings:
    return sign_in_settings(
        workspace="default", members=members or ("ops=operator",), proxy_addresses=addresses, **more
    )


async def test_whom_a_listed_proxy_names_is_known_by_name_groups_and_role(yard: Yard):
    async with calling(yard, sign_in=proxied()) as client:
        who = (await client.get("/api/session", headers=ANNA)).json()
        made = await client.post("/api/tasks", json={"type": "code"}, headers=ANNA | PAGE)
        nobody = await client.get("/api/session")

    assert (who["by"], who["role"], who["groups"]) == ("human:anna", "operator", ["staff", "ops"])
    assert (who["signed_in_by"], who["needs_login"]) == ("proxy", True)
    assert (made.status_code, [each.created_by for each in await yard.find()]) == (201, ["human:anna"])
    assert nobody.status_code == 401  # also where no token was ever given out


async def test_the_headers_may_have_other_names(yard: Yard):
    settings = proxied(proxy_user_header="Remote-User", proxy_groups_header="Remote-Groups")
    async with calling(yard, sign_in=settings) as client:
        who = await client.get("/api/session", headers={b"remote-user": "josé".encode(), b"remote-groups": b"ops"})
        other = await client.get("/api/session", headers=ANNA)

    assert who.json()["by"] == "human:josé"
    assert other.status_code == 401


@pytest.mark.parametrize("more", [{}, {"x-forwarded-for": "10.9.9.9"}, {"forwarded": "for=10.9.9.9"}])
async def test_who_is_no_listed_proxy_names_nobody(yard: Yard, more: dict[str, str]):
    token = (await yard.tokens.create("olga", "admin")).text
    async with calling(yard, sign_in=proxied("10.9.9.9")) as client:
        for header in ({"x-forwarded-user": "anna"}, {"x-forwarded-groups": "ops"}, ANNA):
            refused = await client.get("/api/session", headers=header | more)
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
            # Not even with a token: whoever sends this means to be taken for somebody else.
            shown = {"authorization": f"Bearer {token}"}
            assert (await client.get("/api/session", headers=header | more | shown)).status_code == 403
        assert (await client.get("/api/session", headers={"authorization": f"Bearer {token}"})).status_code == 200


async def test_where_no_proxy_is_listed_the_headers_mean_nothing(yard: Yard):
    await yard.tokens.create("olga", "admin")
    async with calling(yard) as client:
        assert (await client.get("/api/session", headers=ANNA)).status_code == 401


async def test_a_header_that_comes_twice_is_refused(yard: Yard):
    async with calling(yard, sign_in=proxied()) as client:
        twice = [("x-forwarded-user", "anna"), ("x-forwarded-user", "root"), ("x-forwarded-groups", "ops")]
        assert (await client.get("/api/session", headers=twice)).status_code == 403


@pytest.mark.parametrize(
    "stated",
    [
        {"x-forwarded-user": "eve", "x-forwarded-groups": "staff"},
        {"x-forwarded-user": "eve"},
        {"x-forwarded-user": "local", "x-forwarded-groups": "ops"},
        {"x-forwarded-user": "e" * 101, "x-forwarded-groups": "ops"},
    ],
)
async def test_who_has_no_role_or_no_sound_name_is_refused(yard: Yard, stated: dict[str, str]):
    async with calling(yard, sign_in=proxied()) as client:
        assert (await client.get("/api/session", headers=stated)).status_code == 403


async def test_a_token_counts_before_the_word_of_the_proxy(yard: Yard):
    token = (await yard.tokens.create("robot", "viewer")).text
    async with calling(yard, token, sign_in=proxied()) as client:
        assert (await client.get("/api/session", headers=ANNA)).json()["by"] == "human:robot"


async def test_a_page_of_another_site_cannot_use_the_name_that_the_proxy_adds(yard: Yard):
    """A proxy adds the name to whatever a browser was made to send, as a browser adds its cookies."""
    async with calling(yard, sign_in=proxied()) as client:
        for stated in ({}, {"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
            made = await client.post("/api/tasks", json={"type": "code"}, headers=ANNA | stated)
            assert made.status_code == 403, stated
        read = await client.get("/api/tasks", headers=ANNA | {"sec-fetch-site": "cross-site"})
        page = await client.get("/", headers=ANNA | {"sec-fetch-site": "cross-site", "accept": "text/html"})

    assert read.status_code == 403
    assert page.status_code in (200, 503)  # a link in a message leads here; the page holds nothing
    assert not await yard.find()


async def test_every_door_knows_whom_the_proxy_names(yard: Yard):
    async with served(yard, sign_in=proxied(), mcp=mcp_mount()) as server:
        async with connect_socket(
            f"ws://127.0.0.1:{server.port}/api/ws", additional_headers=ANNA | PAGE, open_timeout=30
        ) as socket:
            await socket.send('{"action": "subscribe", "id": "all"}')
            assert "subscribed" in str(await asyncio.wait_for(socket.recv(), 30))
        with pytest.raises(InvalidStatus):
            async with connect_socket(
                f"ws://127.0.0.1:{server.port}/api/ws",
                additional_headers=ANNA | {"origin": "https://evil.example"},
                open_timeout=30,
            ):
                pass
        async with client_of(server.port) as client:
            async with client.stream("GET", "/api/events", headers=ANNA | {"accept": "text/event-stream"}) as events:
                assert events.status_code == 200
            assert "human:anna" in await made_over_mcp(client)


async def made_over_mcp(client: httpx.AsyncClient) -> str:
    """Who is named as the author of a task that was put in by a tool of MCP."""
    head = ANNA | PAGE | {"accept": "application/json, text/event-stream"}

    async def ask(method: str, params: dict[str, Any]) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await client.post("/mcp", json=body, headers=head)

    welcome = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    begun = await ask("initialize", welcome)
    assert begun.status_code == 200, begun.text
    if "mcp-session-id" in begun.headers:
        head["mcp-session-id"] = begun.headers["mcp-session-id"]
    head["mcp-protocol-version"] = "2025-06-18"
    made = await ask("tools/call", {"name": "enqueue_task", "arguments": {"type": "code"}})
    assert made.status_code == 200, made.text
    return (await client.get("/api/tasks", headers=ANNA)).text


async def test_what_stands_for_a_person_is_of_one_process_and_has_an_end(yard: Yard):
    settings = proxied().proxy
    assert settings is not None
    here, there = (TrustedProxy(settings, proxied().members) for _ in range(2))
    scope = {
        "type": "http",
        "taskyard.peer": "127.0.0.1",
        "headers": [(name.encode(), value.encode()) for name, value in ANNA.items()],
    }
    text = here.shown(HTTPConnection(scope), yard.now())

    assert here.token_of(text, yard.now()) is not None
    assert there.token_of(text, yard.now()) is None
    assert here.token_of(text[:-2] + "AA", yard.now()) is None
    assert here.token_of("typ_nonsense", yard.now()) is None
    assert here.token_of(text, Micros(yard.now() + 13 * HOUR)) is None
    async with calling(yard, text, sign_in=proxied()) as client:
        assert (await client.get("/api/session")).status_code == 401


@pytest.mark.parametrize(
    "wrong",
    [
        {"proxy_addresses": "0.0.0.0/0"},
        {"proxy_addresses": "::/0"},
        {"proxy_addresses": "proxy.example.org"},
        {"proxy_addresses": "10.0.0.1", "proxy_user_header": "authorization"},
        {"proxy_addresses": "10.0.0.1", "proxy_user_header": "x user"},
        {"proxy_addresses": "10.0.0.1", "members": ()},
        {"proxy_addresses": "10.0.0.1", "members": ("ops",)},
        {"proxy_addresses": "10.0.0.1", "members": ("ops=agent",)},
        {"proxy_addresses": "10.0.0.1", "members": ("ops=king",)},
        {"proxy_addresses": "10.0.0.1", "members": ("ops=viewer@",)},
        {"oidc_issuer": "http://example.org", "oidc_client_id": "x"},
        {"oidc_issuer": "https://example.org?x=y", "oidc_client_id": "x"},
        {"oidc_issuer": "https://example.org"},
        {"oidc_issuer": "https://example.org", "oidc_client_id": "x", "oidc_scope": "profile"},
    ],
)
def test_settings_that_would_let_in_others_are_refused(wrong: dict[str, Any]):
    given: dict[str, Any] = {"workspace": "default", "members": ("ops=viewer",), **wrong}
    with pytest.raises(InvalidInput):
        sign_in_settings(**given)
