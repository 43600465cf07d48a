"""Browsers: logging in and out, and what a session is good for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

import taskyard
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.features.tokens.sessions import SESSION
from taskyard.ledger.clock import ManualClock
from taskyard.server.server import served
from taskyard.yard import Yard
from tests.server.calling import calling, client_of
from tests.yards import OpenYard


def page_of(client: httpx.AsyncClient) -> dict[str, str]:
    """What a browser says of a request that a page of this server makes."""
    return {"origin": str(client.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}


def cookie_of(answer: httpx.Response) -> dict[str, str]:
    """The session that was just begun, for whoever shows it."""
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


async def log_in(client: httpx.AsyncClient, token: str) -> httpx.Response:
    return await client.post("/api/session", json={"token": token}, headers=page_of(client))


async def test_who_needs_no_token_is_the_owner(yard: Yard):
    async with calling(yard) as client:
        who = (await client.get("/api/session")).json()
        again = await log_in(client, "")

    assert (who["role"], who["needs_login"], who["expires_at"]) == ("admin", False, None)
    assert who["may"] == {"steer": True, "operate": True, "administer": True}
    assert (who["workspace"], who["preset"]) == ("default", "standard")
    assert again.json() == who
    assert not again.cookies


@pytest.mark.parametrize(
    ("role", "may"),
    [
        ("viewer", {"steer": False, "operate": False, "administer": False}),
        ("orchestrator", {"steer": True, "operate": False, "administer": False}),
        ("operator", {"steer": True, "operate": True, "administer": False}),
        ("admin", {"steer": True, "operate": True, "administer": True}),
    ],
)
async def test_who_logs_in_learns_what_they_may_do(yard: Yard, role: str, may: dict[str, bool]):
    token = (await yard.tokens.create("olga", role)).text
    async with calling(yard) as client:
        welcome = (await log_in(client, token)).json()
        who = (await client.get("/api/session")).json()
        change = await client.post("/api/tasks", json={"type": "code"}, headers=page_of(client))

    assert welcome == who
    assert (who["by"], who["role"], who["may"], who["needs_login"]) == ("human:olga", role, may, True)
    assert change.status_code == (201 if may["steer"] else 403)


async def test_a_session_is_a_cookie_that_no_script_and_no_other_site_gets(yard: Yard):
    token = (await yard.tokens.create("olga", "viewer")).text
    async with calling(yard) as client:
        plain = (await log_in(client, token)).headers["set-cookie"]
        behind_tls = await client.post(
            "/api/session", json={"token": token}, headers={"host": "localhost", "origin": "https://localhost"}
        )

    assert {"HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"} <= set(plain.split("; "))
    assert "Secure" not in plain
    assert "Secure" in behind_tls.headers["set-cookie"].split("; ")
    assert token not in plain


@pytest.mark.parametrize("shown", ["nonsense", "", "ty_" + "0" * 26 + "_" + "x" * 43])
async def test_what_is_no_token_begins_no_session(yard: Yard, shown: str):
    await yard.tokens.create("olga", "viewer")
    async with calling(yard) as client:
        answer = await log_in(client, shown)

    assert answer.status_code == 401
    assert not answer.cookies


async def test_an_agents_token_is_not_for_the_dashboard(yard: Yard):
    token = (await yard.tokens.create("t", "agent", agent="coder")).text
    async with calling(yard) as client:
        assert (await log_in(client, token)).status_code == 403


async def test_a_session_ends_when_it_is_asked_to_in_the_browser_and_here(yard: Yard):
    token = (await yard.tokens.create("olga", "viewer")).text
    async with calling(yard) as client:
        kept = cookie_of(await log_in(client, token))
        goodbye = await client.delete("/api/session", headers=page_of(client))
        after = await client.get("/api/stats")
        stolen = await client.get("/api/stats", headers=kept)

    assert goodbye.status_code == 200
    assert "Max-Age=0" in goodbye.headers["set-cookie"]
    assert (after.status_code, stolen.status_code) == (401, 401)


async def test_a_session_ends_with_its_token_at_once(yard: Yard):
    issued = await yard.tokens.create("olga", "viewer")
    async with calling(yard) as client:
        await log_in(client, issued.text)
        before = await client.get("/api/stats")
        await yard.tokens.revoke(issued.token.id)
        after = await client.get("/api/stats")

    assert (before.status_code, after.status_code) == (200, 401)


@pytest.mark.parametrize(("token_lasts", "session_lasts"), [(None, 12 * 3600), (60, 60)])
async def test_a_session_ends_by_itself_and_never_after_its_token(
    yard: Yard, clock: ManualClock, token_lasts: int | None, session_lasts: int
):
    token = (await yard.tokens.create("olga", "viewer", expires_in_sec=token_lasts)).text
    async with calling(yard) as client:
        kept = cookie_of(await log_in(client, token))
        clock.advance(seconds=session_lasts - 1)
        before = await client.get("/api/stats", headers=kept)
        clock.advance(seconds=1)
        after = await client.get("/api/stats", headers=kept)

    assert (before.status_code, after.status_code) == (200, 401)


async def test_sessions_that_are_over_are_forgotten_when_another_begins(yard: Yard, clock: ManualClock):
    token = (await yard.tokens.create("olga", "viewer")).token
    for _ in range(3):
        await yard.local.sessions.begin(token)
    clock.advance(seconds=12 * 3600 + 1)
    last = await yard.local.sessions.begin(token)

    assert [record.id for record in await yard.store.records(SESSION, EVERYWHERE)] == [last.session.id]


async def test_the_secret_of_a_session_is_nowhere_in_the_store(tmp_path: Path):
    async with taskyard.connect(f"sqlite:///{tmp_path / 'yard.db'}") as yard:
        begun = await yard.local.sessions.begin((await yard.tokens.create("ada", "admin")).token)
        stored = await asyncio.to_thread(lambda: b"".join(path.read_bytes() for path in tmp_path.iterdir()))

    assert begun.session.id.encode() in stored
    assert begun.text[-43:].encode() not in stored


async def test_a_session_begins_no_other_that_would_outlive_its_logout(yard: Yard):
    token = (await yard.tokens.create("olga", "admin")).text
    async with calling(yard) as client:
        session = cookie_of(await log_in(client, token))["cookie"].partition("=")[2]
        answer = await log_in(client, session)
        await client.delete("/api/session", headers=page_of(client))
        shown = await client.get("/api/stats", headers={"authorization": f"Bearer {session}"})

    assert (answer.status_code, answer.json()["code"], shown.status_code) == (403, "forbidden", 401)
    assert "set-cookie" not in answer.headers
    assert await yard.store.records(SESSION, EVERYWHERE) == []


# Other sites


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "same-origin"}, 201),
        ({"origin": "SELF"}, 201),
        ({}, 403),
        ({"sec-fetch-site": "none"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "SELF", "sec-fetch-site": "cross-site"}, 403),
    ],
)
async def test_a_change_in_a_session_must_come_from_a_page_of_ours(yard: Yard, headers: dict[str, str], status: int):
    token = (await yard.tokens.create("olga", "operator")).text
    async with calling(yard) as client:
        await log_in(client, token)
        said = {name: page_of(client)["origin"] if value == "SELF" else value for name, value in headers.items()}
        answer = await client.post("/api/tasks", json={"type": "code"}, headers=said)

    assert answer.status_code == status
    assert len(await yard.find()) == (status == 201)


async def test_a_page_of_another_site_reads_nothing_in_a_session(yard: Yard):
    token = (await yard.tokens.create("olga", "viewer")).text
    async with calling(yard) as client:
        await log_in(client, token)
        answer = await client.get("/api/stats", headers={"sec-fetch-site": "cross-site"})

    assert answer.status_code == 403


async def test_a_page_of_another_site_logs_nobody_in(yard: Yard):
    token = (await yard.tokens.create("olga", "viewer")).text
    async with calling(yard) as client:
        answer = await client.post("/api/session", json={"token": token}, headers={"sec-fetch-site": "cross-site"})

    assert answer.status_code == 403


async def test_a_token_in_the_header_counts_and_not_the_session_beside_it(yard: Yard):
    admin, viewer = (await yard.tokens.create("root", "admin")).text, (await yard.tokens.create("v", "viewer")).text
    async with calling(yard) as client:
        await log_in(client, viewer)
        answer = await client.post("/api/tasks", json={"type": "code"}, headers={"authorization": f"Bearer {admin}"})

    assert answer.status_code == 201


async def test_two_servers_on_one_machine_have_sessions_of_their_own(yard: Yard):
    token = (await yard.tokens.create("olga", "viewer")).text
    async with served(yard) as one, served(yard) as other:
        async with client_of(one.port) as client:
            kept = cookie_of(await log_in(client, token))
        async with client_of(other.port) as client:
            answer = await client.get("/api/stats", headers=kept)

    assert answer.status_code == 401


async def test_events_are_followed_in_a_session_until_it_ends(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("taskyard.server.live.connections.EVERY", 0.05)
    issued = await yard.tokens.create("olga", "viewer")
    async with calling(yard) as client:
        await log_in(client, issued.text)
        request = client.stream("GET", "/api/events?after=0", headers={"accept": "text/event-stream"})
        async with request as stream:
            lines = stream.aiter_lines()
            assert "token.created" in await anext(line async for line in lines if line.startswith("data:"))
            await yard.tokens.revoke(issued.token.id)
            async with asyncio.timeout(30):
                [_ async for _ in lines]


async def test_who_signs_in_and_out_is_in_the_audit_log(yard: Yard):
    token = (await yard.tokens.create("olga", "operator")).text
    async with calling(yard) as client:
        await log_in(client, token)
        await client.delete("/api/session", headers=page_of(client))
        refused = await log_in(client, f"{token}x")

    assert refused.status_code == 401
    found = [(each.by, each.action, each.facts.get("role")) for each in (await yard.audit.list()).entries]
    assert found[:2] == [("human:olga", "session.ended", "operator"), ("human:olga", "session.begun", "operator")]
    assert [action for _, action, _ in found[2:]] == ["token.created"]


@pytest.mark.parametrize("has_place", [True, False])
async def test_a_page_hears_whether_files_have_a_place(open_yard: OpenYard, tmp_path: Path, has_place: bool):
    yard = await open_yard(artifacts=tmp_path.as_uri() if has_place else None)
    async with calling(yard) as client:
        who = (await client.get("/api/session")).json()

    assert who["stores_files"] is has_place
