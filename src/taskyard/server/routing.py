"""From the table of calls to routes: no path is written here.

The framework compares a request with one route after the other, and there are two hundred. The index finds the few that
a path can be of by its first names, so that a call costs the same wherever its route stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Annotated, Any, NamedTuple, TypeVar

from fastapi import APIRouter, Depends, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from taskyard.api.calls import Call
from taskyard.api.openapi import Problem
from taskyard.core.json_value import Json, compact
from taskyard.server.access.auth import Caller
from taskyard.server.request import GuardedRoute, let_through
from taskyard.stores.turns import TURN, in_pieces, let_go, pause

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Response]])
Item = TypeVar("Item")
MEDIA_TYPE = "application/json"
SENT_AT_ONCE = 5  # pieces of a long answer, of ten items each: some 50 kB

# Not as `model`: the framework would say that problems come as application/json.
_PROBLEM = {"application/problem+json": {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": words, "content": _PROBLEM}
    for status, words in {
        401: "no token, or none that is good",
        403: "the token does not allow this",
        404: "there is no such thing in this workspace",
        408: "the body took too long to come",
        409: "what is stored does not allow it",
        413: "more than one request may carry",
        422: "a field breaks a rule",
        429: "too many calls",
        503: "the yard cannot serve this now",
        507: "the store is full",
    }.items()
}


Calling = Annotated[Caller, Depends(let_through)]


def answer(document: Json, status: int = 200) -> Response:
    """A document as it is: what it holds was made by the yard, and needs no second look."""
    return Response(compact(document), status, media_type=MEDIA_TYPE)


class LongAnswer(Response):
    """A document that was made in pieces, in turns; it goes out in turns too.

    In one piece, joining, encoding and sending a megabyte would keep the loop for some milliseconds.
    """

    def __init__(self, pieces: Sequence[bytes], status: int) -> None:
        self._pieces = pieces
        length = sum(map(len, pieces))
        super().__init__(status_code=status, headers={"content-length": str(length)}, media_type=MEDIA_TYPE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as ASGI has it
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for place in range(0, len(self._pieces), SENT_AT_ONCE):
            if place:
                await pause()
            rest = self._pieces[place : place + SENT_AT_ONCE]
            is_last = place + SENT_AT_ONCE >= len(self._pieces)
            await send({"type": "http.response.body", "body": b"".join(rest), "more_body": not is_last})


async def created(before: str, spell: Callable[[Item], str], items: list[Item], after: str) -> Response:
    """The answer to a call that made all of these, which are let go: `spell` gives the JSON text of each."""

    def spelled(piece: Sequence[Item]) -> list[bytes]:
        return [f",{','.join(map(spell, piece))}".encode()]

    pieces = await in_pieces(spelled, items, size=TURN)
    pieces[0] = pieces[0].removeprefix(b",")
    await let_go(items)
    return LongAnswer([before.encode(), *pieces, after.encode()], 201)


class Routes:
    """The routes of one group of calls, for serving; and the same with what they answer, for the document."""

    def __init__(self, group: str) -> None:
        self.router = APIRouter(route_class=GuardedRoute)
        self._group = group
        self._answers: list[Callable[[APIRouter], None]] = []  # each adds a route with its answers

    def add(
        self,
        call: Call,
        shape: Any,
        *,
        status: int = 200,
        more: dict[int | str, dict[str, Any]] | None = None,
        extra: dict[str, Any] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Answer a call with this handler."""

        def bind(handler: Handler) -> Handler:
            # Without a shape: only the document needs it, and the framework would make fields of it at every start.
            self.router.add_api_route(
                call.path, handler, methods=[call.method], status_code=status, response_model=None
            )
            self._answers.append(partial(document, handler))
            return handler

        def document(handler: Handler, router: APIRouter) -> None:
            router.add_api_route(
                call.path,
                handler,
                methods=[call.method],
                operation_id=handler.__name__,
                summary=handler.__name__.replace("_", " "),
                status_code=status,
                response_model=shape,
                responses={**_PROBLEMS, **(more or {})},
                openapi_extra=extra,
            )

        return bind

    def documented(self) -> list[BaseRoute]:
        """The routes with what they answer."""
        router = APIRouter(tags=[self._group])
        for add in self._answers:
            add(router)
        return router.routes


_INDEXED = 2  # names that no path leaves open: /api/tasks
_OPEN = ""  # stands for a last name that the path leaves open


class _Key(NamedTuple):
    """What a route and the requests for it have in common."""

    method: str
    length: int
    first: tuple[str, ...]
    last: str


class RouteIndex(BaseRoute):
    """The same routes by method and path. What it does not find, such as another method's path, is left to the list."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self.path_format: str | None = None  # of the last match: the framework names its span by it, before it awaits
        self._routes: dict[_Key, list[Route]] = defaultdict(list)
        for route in routes:
            if isinstance(route, Route) and _is_plain(route.path):
                for method in route.methods or ():
                    key = _key(method, route.path)
                    self._routes[key._replace(last=_OPEN) if "{" in key.last else key].append(route)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http" and not scope.get("root_path"):
            key = _key(scope["method"], scope["path"])
            for route in chain(self._routes.get(key, ()), self._routes.get(key._replace(last=_OPEN), ())):
                match, more = route.matches(scope)
                if match is Match.FULL:
                    self.path_format = route.path_format
                    return match, {**more, "route": route}
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["route"].handle(scope, receive, send)


def _key(method: str, path: str) -> _Key:
    names = path.split("/")
    return _Key(method, len(names), tuple(names[1 : 1 + _INDEXED]), names[-1])


def _is_plain(path: str) -> bool:
    """Whether a request for this path has as many names, of which the first are the same."""
    return ":" not in path and not any("{" in name for name in path.split("/")[1 : 1 + _INDEXED])
