"""A protocol of its own under one path: MCP at /mcp.

The server lets callers through and bounds what they send, as for every other call; `app` hands in what answers them.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taskyard.api.calls import MCP, MCP_END, MCP_STREAM, NOTHING, Call
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import compact
from taskyard.features.tokens.rules import Token
from taskyard.server.access.auth import Serving, address_of, admitted, shown_token
from taskyard.server.request import StrictRequest
from taskyard.yard import Yard

PARSE_ERROR = -32700  # of JSON-RPC
_CALLS: dict[str, Call] = {call.method: call for call in (MCP, MCP_STREAM, MCP_END)}


class Mount(Protocol):
    """What answers under the path."""

    def running(self, app: ASGIApp) -> AbstractAsyncContextManager[None]:
        """Be ready to answer while the block runs. `app` is the server itself, to make calls of the table with."""
        ...

    def stop(self) -> None:
        """End what would go on for as long as its reader likes."""
        ...

    async def answer(
        self, scope: Scope, receive: Receive, send: Send, *, yard: Yard, token: Token, shown: str, address: str
    ) -> None:
        """Answer a caller who was let through: `shown` is the text of their token."""
        ...


class MountRoute(Route):
    """The path, for whoever may make calls at all. What each of them may do there is up to the calls it comes to."""

    def __init__(self) -> None:
        super().__init__(MCP.path, _endpoint, methods=list(_CALLS), include_in_schema=False)
        self.app = _guarded  # the framework would take an endpoint for a function that gives an answer


async def _endpoint(_: Request) -> Response:
    raise HTTPException(404)


async def _guarded(scope: Scope, receive: Receive, send: Send) -> None:
    serving: Serving = scope["app"].state.serving
    call = _CALLS["GET" if scope["method"] == "HEAD" else scope["method"]]
    asked = StrictRequest(scope, receive)
    asked.serving, asked.bounds = serving, call.bounds
    asked.state.call = call
    caller = asked.state.caller = await admitted(asked, call)
    if serving.mcp is None:
        raise HTTPException(404, "This server has no MCP: it needs pip install 'taskyard[mcp]'.")
    if call.bounds is not NOTHING:
        try:
            await asked.json()
        except InvalidInput as error:
            await _unread(error)(scope, receive, send)
            return
        receive = _again(await asked.body(), receive)
    await serving.mcp.answer(
        scope,
        receive,
        send,
        yard=caller.yard,
        token=caller.token,
        shown=shown_token(asked),
        address=address_of(asked),
    )


def _unread(error: InvalidInput) -> Response:
    refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": PARSE_ERROR, "message": str(error)}}
    return Response(compact(refusal), 400, media_type="application/json")


def _again(body: bytes, receive: Receive) -> Receive:
    """The body once more, and then whatever comes after it: that the caller has gone."""
    is_given = False

    async def given() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return given
