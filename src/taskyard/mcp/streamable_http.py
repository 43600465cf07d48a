"""The MCP server under a path of the HTTP server, for any number of clients.

Whatever a client asks for is made of calls to that same server, within this process and with the client's own token. So
roles, grants, workspaces, limits and the audit are those of HTTP, and nothing about them is decided here.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, cast

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, PARSE_ERROR
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taskyard.api.calls import MCP
from taskyard.client.transport.in_process import MOST_CALLERS, CallerHosts
from taskyard.core.errors import InvalidInput
from taskyard.features.tokens.rules import Role, Token
from taskyard.mcp.desk import Desk, Seat, Toolset, toolset
from taskyard.mcp.endpoint import SESSION_HEADER, Context, McpEndpoint
from taskyard.mcp.lease_keeper import LeaseKeeper
from taskyard.mcp.resources.event_reader import EventReader
from taskyard.yard import Yard

MOST_SESSIONS = 1000  # of clients that speak the protocol with sessions


class Visitor(NamedTuple):
    """Whoever makes a request, as the server has let them through."""

    token: Token
    shown: str
    address: str
    yard: Yard  # of their workspace, for what everybody there may know: that something has changed


class McpMount:
    """Answers requests of MCP for whoever the server lets through."""

    def __init__(self) -> None:
        self._leases = LeaseKeeper(any_call_counts=False)  # many clients: a call speaks for the lease that it names
        self._callers: CallerHosts | None = None
        self._seats: OrderedDict[str, Seat] = OrderedDict()  # by token
        self._endpoint = McpEndpoint(self._desk_of)
        self._server: Server[Any] = self._endpoint.server()
        self._sessions: StreamableHTTPSessionManager | None = None
        self._readers: dict[str, EventReader] = {}  # by workspace
        self._stopping = asyncio.Event()

    @asynccontextmanager
    async def running(self, app: ASGIApp) -> AsyncGenerator[None]:
        callers = self._callers = CallerHosts(app)
        self._sessions = StreamableHTTPSessionManager(
            self._server, max_request_body_size=MCP.bounds.most_bytes, max_sessions=MOST_SESSIONS
        )
        try:
            async with self._sessions.run():
                yield
        finally:
            await self._endpoint.updates.close()
            for reader in self._readers.values():
                await reader.close()
            await self._leases.close()
            await callers.close()

    def stop(self) -> None:
        self._endpoint.updates.stop()
        self._stopping.set()

    async def answer(
        self, scope: Scope, receive: Receive, send: Send, *, yard: Yard, token: Token, shown: str, address: str
    ) -> None:
        assert self._sessions is not None, "requests are answered while it is running"
        # A session is its owner's alone: the library compares who is asking with who began it.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=token.id, scopes=[]))
        scope["state"]["visitor"] = Visitor(token, shown, address, yard)
        if scope["method"] == "POST":
            await self._sessions.handle_request(scope, receive, send)
        else:
            await self._stream(self._sessions, scope, receive, send)

    async def refusal(self, path: str, error: InvalidInput) -> tuple[int, dict[str, Any]]:  # noqa: ARG002 - one path
        refused = {"code": PARSE_ERROR, "message": str(error)}
        return 400, {"jsonrpc": "2.0", "id": None, "error": refused}

    async def _stream(self, sessions: StreamableHTTPSessionManager, scope: Scope, receive: Receive, send: Send) -> None:
        """The stream of a session, until its reader goes or the server stops; or the end of a session."""

        async def until_stopped() -> Message:
            received = asyncio.ensure_future(receive())
            stopping = asyncio.ensure_future(self._stopping.wait())
            await asyncio.wait([received, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if received.done():
                return received.result()
            received.cancel()
            return {"type": "http.disconnect"}

        try:
            await sessions.handle_request(scope, until_stopped, send)
        finally:
            session = Request(scope).headers.get(SESSION_HEADER)
            if session is not None:
                self._endpoint.updates.end(session)

    async def _desk_of(self, context: Context) -> Desk:
        request = cast(Request, context.request)  # whatever comes over HTTP comes with its request
        visitor: Visitor = request.state.visitor
        assert self._callers is not None, "requests are answered while it is running"
        return Desk(
            yard=Yard(await self._callers.of(visitor.shown, visitor.address, visitor.token.workspace)),
            role=visitor.token.role,
            toolset=_asked_tools(request),
            by=visitor.token.by,
            seat=self._seat_of(visitor.token),
            leases=self._leases,
            changes=self._readers.setdefault(visitor.yard.workspace, EventReader(visitor.yard)),
        )

    def _seat_of(self, token: Token) -> Seat:
        if token.id not in self._seats and len(self._seats) >= MOST_CALLERS:
            self._seats.popitem(last=False)
        seat = self._seats.setdefault(token.id, _seat(token))
        self._seats.move_to_end(token.id)
        return seat


def _seat(token: Token) -> Seat:
    """The agent that a token claims for: there is no process to give it a name, so it has the same one every time."""
    if token.role is Role.AGENT:
        return Seat(agent_id=token.agent_id or f"{token.agent}-mcp", agent_type=token.agent)
    return Seat(agent_id=f"mcp-{token.id[-8:].lower()}")


def _asked_tools(request: Request) -> Toolset:
    try:
        return toolset(request.query_params.get("role", Toolset.ALL))
    except InvalidInput as error:
        raise MCPError(INVALID_PARAMS, str(error)) from None
