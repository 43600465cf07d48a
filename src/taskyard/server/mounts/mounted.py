"""Protocols of their own under paths of the server: MCP at /mcp, A2A at /a2a.

The server lets callers through and bounds what they send, as for every other call; `app` hands in what answers them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taskyard.api import calls
from taskyard.api.calls import NOTHING, Call
from taskyard.api.messages import Closing
from taskyard.core.errors import InvalidInput, Unauthorized
from taskyard.core.json_value import compact, is_object
from taskyard.features.tokens.rules import Token
from taskyard.server.access.auth import (
    Caller,
    address_of,
    admitted,
    identified,
    shown_token,
)
from taskyard.server.issuer import origin_of, unauthorized
from taskyard.server.live.connections import Live
from taskyard.server.request import MOST_PARAMETERS, StrictRequest
from taskyard.yard import Yard

A2A_MEDIA_TYPES = frozenset({"application/json", "application/a2a+json"})
STREAMS = frozenset({"SendStreamingMessage", "SubscribeToTask", "message/stream", "tasks/resubscribe"})
STREAM_PATHS = (":stream", ":subscribe")

Protocols = Literal["mcp", "a2a"]


class Mount(Protocol):
    """What answers under a path."""

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

    async def refusal(self, path: str, error: InvalidInput) -> tuple[int, dict[str, Any]]:
        """The status and the document that the protocol has for a body that cannot be read."""
        ...


def mount_routes() -> Sequence[BaseRoute]:
    return (
        _MountRoute("mcp", calls.MCP, calls.MCP_STREAM, calls.MCP_END),
        _MountRoute("a2a", calls.A2A_CARD),
        _MountRoute("a2a", calls.A2A_RPC),
        _MountRoute("a2a", calls.A2A_SEND, calls.A2A_READ, calls.A2A_REMOVE),
    )


class _MountRoute(Route):
    """A path, for whoever may make calls of it. What each of them may do there is up to the calls it comes to."""

    def __init__(self, protocol: Protocols, *of: Call) -> None:
        by_method = {call.method: call for call in of}
        path = of[0].path.replace("{operation}", "{operation:path}")
        super().__init__(path, _endpoint, methods=list(by_method), include_in_schema=False)
        self.path = of[0].path  # as the table spells it
        # The framework would take an endpoint for a function that gives an answer.
        self.app = _Guarded(protocol, by_method)


class _Guarded:
    def __init__(self, protocol: Protocols, by_method: Mapping[str, Call]) -> None:
        self._protocol: Protocols = protocol
        self._calls = by_method

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope, call = self._called(scope)
        asked = StrictRequest(scope, receive)
        asked.serving, asked.bounds = scope["app"].state.serving, call.bounds
        asked.state.call = call
        try:
            caller = asked.state.caller = await self._admitted(asked, call)
        except Unauthorized as error:
            if self._protocol != "mcp" or asked.serving.issuer is None:
                raise
            await unauthorized(asked, error)(scope, receive, send)
            return
        mount = asked.serving.mcp if self._protocol == "mcp" else asked.serving.a2a
        if mount is None:
            name = self._protocol
            raise HTTPException(404, f"This server has no {name.upper()}: it needs pip install 'taskyard[{name}]'.")
        if asked.scope["query_string"].count(b"&") >= MOST_PARAMETERS:
            raise InvalidInput("query", f"must have at most {MOST_PARAMETERS} parameters")
        body: Any = None
        if call.bounds is not NOTHING:
            try:
                body = await self._read(asked, call)
            except InvalidInput as error:
                status, document = await mount.refusal(scope["path"], error)
                await Response(compact(document), status, media_type="application/json")(scope, receive, send)
                return
            receive = _again(await asked.body(), receive)
        with _Follower.of(asked, caller, body) as follower:
            scope["state"]["ended"] = follower.ended
            scope["state"]["origin"] = origin_of(asked)
            await mount.answer(
                scope,
                receive,
                send,
                yard=caller.yard,
                token=caller.token,
                shown=shown_token(asked),
                address=address_of(asked),
            )

    def _called(self, scope: Scope) -> tuple[Scope, Call]:
        if scope["path"] == f"{calls.A2A_RPC.path}/" and scope["method"] == calls.A2A_RPC.method:
            # Clients that put a path behind the address of the card arrive here with an empty one.
            return {**scope, "path": calls.A2A_RPC.path}, calls.A2A_RPC
        return scope, self._calls["GET" if scope["method"] == "HEAD" else scope["method"]]

    async def _admitted(self, asked: StrictRequest, call: Call) -> Caller:
        stranger = await admitted(asked, call)
        # The card is for everybody. Whoever shows a token sees the card of their own workspace.
        return await identified(asked, asked.serving) if call.roles is None and shown_token(asked) else stranger

    async def _read(self, asked: StrictRequest, call: Call) -> Any:
        """The body, bounded and decoded; some requests of A2A need none."""
        if self._protocol == "a2a":
            asked.media_types = A2A_MEDIA_TYPES
            if call is calls.A2A_SEND and not await asked.body():
                return None
        return await asked.json()


class _Follower:
    """Somebody who follows a stream of a protocol: counted and sent home like those who listen to events."""

    def __init__(self, live: Live, token: str, counted_as: str | None, *, is_counted: bool) -> None:
        self.token: str | None = token
        self.counted_as = counted_as
        self.is_stuck = False
        self.ended = asyncio.Event()
        self._live = live
        self._is_counted = is_counted

    @classmethod
    def of(cls, asked: StrictRequest, caller: Caller, body: Any) -> _Follower:
        is_stream = (is_object(body) and body.get("method") in STREAMS) or str(asked.scope["path"]).endswith(
            STREAM_PATHS
        )
        return cls(asked.app.state.live, shown_token(asked), caller.token_id, is_counted=is_stream)

    def end(self, why: Closing) -> None:  # noqa: ARG002 - its stream has no words for it
        self.ended.set()

    def __enter__(self) -> _Follower:
        if self._is_counted:
            self._live.admit(self, self._live.most_listeners)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.dismiss(self)


async def _endpoint(_: Request) -> Response:
    raise HTTPException(404)


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
