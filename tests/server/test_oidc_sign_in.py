"""People sign in with an OpenID provider: the whole way, and every way in which a provider or a stranger lies."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt

import taskyard
from taskyard.core.json_value import compact
from taskyard.features.tokens.rules import EVERYWHERE, SignedInBy
from taskyard.features.tokens.sign_in_settings import SignInSettings, sign_in_settings
from taskyard.ledger.clock import ManualClock
from taskyard.outbound import oidc_provider
from taskyard.outbound.addresses import AllowedTargets
from taskyard.outbound.oidc_provider import OidcProvider
from taskyard.server.access.oidc_sign_in import page_within
from taskyard.server.server import served, serving_of
from taskyard.yard import Yard
from tests.identity_provider import CLIENT, SECRET, Provider, new_key, providing, signed
from tests.server.calling import client_of
from tests.yards import claim_that, given_an_agent

START, CALLBACK = "/api/session/oidc", "/api/session/oidc/callback"
NOWHERE = AllowedTargets(frozenset(), ())


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with providing() as provider:
        yield provider


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    """On the real clock: the tokens of the provider are."""
    async with taskyard.connect("memory://", sweeps=False) as yard:
        yield yard


def settings_of(provider: Provider, *members: str) -> SignInSettings:
    return sign_in_settings(
        workspace="default",
        members=members or ("ops=operator",),
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT,
        oidc_client_secret=SECRET,
        oidc_label="Example",
    )


@asynccontextmanager
async def visiting(
    yard: Yard, provider: Provider, *members: str, clock: Callable[[], float] | None = None
) -> AsyncGenerator[httpx.AsyncClient]:
    """The browser of somebody at a server where people sign in with the provider."""
    settings = settings_of(provider, *members)
    assert settings.oidc is not None
    more: dict[str, Any] = {} if clock is None else {"clock": clock}
    oidc = OidcProvider(settings.oidc, NOWHERE, **more)
    async with served(yard, sign_in=settings, oidc=oidc) as server, client_of(server.port) as client:
        yield client


async def at_the_provider(client: httpx.AsyncClient, next_: str = "/") -> str:
    """Where the provider sends the browser back to."""
    started = await client.get(START, params={"next": next_})
    assert started.status_code == 303
    async with httpx.AsyncClient() as elsewhere:
        return (await elsewhere.get(started.headers["location"])).headers["location"]


async def sign_in(client: httpx.AsyncClient, next_: str = "/") -> httpx.Response:
    back = await at_the_provider(client, next_)
    # As a browser says of a navigation that another site began; it keeps the session to itself then.
    for cookie in [each for each in client.cookies.jar if "session" in each.name]:
        client.cookies.jar.clear(cookie.domain, cookie.path, cookie.name)
    return await client.get(back, headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"})


def refusal(answer: httpx.Response) -> str:
    place = urlsplit(answer.headers["location"])
    assert (answer.status_code, place.path, place.netloc) == (303, "/login", "")
    return parse_qs(place.query)["refused"][0]


async def is_nobody(client: httpx.AsyncClient, yard: Yard) -> bool:
    stored = await yard.local.ledger.store.records("token", EVERYWHERE)
    return (await client.get("/api/session")).status_code == 401 and not stored


async def test_who_signs_in_is_known_by_name_groups_and_role(yard: Yard, provider: Provider):
    async with visiting(yard, provider) as client:
        ways = (await client.get("/api/session/ways")).json()
        assert ways == {"oidc": START, "name": "Example"}
        landed = await sign_in(client, "/tasks?status=ready")
        page = {"origin": str(client.base_url).rstrip("/")}
        who = (await client.get("/api/session")).json()
        made = await client.post("/api/tasks", json={"type": "code"}, headers=page)

    assert (landed.status_code, landed.headers["location"]) == (303, "/tasks?status=ready")
    session, _ = landed.headers.get_list("set-cookie")
    assert {"HttpOnly", "SameSite=strict"} <= set(session.split("; "))
    assert (who["by"], who["role"], who["workspace"]) == ("human:anna", "operator", "default")
    assert (who["groups"], who["signed_in_by"], who["needs_login"]) == (["ops", "staff"], "oidc", True)
    assert (made.status_code, [each.created_by for each in await yard.find()]) == (201, ["human:anna"])
    (token,) = await yard.tokens.list()
    assert (token.name, token.way, token.subject) == ("anna", SignedInBy.OIDC, f"{provider.issuer} 7")
    assert "token.signed_in" in [stored.event.event for stored in await yard.events()]


async def test_a_question_for_a_group_is_answered_by_whoever_signed_in(yard: Yard, provider: Provider):
    await given_an_agent(yard, "ada")
    task = await yard.enqueue("deploy")
    held = await claim_that(yard, task.id, by="ada", start=True)
    await yard.local.questions.ask(held.id, held.lease, "go", "Deploy?", who=["group:staff"])
    async with visiting(yard, provider) as client:
        await sign_in(client)
        page = {"origin": str(client.base_url).rstrip("/")}
        body = {"name": "go", "data": {"approved": True}}
        answered = await client.post(f"/api/tasks/{task.id}/answer", json=body, headers=page)

    assert answered.status_code == 200, answered.text
    question = (await yard.approvals.get(task.id, "go")).question
    assert question is not None
    assert question.answered is not None
    assert question.answered.by == "human:anna"


async def test_the_first_membership_that_fits_says_the_role_and_the_workspace(yard: Yard, provider: Provider):
    async with visiting(yard, provider, "boss=admin", "staff=viewer@research", "ops=operator") as client:
        await sign_in(client)
        who = (await client.get("/api/session")).json()

    assert (who["role"], who["workspace"]) == ("viewer", "research")


async def test_who_no_membership_is_for_is_nobody_here(yard: Yard, provider: Provider):
    async with visiting(yard, provider, "boss=admin") as client:
        assert refusal(await sign_in(client)) == "no_role"
        assert await is_nobody(client, yard)


def with_algorithm_none(provider: Provider, claims: dict[str, Any]) -> str:
    header = urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    return f"{header}.{urlsafe_b64encode(compact(claims).encode()).decode().rstrip('=')}."


def with_the_public_key_as_secret(provider: Provider, claims: dict[str, Any]) -> str:
    # By hand: the library refuses to do so.
    parts = (compact({"alg": "HS256", "kid": "first"}).encode(), compact(claims).encode())
    stated = ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    signature = hmac.digest(provider.key.as_pem(private=False), stated.encode(), "sha256")
    return f"{stated}.{urlsafe_b64encode(signature).decode().rstrip('=')}"


def with_another_key(provider: Provider, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "first"}, claims, new_key("first", "somebody else"))


def with_an_unknown_key(provider: Provider, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "other"}, claims, provider.key)


def with_changed_claims(provider: Provider, claims: dict[str, Any]) -> str:
    header, _, signature = signed(provider, claims).split(".")
    body = urlsafe_b64encode(compact({**claims, "preferred_username": "root"}).encode()).decode().rstrip("=")
    return f"{header}.{body}.{signature}"


def with_nonsense(provider: Provider, claims: dict[str, Any]) -> str:
    return "nonsense"


def with_no_end(provider: Provider, claims: dict[str, Any]) -> str:
    return "a.b." + "c" * 70_000


LIES: dict[str, dict[str, Any]] = {
    "the nonce of another sign-in": {"claims": {"nonce": "x"}},
    "no nonce": {"left_out": ("nonce",)},
    "another issuer": {"claims": {"iss": "https://evil.example"}},
    "another audience": {"claims": {"aud": "somebody-else"}},
    "several audiences and no party": {"claims": {"aud": [CLIENT, "somebody-else"]}},
    "another party": {"claims": {"aud": [CLIENT, "somebody-else"], "azp": "somebody-else"}},
    "expired": {"claims": {"exp": 1_000_000_000}},
    "of the future": {"claims": {"iat": 99_999_999_999}},
    "not yet good": {"claims": {"nbf": 99_999_999_999}},
    "no end": {"left_out": ("exp",)},
    "an end that is no number": {"claims": {"exp": "tomorrow"}},
    "nobody": {"claims": {"sub": ""}},
    "algorithm none": {"sign": with_algorithm_none},
    "the public key as a secret": {"sign": with_the_public_key_as_secret},
    "another key": {"sign": with_another_key},
    "a key that is not there": {"sign": with_an_unknown_key},
    "changed claims": {"sign": with_changed_claims},
    "no token at all": {"sign": with_nonsense},
    "a token without an end": {"sign": with_no_end},
    "a name that is a list": {"claims": {"preferred_username": ["anna"]}},
    "the name of the yard itself": {"claims": {"preferred_username": "local"}},
    "a name with NUL": {"claims": {"preferred_username": "an\0na"}},
    "groups that are a number": {"claims": {"groups": 7}},
    "groups of groups": {"claims": {"groups": [["ops"]]}},
    "too many groups": {"claims": {"groups": ["ops", *map(str, range(1_000))]}},
    "userinfo of somebody else": {"left_out": ("groups",), "userinfo": {"sub": "8", "groups": ["ops"]}},
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_provider_that_lies_signs_nobody_in(yard: Yard, provider: Provider, lie: str):
    for knob, value in LIES[lie].items():
        setattr(provider, knob, value)
    async with visiting(yard, provider) as client:
        assert refusal(await sign_in(client)) == "refused"
        assert await is_nobody(client, yard)


DOCUMENTS: dict[str, dict[str, Any]] = {
    "of another issuer": {"issuer": "https://evil.example"},
    "with keys on a private address": {"jwks_uri": "https://10.0.0.1/keys"},
    "with keys on a private address, by http": {"jwks_uri": "http://10.0.0.1/keys"},
    "with metadata of the cloud": {"token_endpoint": "https://169.254.169.254/latest"},
    "with a password in a place": {"token_endpoint": "http://a:b@127.0.0.1/token"},
    "with a script for a place": {"authorization_endpoint": "javascript:alert(1)"},
    "with a place that is no text": {"token_endpoint": ["https://example.org"]},
}


@pytest.mark.parametrize("document", DOCUMENTS)
async def test_a_document_that_leads_elsewhere_is_not_followed(yard: Yard, provider: Provider, document: str):
    provider.document = DOCUMENTS[document]
    async with visiting(yard, provider) as client:
        started = await client.get(START)
        if urlsplit(started.headers["location"]).path == "/authorize":
            started = await sign_in(client)
        assert refusal(started) == "provider"
        assert await is_nobody(client, yard)


async def test_a_document_without_an_end_is_not_read_to_it(yard: Yard, provider: Provider):
    provider.padding = oidc_provider.MOST_BYTES + 1
    async with visiting(yard, provider) as client:
        assert refusal(await client.get(START)) == "provider"


async def test_a_provider_that_does_not_answer_is_not_waited_for(
    yard: Yard, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(oidc_provider, "WITHIN", 0.5)
    provider.gate.clear()
    async with visiting(yard, provider) as client:
        assert refusal(await sign_in(client)) == "provider"


async def test_an_answer_counts_once_and_for_the_browser_that_asked(yard: Yard, provider: Provider):
    async with visiting(yard, provider) as client:
        back = await at_the_provider(client)
        kept = {"cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
        client.cookies.clear()
        assert refusal(await client.get(back)) == "expired"  # a link that somebody was made to follow
        assert refusal(await client.get(back.replace("state=", "state=x"), headers=kept)) == "expired"
        assert (await client.get(back, headers=kept)).headers["location"] == "/"
        assert refusal(await client.get(back)) == "expired"  # the browser's cookie is gone
        assert refusal(await client.get(back, headers=kept)) == "refused"  # and the code is spent


async def test_an_answer_of_another_provider_is_refused(yard: Yard, provider: Provider):
    async with visiting(yard, provider) as client:
        back = await at_the_provider(client)
        mixed = back.replace(f"iss=http%3A%2F%2F127.0.0.1%3A{provider.port}", "iss=https%3A%2F%2Fevil.example")
        assert mixed != back
        assert refusal(await client.get(mixed)) == "refused"


async def test_a_sign_in_that_takes_too_long_begins_again(provider: Provider):
    clock = ManualClock()
    async with taskyard.connect("memory://", sweeps=False, clock=clock) as yard, visiting(yard, provider) as client:
        back = await at_the_provider(client)
        clock.advance(seconds=601)
        assert refusal(await client.get(back)) == "expired"


async def test_keys_that_were_changed_are_looked_up_again_and_not_too_often(yard: Yard, provider: Provider):
    now = [1000.0]
    async with visiting(yard, provider, clock=lambda: now[0]) as client:
        assert (await sign_in(client)).headers["location"] == "/"
        provider.key = new_key("second")
        assert refusal(await sign_in(client)) == "refused"
        assert refusal(await sign_in(client)) == "refused"
        assert provider.asked.count("/keys") == 1  # forged tokens cannot make the server ask again and again
        now[0] += 11
        assert (await sign_in(client)).headers["location"] == "/"
        assert provider.asked.count("/keys") == 2
        assert provider.asked.count("/.well-known/openid-configuration") == 1


async def test_what_the_token_leaves_out_is_asked_for(yard: Yard, provider: Provider):
    provider.left_out, provider.userinfo = ("groups",), {"sub": "7", "groups": ["ops"], "preferred_username": "root"}
    async with visiting(yard, provider) as client:
        await sign_in(client)
        who = (await client.get("/api/session")).json()

    assert (who["by"], who["groups"]) == ("human:anna", ["ops"])


async def test_who_signs_out_is_led_to_the_end_of_the_provider_s_session(yard: Yard, provider: Provider):
    async with visiting(yard, provider) as client:
        await sign_in(client)
        page = {"origin": str(client.base_url).rstrip("/")}
        goodbye = (await client.delete("/api/session", headers=page)).json()
        place = urlsplit(str(goodbye["url"]))
        after = await client.get("/api/session")

    assert (f"{place.scheme}://{place.netloc}", place.path) == (provider.issuer, "/end")
    assert parse_qs(place.query)["post_logout_redirect_uri"] == [f"{page['origin']}/login"]
    assert after.status_code == 401


async def test_revoking_the_token_of_a_person_ends_their_sessions(yard: Yard, provider: Provider):
    async with visiting(yard, provider) as client:
        await sign_in(client)
        await sign_in(client)
        (token,) = await yard.tokens.list()  # one for each person, however often they sign in
        await yard.tokens.revoke(token.id)
        assert (await client.get("/api/session")).status_code == 401
        await sign_in(client)
        assert (await client.get("/api/session")).status_code == 200


async def test_no_text_proves_the_token_of_a_person(yard: Yard, provider: Provider):
    async with visiting(yard, provider) as client:
        await sign_in(client)
        (token,) = await yard.tokens.list()
        for secret in ("-" * 43, "A" * 43):
            shown = {"authorization": f"Bearer ty_{token.id}_{secret}"}
            assert (await client.get("/api/stats", headers=shown)).status_code == 401


async def test_a_server_where_people_sign_in_is_open_to_nobody_else(yard: Yard, provider: Provider):
    async with visiting(yard, provider) as client:
        assert (await client.get("/api/stats")).status_code == 401
    serving = await serving_of(yard, host="0.0.0.0", sign_in=settings_of(provider))
    assert not serving.is_open


async def test_a_server_without_a_provider_has_no_such_way(yard: Yard):
    async with served(yard) as server, client_of(server.port) as client:
        assert (await client.get("/api/session/ways")).json() == {"oidc": None, "name": None}
        assert [(await client.get(path)).status_code for path in (START, CALLBACK)] == [404, 404]


@pytest.mark.parametrize(
    ("given", "goes_to"),
    [
        (None, "/"),
        ("/tasks/task_1?tab=log", "/tasks/task_1?tab=log"),
        ("https://evil.example", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/a\\..\\evil", "/"),
        ("javascript:alert(1)", "/"),
        ("tasks", "/"),
        ("/\r\nset-cookie: x=y", "/"),
        ("/\t/evil.example", "/"),
        ("/" + "a" * 500, "/"),
    ],
)
def test_the_page_to_go_on_to_is_one_of_this_server(given: str | None, goes_to: str):
    assert page_within(given) == goes_to
