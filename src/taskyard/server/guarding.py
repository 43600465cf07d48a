"""Who is calling, and whether they may: deny by default.

Without tokens the server listens on loopback only, and whoever can reach it is its owner; browsers of other sites are
kept out by the checks of Host and Origin. With tokens every call but the open ones shows one.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from taskyard.core.access import Role, Token
from taskyard.core.errors import Forbidden, NotFound, Unauthorized
from taskyard.core.units import Micros
from taskyard.server.yards import Yards
from taskyard.service.yard import Yard
from taskyard.wire.calls import Call

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How this server is run."""

    yards: Yards
    is_open: bool  # no token is needed while none was ever given out: only ever on loopback
    hosts: frozenset[str] = LOOPBACK  # names by which it may be called
    most_bytes: int = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody who may make the call, and the yard that they see."""

    yard: Yard
    token: Token

    @property
    def by(self) -> str:
        return self.token.by

    async def must_work_as(self, agent_id: str, agent_type: str | None = None) -> None:
        """Refuse to act in the name of an agent that the token is not for."""
        if agent_type is None and self.token.role is Role.AGENT:
            agent_type = await self.yard.agent_type(agent_id)
        if not self.token.works_as(agent_id, agent_type):
            raise Forbidden(f"this token works as {self.token.agent}, not as {agent_id}")

    async def must_host(self, runtime_id: str) -> None:
        """Refuse to speak for a runtime that hosts others than the token's agent: they would lose their work."""
        for view in await self.yard.agents() if self.token.role is Role.AGENT else ():
            if view.agent.runtime == runtime_id:
                await self.must_work_as(view.agent.id, view.agent.type)


async def admitted(connection: HTTPConnection, call: Call) -> Caller:
    """The caller, where the call is theirs to make."""
    serving: Serving = connection.app.state.serving
    check_origin(connection, serving)
    if call.roles is None:
        return Caller(yard=serving.yards.first, token=_stranger(serving.yards.first.workspace))
    caller = await identified(connection, serving)
    if not call.allows(caller.token.role):
        raise Forbidden(
            f"it has the role {caller.token.role.value}, and {call.method} {call.path} needs {_needed(call)}"
        )
    if call.is_own and caller.token.role is Role.AGENT and "task_id" in connection.path_params:
        await check_own(caller, connection.path_params["task_id"])
    return caller


async def identified(connection: HTTPConnection, serving: Serving) -> Caller:
    scheme, _, text = connection.headers.get("authorization", "").partition(" ")
    first = serving.yards.first
    if not text and serving.is_open and not await first.has_tokens():
        return Caller(yard=first, token=_owner(first.workspace))
    token = await first.known_by(text.strip()) if scheme.lower() == "bearer" else None
    if token is None:
        raise Unauthorized
    return Caller(yard=serving.yards.of(token.workspace), token=token)


async def check_own(caller: Caller, task_id: str) -> None:
    """An agent sees what it holds or has held; of anything else it does not even learn that it is there."""
    for agent in await caller.yard.holders(task_id):
        if caller.token.works_as(agent, await caller.yard.agent_type(agent)):
            return
    raise NotFound("task", task_id)


def check_origin(connection: HTTPConnection, serving: Serving) -> None:
    """Keep out what a browser was made to send: names that are not ours, and pages of other sites."""
    headers = connection.headers
    if _name(headers.get("host", "")) not in serving.hosts:
        raise Forbidden("the Host header names another server; see --allow-host")
    is_change = connection.scope["type"] == "websocket" or connection.scope["method"] not in SAFE
    origin = headers.get("origin")
    if is_change and origin is not None and urlsplit(origin).netloc != headers.get("host"):
        raise Forbidden("the request comes from a page of another site")
    if is_change and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Forbidden("the request comes from a page of another site")


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def _needed(call: Call) -> str:
    return " or ".join(sorted(role.value for role in call.roles or ()))


def _owner(workspace: str) -> Token:
    """Whoever can reach a server that is open on loopback only."""
    return _unwritten("local", Role.ADMIN, workspace)


def _stranger(workspace: str) -> Token:
    """Whoever asks for what is nobody's secret."""
    return _unwritten("anonymous", Role.VIEWER, workspace)


def _unwritten(name: str, role: Role, workspace: str) -> Token:
    return Token(
        id=name,
        name=name,
        role=role,
        workspace=workspace,
        sealed="",
        agent=None,
        created_at=Micros(0),
        created_by="",
        expires_at=None,
    )
