"""/mcp of a server: both generations of the protocol, and who is let in."""

import re

import httpx
import pytest

from taskyard.api.calls import MCP, MCP_METADATA
from taskyard.core.errors import InvalidInput
from taskyard.features.tokens.sign_in_settings import SignInSettings, checked_issuer, sign_in_settings
from taskyard.server.server import NO_SIGN_IN, served
from taskyard.yard import Yard
from tests.mcp.clients import MODES, answer_of, http, serving, text_of
from tests.server.calling import client_of

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
# Where people sign in. What such a provider hands out is no token of the yard, so clients of MCP are not sent there.
AT_A_PROVIDER = sign_in_settings(
    workspace="default", members=("ops=operator",), oidc_issuer="https://id.example", oidc_client_id="yard"
)
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_with_a_token_works_a_task_through(yard: Yard, mode: str):
    producer = (await yard.tokens.create("ci", "orchestrator")).text
    worker = (await yard.tokens.create("coder", "agent", agent="coder")).text
    async with serving(yard) as url, http(url, producer, mode) as asks, http(url, worker, mode) as works:
        task = answer_of(await asks.call_tool("enqueue_task", {"type": "code", "prompt": "Fix the test"}))
        held = answer_of(await works.call_tool("claim_task", {}))
        mine = {"task_id": held["task_id"], "lease": held["lease"]}
        foreign = await asks.call_tool("complete_task", {"task_id": task["id"], "lease": "lease_of_nobody.1"})
        answer_of(await works.call_tool("complete_task", {**mine, "output": {"diff": "+1"}}))
        ended = answer_of(await asks.call_tool("wait_for_task", {"task_id": task["id"]}))

    assert text_of(foreign).startswith("lease_lost: ")
    assert (held["task_id"], held["agent"], ended["output"]) == (task["id"], "coder-mcp", {"diff": "+1"})
    stored = await yard.get(task["id"])
    assert (stored.created_by, stored.agent) == ("human:ci", "coder-mcp")


async def test_whoever_shows_no_good_token_is_turned_away(yard: Yard):
    token = (await yard.tokens.create("ci", "viewer")).text
    revoked = await yard.tokens.create("gone", "admin")
    await yard.tokens.revoke(revoked.token.id)
    async with serving(yard) as url, httpx.AsyncClient() as client:
        shown = [None, "ty_no", f"{token[:-1]}x", revoked.text, token]
        answers = [await client.post(url, json=PING, headers=_with(each)) for each in shown]

    assert [each.status_code for each in answers[:-1]] == [401] * 4
    assert answers[-1].status_code < 401


async def test_a_browser_of_another_site_is_turned_away(yard: Yard):
    async with serving(yard) as url, httpx.AsyncClient() as client:
        origin = await client.post(url, json=PING, headers={**JSON, "origin": "https://evil.example"})
        host = await client.post(url, json=PING, headers={**JSON, "host": "evil.example"})

    assert (origin.status_code, host.status_code) == (403, 403)


async def test_a_body_is_bounded_before_it_is_decoded(yard: Yard):
    most = MCP.bounds
    async with serving(yard) as url, httpx.AsyncClient() as client:
        large = await client.post(url, content=b" " * (most.most_bytes + 1), headers=JSON)
        crowded = await client.post(url, content=b"[" + b"0," * most.most_values + b"0]", headers=JSON)
        deep = await client.post(url, content=b"[" * 1000 + b"]" * 1000, headers=JSON)
        unread = await client.post(url, content=b"{", headers=JSON)

    assert [each.status_code for each in (large, crowded, deep, unread)] == [413, 400, 400, 400]
    assert unread.json()["error"]["code"] == -32700


async def test_a_session_is_its_owners_alone(yard: Yard):
    first, second = [(await yard.tokens.create(name, "admin")).text for name in ("a", "b")]
    begin = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    async with serving(yard) as url, httpx.AsyncClient() as client:
        begun = await client.post(url, json=begin, headers=_with(first))
        session = {"mcp-session-id": begun.headers["mcp-session-id"]}
        foreign = await client.post(url, json=PING, headers={**_with(second), **session})
        own = await client.post(url, json=PING, headers={**_with(first), **session})

    assert (foreign.status_code, own.status_code) == (404, 200)


async def test_clients_find_who_hands_out_tokens_where_the_operator_named_somebody(yard: Yard):
    await yard.tokens.create("ci", "viewer")
    issuer = "https://login.example/realms/yard"
    async with serving(yard, issuer=issuer) as url, httpx.AsyncClient() as client:
        refused = await client.post(url, json=PING, headers=JSON)
        ((_, named),) = re.findall(r'(Bearer) resource_metadata="([^"]+)"', refused.headers["www-authenticate"])
        metadata = await client.get(named)
        foreign = await client.get(named, headers={"host": "evil.example"})

    assert refused.status_code == 401
    assert named == f"{url.removesuffix('/mcp')}/.well-known/oauth-protected-resource/mcp"
    assert metadata.json() == {
        "resource": url,
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Taskyard",
    }
    assert foreign.status_code == 403


@pytest.mark.parametrize("sign_in", [NO_SIGN_IN, AT_A_PROVIDER])
async def test_without_an_issuer_of_tokens_there_is_no_metadata(yard: Yard, sign_in: SignInSettings):
    await yard.tokens.create("ci", "viewer")
    async with serving(yard, sign_in=sign_in) as url, httpx.AsyncClient() as client:
        refused = await client.post(url, json=PING, headers=JSON)
        metadata = await client.get(url.removesuffix("/mcp") + MCP_METADATA.path, headers={"accept": "text/html"})

    assert refused.headers["www-authenticate"] == "Bearer"
    assert metadata.status_code == 404


@pytest.mark.parametrize(
    "given", ["login.example", "http://login.example", "https://login.example/?a=1", "https://", ""]
)
def test_an_issuer_is_an_https_url(given: str):
    with pytest.raises(InvalidInput, match="issuer"):
        checked_issuer(given, "issuer")


async def test_a_server_without_the_library_names_the_extra(yard: Yard):
    async with served(yard) as server, client_of(server.port) as client:
        answer = await client.post("/mcp", json=PING)

    assert answer.status_code == 404
    assert "pip install 'taskyard[mcp]'" in answer.json()["detail"]


def _with(token: str | None) -> dict[str, str]:
    return JSON if token is None else {**JSON, "authorization": f"Bearer {token}"}
