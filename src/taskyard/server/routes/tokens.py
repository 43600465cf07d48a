"""Tokens: giving them out; who is calling; and for browsers, logging in and out."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

from fastapi import Path, Request, Response

from taskyard.api import calls, openapi, request_models, requests
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.core.agent import Grant
from taskyard.core.errors import Forbidden
from taskyard.core.units import Micros
from taskyard.features.tokens.rules import ADMINISTER, OPERATE, SEE, STEER, Token, presented
from taskyard.features.tokens.views import Issued, May, SignedOut, SignInWays, Who
from taskyard.server.access.auth import Caller, Serving, identified
from taskyard.server.access.cookies import give_session, shown_session, take_session
from taskyard.server.access.oidc_sign_in import end_url
from taskyard.server.routes.agents import AgentAt
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("tokens")
TOKENS = openapi.answer("Tokens", tokens=list[Token])


@routes.add(calls.CREATE_TOKEN, model(Issued), status=201)
async def create_token(caller: Calling, asked: requests.CreateToken) -> Response:
    """A new token for this workspace. Its text is shown this once."""
    issued = await caller.yard.tokens.create(
        asked.name,
        asked.role,
        agent=asked.agent,
        agent_id=asked.agent_id,
        types=asked.types,
        capabilities=asked.capabilities,
        queues=asked.queues,
        slots=asked.slots,
        budget_usd=asked.budget_usd,
        budget_per=asked.budget_per,
        expires_in_sec=asked.expires_in_sec,
        groups=asked.groups,
        by=caller.by,
    )
    return answer(write(issued), 201)


@routes.add(calls.TOKENS, TOKENS)
async def tokens(caller: Calling) -> Response:
    """The tokens of this workspace, without their secrets."""
    return answer({"tokens": write(await caller.yard.tokens.list())})


@routes.add(calls.REVOKE_TOKEN, DONE)
async def revoke_token(caller: Calling, token_id: Annotated[str, Path(max_length=255)]) -> Response:
    """End a token at once."""
    await caller.yard.tokens.revoke(token_id, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.WHO, model(Who))
async def who(caller: Calling, request: Request) -> Response:
    """Who the caller is, and what they may do."""
    session = await caller.yard.local.sessions.of(shown_session(request))
    return answer(write(await _who(caller, None if session is None else session.expires_at)))


@routes.add(calls.LOG_IN, model(Who))
async def log_in(request: Request, asked: request_models.ShowToken) -> Response:
    """Begin a session in place of a token: a cookie, for the dashboard."""
    serving: Serving = request.app.state.serving
    caller = await identified(request, serving, asked.token)
    if (shown := presented(asked.token)) is not None and shown.is_session:
        # Otherwise whoever has a session for a moment could keep one that its owner's logout does not end.
        raise Forbidden("it is a session, and a session is begun with a token")
    if caller.token.role not in SEE:
        raise Forbidden(f"it has the role {caller.token.role.value}, which the dashboard has nothing to show to")
    if not caller.token.sealed:
        return answer(write(await _who(caller, None)))  # no token is needed here, so there is no session either
    begun = await caller.yard.local.sessions.begin(caller.token)
    welcome = answer(write(await _who(caller, begun.session.expires_at)))
    give_session(request, welcome, begun, caller.yard.now())
    return welcome


@routes.add(calls.SIGN_IN_WAYS, model(SignInWays))
async def sign_in_ways(request: Request) -> Response:
    """How people may sign in besides with a token, for the page where they do."""
    serving: Serving = request.app.state.serving
    if serving.oidc is None:
        return answer(write(SignInWays(oidc=None, name=None)))
    return answer(write(SignInWays(oidc=calls.OIDC_START.path, name=serving.oidc.settings.label)))


@routes.add(calls.LOG_OUT, model(SignedOut))
async def log_out(caller: Calling, request: Request) -> Response:
    """End the session, here and in the browser. The provider may have one of its own, which ends at its own place."""
    serving: Serving = request.app.state.serving
    token = await caller.yard.local.tokens.known_by(shown_session(request))
    await caller.yard.local.sessions.end(shown_session(request))
    goodbye = answer(write(SignedOut(ok=True, url=await end_url(request, serving, token))))
    take_session(request, goodbye)
    return goodbye


async def _who(caller: Caller, expires_at: Micros | None) -> Who:
    role = caller.token.role
    return Who(
        role=role,
        name=caller.token.name,
        by=caller.by,
        workspace=caller.yard.workspace,
        preset=await caller.yard.presets.current(),
        version=version("taskyard"),
        needs_login=bool(caller.token.sealed),
        expires_at=expires_at,
        may=May(steer=role in STEER, operate=role in OPERATE, administer=role in ADMINISTER),
        groups=caller.token.groups,
        signed_in_by=caller.token.way,
        stores_files=caller.yard.local.ledger.options.artifacts is not None,
    )


@routes.add(calls.GRANT, model(Grant))
async def grant(caller: Calling, agent_id: AgentAt, asked: requests.GrantAgent) -> Response:
    """What a type of agents may have, from its next claim on."""
    given = await caller.yard.tokens.grant(
        agent_id,
        agent_id=asked.agent_id,
        types=asked.types,
        capabilities=asked.capabilities,
        queues=asked.queues,
        slots=asked.slots,
        by=caller.by,
    )
    return answer(write(given))
