"""The A2A server under a path of the HTTP server: the card, and both bindings of the protocol.

Whatever a client asks for is made of calls to that same server, within this process and with the client's own token.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import (
    JSON_RPC_ERROR_CODE_MAP,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
)
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from taskyard.a2a.card import card
from taskyard.a2a.handler import A2aVisitor, YardHandler
from taskyard.api.calls import A2A_CARD, A2A_RPC
from taskyard.client.transport.in_process import CallerHosts
from taskyard.core.errors import InvalidInput
from taskyard.features.tokens.rules import Token
from taskyard.yard import Yard

CARD_KEPT = 60  # seconds: for so long a client may not know of a type that was published
OFF = "A2A is off: nothing is published. See `taskyard a2a publish`."
MOST_HISTORY = 2**31 - 1  # the field has 32 bits, with a sign


class VisitorContext(DefaultServerCallContextBuilder):
    """Passes the caller that the server has admitted on to the handlers."""

    def build(self, request: Request) -> ServerCallContext:
        if request.method == "GET":
            _check_history_length(request.query_params.get("historyLength", ""))
        context = super().build(request)
        context.state["visitor"] = request.state.visitor
        return context


def _check_history_length(given: str) -> None:
    # The library's routes of 0.3 answer 500 to what does not fit into its field.
    if given and not (given.isascii() and given.isdecimal() and len(given) <= 10 and int(given) <= MOST_HISTORY):
        raise InvalidParamsError(message=f"historyLength must be a whole number from 0 to {MOST_HISTORY}")


class A2aMount:
    """Answers requests of A2A for whoever the server lets through."""

    def __init__(self) -> None:
        handler, context = YardHandler(), VisitorContext()
        rest = create_rest_routes(handler, context, enable_v0_3_compat=True, path_prefix=A2A_RPC.path)
        rpc = create_jsonrpc_routes(handler, A2A_RPC.path, context, enable_v0_3_compat=True)
        self._router = Router([*rpc, *rest], redirect_slashes=False)
        self._callers: CallerHosts | None = None
        self._stopping = asyncio.Event()
        # What is wrong with a request is the caller's business, and is answered: the log of the server is not for it.
        logging.getLogger("a2a").setLevel(logging.CRITICAL)

    @asynccontextmanager
    async def running(self, app: ASGIApp) -> AsyncGenerator[None]:
        callers = self._callers = CallerHosts(app)
        try:
            yield
        finally:
            await callers.close()

    def stop(self) -> None:
        self._stopping.set()

    async def answer(
        self, scope: Scope, receive: Receive, send: Send, *, yard: Yard, token: Token, shown: str, address: str
    ) -> None:
        base_url: str = scope["state"]["origin"]
        published = await yard.a2a.list()
        if scope["path"] == A2A_CARD.path:
            if not published:
                raise HTTPException(404, OFF)
            document = agent_card_to_dict(card(published, yard.workspace, base_url))
            await _cached(document, Request(scope))(scope, receive, send)
            return
        assert self._callers is not None, "requests are answered while it is running"
        theirs = Yard(await self._callers.of(shown, address, token.workspace))
        ended: asyncio.Event = scope["state"]["ended"]
        scope["state"]["visitor"] = A2aVisitor(theirs, yard, token.id, base_url, ended)
        if not published and not (await yard.a2a.tasks(limit=1)).tasks:
            raise HTTPException(404, OFF)
        await self._router({**scope}, receive, send)

    async def refusal(self, path: str, error: InvalidInput) -> tuple[int, dict[str, Any]]:
        is_of_another_type = error.facts["field"] == "content-type"
        if path == A2A_RPC.path:
            code = JSON_RPC_ERROR_CODE_MAP[ContentTypeNotSupportedError if is_of_another_type else JSONParseError]
            return 400, {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": str(error)}}
        kind = ContentTypeNotSupportedError if is_of_another_type else InvalidRequestError
        refused = build_rest_error_payload(kind(message=str(error)))
        # The protocol has 415 for it, the library 400.
        refused["error"]["code"] = status = 415 if is_of_another_type else 400
        return status, refused


def _cached(document: Any, request: Request) -> Response:
    """A card that clients may keep for a while, and then ask for by its tag. Whoever shows a token has another one."""
    body = JSONResponse(document).body
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"cache-control": f"private, max-age={CARD_KEPT}", "etag": tag, "vary": "authorization"}
    if tag in (each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")
