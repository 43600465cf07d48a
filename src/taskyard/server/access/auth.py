"""Who is calling, and whether they may: deny by default.

Without tokens the server listens on loopback only, and whoever can reach it is its owner; browsers of other sites are
kept out by the checks of Host and Origin. With tokens every call but the open ones shows one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from taskyard.api.calls import HEALTHY, NOTHING, Call
from taskyard.core.agent import AgentStatus
from taskyard.core.errors import Forbidden, IdentityTaken, LeaseLost, NotFound, TaskyardError, Unauthorized
from taskyard.core.json_value import is_object
from taskyard.core.runtime import process_of
from taskyard.core.units import Micros
from taskyard.definition.arguments import AgentName, agent_name
from taskyard.features.approvals.rules import Person
from taskyard.features.overview.views import Overview
from taskyard.features.tasks.multica import task_of
from taskyard.features.tokens.people import Membership
from taskyard.features.tokens.rules import Role, Token, presented
from taskyard.server.access.cookies import shown_session
from taskyard.server.access.limiter import Limiter, OneAtATime, Rate
from taskyard.server.access.trusted_proxy import TrustedProxy
from taskyard.server.metrics import Figures
from taskyard.server.response_cache import Fresh
from taskyard.server.yards import Yards
from taskyard.stores.turns import ShortCalls
from taskyard.yard import Yard

if TYPE_CHECKING:
    from taskyard.outbound.oidc_provider import OidcProvider
    from taskyard.server.mounts.mounted import Mount

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})
GIVEN_ONCE = ("host", "origin", "authorization", "content-type", "content-length", "cookie", "sec-fetch-site")
SENT_WITHIN = 60.0  # seconds that a body may take to come in
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How this server is run."""

    yards: Yards
    is_open: bool  # no token is needed while none was ever given out: only ever on loopback
    hosts: frozenset[str] = LOOPBACK  # names by which it may be called
    most_bytes: int = 16 << 20
    most_sending_sec: float = SENT_WITHIN
    calls: Limiter = field(default_factory=lambda: Limiter(Rate(per_sec=4000, burst=10_000)))  # by token, or address
    large_calls: OneAtATime = field(default_factory=OneAtATime)  # by token
    short_calls: ShortCalls = field(default_factory=ShortCalls)  # which large ones give way to
    guesses: Limiter = field(default_factory=lambda: Limiter(Rate(per_sec=10, burst=100)))  # bad tokens, by address
    most_listeners: int = 100  # connections that follow events, of one token
    most_strangers: int = 20  # that have yet to show a token, of one address
    figures: Figures = field(default_factory=Figures)
    problems: Callable[[], list[str]] = list  # what this process should do beside serving, and does not
    mcp: Mount | None = None  # what answers at /mcp; None: its library is not installed
    issuer: str | None = None  # the authorization server that hands out this yard's tokens, for clients of MCP to find
    a2a: Mount | None = None  # the same at /a2a
    members: tuple[Membership, ...] = ()  # what the groups of people who sign in are here
    oidc: OidcProvider | None = None  # where people sign in besides with a token
    proxy: TrustedProxy | None = None  # what knows the proxies that may name the caller
    proxies: tuple[str, ...] = ()  # addresses and networks of proxies that may also say where a call comes from
    overviews: Fresh[Overview] = field(
        default_factory=lambda: Fresh[Overview](share=4)
    )  # fresher than other answers: people wait for them

    @property
    def mounts(self) -> list[Mount]:
        return [each for each in (self.mcp, self.a2a) if each is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody who may make the call, and the yard that they see."""

    yard: Yard
    token: Token
    calls: Limiter

    def charge(self, items: int) -> None:
        """Count the items of a call whose number only its end shows: each one beyond the first costs as a call does."""
        if self.token.sealed and items > 1:
            self.calls.charge(self.token.id, items - 1)

    @property
    def by(self) -> str:
        return self.token.by

    @property
    def token_id(self) -> str | None:
        """What listeners and questions are counted by; None: who needs no token has none."""
        return self.token.id if self.token.sealed else None

    @property
    def person(self) -> Person:
        """Who answers a question. An admin is an operator too."""
        role = self.token.role
        roles = (role.value,) if role is not Role.ADMIN else (Role.OPERATOR.value, role.value)
        return Person(self.by, roles, self.token.groups, token=self.token_id)

    async def must_work_as(self, agent_id: str, agent_type: str | None = None) -> None:
        """Refuse to act in the name of an agent that the token is not for."""
        if agent_type is None and self.token.role is Role.AGENT:
            agent_type = await self.yard.local.permissions.agent_type(agent_id)
        if not self.token.works_as(agent_id, agent_type):
            raise Forbidden(f"this token works as {self.token.agent}, not as {agent_id}")

    async def registering(
        self, agent_id: str | None, agent_type: str | None, runtime_id: str | None, incarnation: str | None
    ) -> AgentName:
        """The agent that the call registers. An agent's token registers only ids of its type, and none that drains."""
        known = {str(view.id): view for view in await self.yard.agents.list()}
        types = {name: agent.type for name, agent in known.items()}
        name = agent_name(agent_id or self.token.agent_id, agent_type or self.token.agent, types)
        if self.token.role is not Role.AGENT:
            return name
        await self.must_work_as(name.id, name.type)
        if runtime_id is not None:
            await self.must_host(runtime_id, incarnation)
        if name.id in known:
            if known[name.id].status is AgentStatus.DRAINING:
                raise Forbidden(f"{name.id} is draining, and an operator resumes it")
        elif name.id not in (self.token.agent, self.token.agent_id) and await self.yard.local.permissions.is_addressed(
            name.id
        ):
            # Somebody means another agent by that name, of which nothing is known yet.
            raise IdentityTaken(name.id, "work is addressed to it, and this token is not for that id")
        return name

    async def must_host(self, runtime_id: str, incarnation: str | None) -> None:
        """Refuse to speak for a runtime, or a process of it, that hosts others than the token's agent.

        They would lose their work. Other processes of the same runtime may host whom they like.
        """
        process = process_of(runtime_id, incarnation)
        for view in await self.yard.agents.list() if self.token.role is Role.AGENT else ():
            hosted_by = view.process if incarnation else view.runtime_id
            if hosted_by == process:
                await self.must_work_as(view.id, view.type)


async def admitted(connection: HTTPConnection, call: Call) -> Caller:
    """The caller, where the call is theirs to make."""
    serving: Serving = connection.app.state.serving
    check_origin(connection, serving)
    if call.roles is None:
        _count_stranger(connection, call, serving)
        return Caller(yard=serving.yards.first, token=_stranger(serving.yards.first.workspace), calls=serving.calls)
    # Not where anybody may ask: a link in a message, or a provider that a browser comes back from, leads to a page.
    if _is_unasked(connection, serving):
        _check_site(connection)
    caller = await identified(connection, serving)
    count_call(caller, connection, serving)
    if not call.allows(caller.token.role):
        raise Forbidden(
            f"it has the role {caller.token.role.value}, and {call.method} {call.path} needs {_needed(call)}"
        )
    if call.is_own and caller.token.role is Role.AGENT and "task_id" in connection.path_params:
        await check_own(caller, task_of(connection.path_params["task_id"]))
    return caller


async def identified(connection: HTTPConnection, serving: Serving, shown: str | None = None) -> Caller:
    """Whoever calls, by the token in the header or by one that was shown otherwise."""
    address, shown = address_of(connection), shown_token(connection) if shown is None else shown
    # For the log: the id of a token is no secret, and says which one was refused.
    connection.state.token = None if (parts := presented(shown)) is None else parts.id
    serving.guesses.check(address, cost=0)
    try:
        return await caller_with(shown, serving)
    except Unauthorized:
        if shown:  # who forgets the token is no guesser
            serving.guesses.check(address)
        raise


def count_call(caller: Caller, connection: HTTPConnection, serving: Serving) -> None:
    """Refuse a call, or a message, that comes too soon after too many others: `TooManyRequests`."""
    serving.calls.check(caller.token.id if caller.token.sealed else address_of(connection))


def count_items(caller: Caller, items: int, serving: Serving) -> None:
    """Let a call of a token cost what it carries: each item beyond the first as much as a call of its own.

    It is made where there is room for one, and what it carries is then missing for the calls that come next. Whoever
    needs no token here is the owner, with nobody to share with.
    """
    if caller.token.sealed and items > 1:
        serving.calls.check(caller.token.id, cost=items - 1)


def _count_stranger(connection: HTTPConnection, call: Call, serving: Serving) -> None:
    """Count a call that needs no token before its body is read; an address that guessed often is refused here."""
    if call is not HEALTHY:
        serving.calls.check(address_of(connection))
    if call.bounds is not NOTHING:
        serving.guesses.check(address_of(connection), cost=0)


def address_of(connection: HTTPConnection) -> str:
    """The address of the caller; a Unix socket has none."""
    return "local" if connection.client is None else connection.client.host


def shown_token(connection: HTTPConnection) -> str:
    """The text of the token in the header, of whom a trusted proxy names, or of a browser's session.

    A header with another scheme than Bearer is returned whole: no token matches it.
    """
    header = connection.headers.get("authorization", "")
    if not header:
        serving: Serving = connection.app.state.serving
        named = "" if serving.proxy is None else serving.proxy.shown(connection, serving.yards.first.now())
        return named or shown_session(connection)
    scheme, _, text = header.partition(" ")
    return text.strip() if scheme.lower() == "bearer" else header


async def caller_with(shown: str, serving: Serving) -> Caller:
    """The caller who shows this text. On an open server without tokens, an empty text is enough."""
    first = serving.yards.first
    if not shown and serving.is_open and not await first.local.tokens.exist():
        return Caller(yard=first, token=_owner(first.workspace), calls=serving.calls)
    token = None if serving.proxy is None else serving.proxy.token_of(shown, first.now())
    token = token or await first.local.tokens.known_by(shown)
    if token is None:
        raise Unauthorized
    return Caller(yard=serving.yards.of(token.workspace), token=token, calls=serving.calls)


async def check_own(caller: Caller, task_id: str) -> None:
    """An agent sees what it holds or has held; of anything else it does not even learn that it is there."""
    for agent in await caller.yard.local.permissions.holders(task_id):
        if await _is_own(caller, agent):
            return
    raise NotFound("task", task_id)


async def check_lease(caller: Caller, names: Mapping[str, str], body: object) -> None:
    """A lease alone is not enough: an agent's token goes with the leases of its own attempts, and no others."""
    lease = body.get("lease") if is_object(body) else None
    if lease is not None and "task_id" in names:
        await check_own_lease(caller, task_of(names["task_id"]), str(lease))


async def check_own_lease(caller: Caller, task_id: str, lease: str) -> None:
    (refusal,) = await lease_refusals(caller, [(task_id, lease)])
    if refusal is not None:
        raise refusal


async def lease_refusals(caller: Caller, leases: Sequence[tuple[str, str]]) -> list[TaskyardError | None]:
    """The error for each task whose lease was not given to the calling agent, else None. It may have expired."""
    if caller.token.role is not Role.AGENT:
        return [None] * len(leases)
    return [
        None if agent is not None and await _is_own(caller, agent) else await _refusal(caller, task_id)
        for (task_id, _), agent in zip(leases, await caller.yard.local.permissions.lease_holders(leases), strict=True)
    ]


async def _refusal(caller: Caller, task_id: str) -> TaskyardError:
    try:
        await check_own(caller, task_id)
    except NotFound as unknown:
        return unknown
    return LeaseLost(task_id)


async def _is_own(caller: Caller, agent: str) -> bool:
    return caller.token.works_as(agent, await caller.yard.local.permissions.agent_type(agent))


def check_origin(connection: HTTPConnection, serving: Serving) -> None:
    """Keep out what a browser was made to send: names that are not ours, and pages of other sites."""
    headers = connection.headers
    for name, number in Counter(name for name, _ in headers.raw).items():
        if number > 1 and (given := name.decode("latin-1")) in GIVEN_ONCE:
            raise Forbidden(f"it has the header {given} twice, and a proxy may have gone by the other one")
    if _name(headers.get("host", "")) not in serving.hosts:
        raise Forbidden("the Host header names another server; see --allow-host")
    is_change = connection.scope["type"] == "websocket" or connection.scope["method"] not in SAFE
    origin = headers.get("origin")
    if is_change and origin is not None and urlsplit(origin).netloc != headers.get("host"):
        raise Forbidden("the request comes from a page of another site")
    if serving.proxy is not None:
        serving.proxy.check(connection)
    if is_change:
        _check_site(connection)
    if (
        is_change
        and _is_unasked(connection, serving)
        and origin is None
        and headers.get("sec-fetch-site") != "same-origin"
    ):
        raise Forbidden("a change that is made in a session says which page it comes from")


def _is_unasked(connection: HTTPConnection, serving: Serving) -> bool:
    """Whether a cookie or a proxy proves who calls without the user's doing, so that the request must name its page.

    A browser shows a session whether or not its user means to, and a proxy names whoever sends something through it.
    """
    is_named = serving.proxy is not None and serving.proxy.names_somebody(connection)
    return is_named or bool(shown_session(connection))


def _check_site(connection: HTTPConnection) -> None:
    if connection.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
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
