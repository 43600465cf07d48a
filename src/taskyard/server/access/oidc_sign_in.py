"""Signing in with an OpenID provider: a browser is sent there, comes back with a code, and gets a session.

What belongs to one sign-in is in a signed cookie that only this browser has, so that nothing is stored for strangers:
the state, when it began, and the page to go on to. The nonce and the verifier (PKCE) are derived from the state with
the yard's own secret, by whichever process the browser comes back to.
"""

from __future__ import annotations

import hmac
import json
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from secrets import token_urlsafe
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode, urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from taskyard.api.calls import OIDC_CALLBACK, OIDC_START, Call
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import check_text, compact
from taskyard.core.units import MINUTE, SECOND, Micros
from taskyard.features.tokens.people import membership_of
from taskyard.features.tokens.rules import SignedInBy, Token
from taskyard.features.tokens.sessions import LASTING
from taskyard.server.access.auth import Serving, address_of, admitted
from taskyard.server.access.cookies import give_session, session_cookie
from taskyard.server.issuer import origin_of

if TYPE_CHECKING:
    from taskyard.outbound.oidc_provider import OidcProvider

logger = logging.getLogger("taskyard.server")
COOKIE = "taskyard-sign-in"
WITHIN = 10 * MINUTE  # from the start to the return
MOST_PATH = 500  # characters of the page to go on to
MOST_CODE = 4_000
LOGIN_PAGE = "/login"
HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


class Start(NamedTuple):
    """What the browser brings back from the provider, besides what the provider says."""

    state: str
    at: int  # seconds since 1970
    next: str


class _Problem(Exception):
    """Nobody is signed in, and the page of the login says so in these words."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code
        self.why = why


class StartRoute(Route):
    """Sends a browser to the provider."""

    def __init__(self) -> None:
        super().__init__(OIDC_START.path, _start, methods=[OIDC_START.method], include_in_schema=False)


class CallbackRoute(Route):
    """Takes a browser back from the provider, and begins a session."""

    def __init__(self) -> None:
        super().__init__(OIDC_CALLBACK.path, _callback, methods=[OIDC_CALLBACK.method], include_in_schema=False)


async def _start(request: Request) -> Response:
    serving, provider = await _let_in(request, OIDC_START)
    from taskyard.outbound.oidc_provider import SignInRefused  # noqa: PLC0415 - its libraries are an extra

    secret, now = serving.yards.first.local.ledger.store.secret, serving.yards.first.now()
    begun = Start(token_urlsafe(32), now // SECOND, page_within(request.query_params.get("next")))
    try:
        url = await provider.authorization_url(
            redirect_uri=_redirect_uri(request, serving),
            state=begun.state,
            nonce=_derived(secret, "nonce", begun.state),
            challenge=_challenge(_derived(secret, "verifier", begun.state)),
        )
    except SignInRefused as refused:
        return _back_to_login(_Problem("provider", refused.why), begun.next)
    answer = RedirectResponse(url, 303, HEADERS)
    answer.set_cookie(
        session_cookie(request, COOKIE),
        spelled(begun, secret),
        max_age=WITHIN // SECOND,
        path=OIDC_START.path,
        secure=_base(request, serving).startswith("https:"),
        httponly=True,
        samesite="lax",  # the way back is a navigation that the provider's page begins
    )
    return answer


async def _callback(request: Request) -> Response:
    serving, provider = await _let_in(request, OIDC_CALLBACK)
    # Before a code is shown to the provider: who has brought many bad ones waits.
    serving.guesses.check(address_of(request), cost=0)
    begun = started(
        request.cookies.get(session_cookie(request, COOKIE), ""),
        serving.yards.first.local.ledger.store.secret,
        serving.yards.first.now(),
    )
    try:
        answer = await _signed_in(request, serving, provider, begun)
    except _Problem as problem:
        serving.guesses.check(address_of(request))
        answer = _back_to_login(problem, "/" if begun is None else begun.next)
    answer.delete_cookie(session_cookie(request, COOKIE), path=OIDC_START.path, httponly=True, samesite="lax")
    return answer


async def _let_in(request: Request, call: Call) -> tuple[Serving, OidcProvider]:
    serving: Serving = request.app.state.serving
    request.state.call = call
    await admitted(request, call)
    if serving.oidc is None:
        raise HTTPException(404)
    return serving, serving.oidc


async def _signed_in(
    request: Request, serving: Serving, provider: OidcProvider, begun: Start | None
) -> RedirectResponse:
    from taskyard.outbound.oidc_provider import SignInRefused  # noqa: PLC0415 - its libraries are an extra

    code = _code(request, provider, begun)
    assert begun is not None
    first = serving.yards.first
    secret = first.local.ledger.store.secret
    try:
        subject, person = await provider.proved(
            code,
            verifier=_derived(secret, "verifier", begun.state),
            nonce=_derived(secret, "nonce", begun.state),
            redirect_uri=_redirect_uri(request, serving),
            now=first.now(),
        )
    except SignInRefused as refused:
        raise _Problem("provider" if refused.is_provider else "refused", refused.why) from None
    member = membership_of(person, serving.members)
    if member is None:
        raise _Problem("no_role", f"{person.name} is in no group that has a role here")
    yard = serving.yards.of(member.workspace)
    token = await yard.local.tokens.sign_in(
        person, member.role, issuer=provider.settings.issuer, subject=subject, lasting=LASTING
    )
    session = await yard.local.sessions.begin(token)
    answer = RedirectResponse(begun.next, 303, HEADERS)
    is_secure = _base(request, serving).startswith("https:")
    give_session(request, answer, session, first.now(), is_secure=is_secure)
    return answer


async def end_url(request: Request, serving: Serving, token: Token | None) -> str | None:
    """Where the provider ends its own session of somebody who signed in there; None where there is no such place."""
    if serving.oidc is None or token is None or token.way is not SignedInBy.OIDC:
        return None
    from taskyard.outbound.oidc_provider import SignInRefused  # noqa: PLC0415 - its libraries are an extra

    try:
        return await serving.oidc.end_url(_base(request, serving) + LOGIN_PAGE)
    except SignInRefused as refused:
        logger.warning("the provider's own session goes on: %s", refused.why)
        return None


def _code(request: Request, provider: OidcProvider, begun: Start | None) -> str:
    """The code that the provider sent, where it is the answer to what this browser asked for."""
    stated = request.query_params
    if begun is None:
        raise _Problem("expired", "the browser has no sign-in under way, or its time is over")
    if not hmac.compare_digest(stated.get("state", "").encode(), begun.state.encode()):
        raise _Problem("expired", "the answer belongs to another sign-in")
    if stated.get("iss", provider.settings.issuer) != provider.settings.issuer:
        raise _Problem("refused", "the answer comes from another issuer")
    if "error" in stated:
        raise _Problem("refused", f"the provider says {stated['error'][:100]!a}")
    code = stated.get("code", "")
    if not code or len(code) > MOST_CODE or len(stated.getlist("code")) > 1:
        raise _Problem("refused", "the provider sent no code")
    return code


def page_within(path: str | None) -> str:
    """A page of this server to go on to; anything that could lead elsewhere leads to the first page."""
    try:
        check_text(path or "", "next")
        parts = urlsplit(path or "/")
    except (InvalidInput, ValueError):
        return "/"
    given = path or "/"
    is_path = given.startswith("/") and not given.startswith(("//", "/\\")) and not parts.netloc and not parts.scheme
    is_sound = given.isascii() and given.isprintable() and "\\" not in given and len(given) <= MOST_PATH
    return given if is_path and is_sound else "/"


def spelled(begun: Start, secret: bytes) -> str:
    body = compact(list(begun)).encode()
    return f"{_text(body)}.{_text(_signature(body, secret))}"


def started(text: str, secret: bytes, now: Micros) -> Start | None:
    """The sign-in that a cookie is of; None where it is none of this yard's, or too old."""
    try:
        body, signature = (urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in text.split("."))
    except ValueError:
        return None
    if not hmac.compare_digest(signature, _signature(body, secret)):
        return None
    begun = Start(*json.loads(body))
    return begun if now - begun.at * SECOND <= WITHIN else None


def _back_to_login(problem: _Problem, next_: str) -> RedirectResponse:
    logger.warning("nobody is signed in: %s", problem.why)
    return RedirectResponse(f"{LOGIN_PAGE}?{urlencode({'refused': problem.code, 'next': next_})}", 303, HEADERS)


def _base(request: Request, serving: Serving) -> str:
    """The server as people reach it, which is how the provider knows it."""
    return serving.yards.first.local.ledger.options.public_url or origin_of(request)


def _redirect_uri(request: Request, serving: Serving) -> str:
    return _base(request, serving) + OIDC_CALLBACK.path


def _challenge(verifier: str) -> str:
    return _text(sha256(verifier.encode()).digest())


def _derived(secret: bytes, purpose: str, state: str) -> str:
    return _text(hmac.digest(secret, compact(["sign-in", purpose, state]).encode(), sha256))


def _signature(body: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, b"sign-in cookie" + body, sha256)


def _text(body: bytes) -> str:
    return urlsafe_b64encode(body).decode().rstrip("=")
