"""From the table of calls to routes: no path is written here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Response
from starlette.requests import HTTPConnection

from taskyard.api.calls import Call
from taskyard.api.openapi import Problem
from taskyard.core.json_value import Json, compact
from taskyard.server.access.auth import Caller
from taskyard.server.request import GuardedRoute

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Response]])
MEDIA_TYPE = "application/json"

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


# Asynchronous although it waits for nothing: the framework would call a plain function in a thread.
async def _let_through(connection: HTTPConnection) -> Caller:
    return connection.state.caller


Calling = Annotated[Caller, Depends(_let_through)]


def answer(document: Json, status: int = 200) -> Response:
    """A document as it is: what it holds was made by the yard, and needs no second look."""
    return Response(compact(document), status, media_type=MEDIA_TYPE)


def spelled(text: str, status: int = 200) -> Response:
    """A document that is JSON text already."""
    return Response(text, status, media_type=MEDIA_TYPE)


class Routes:
    """The routes of one group of calls."""

    def __init__(self, group: str) -> None:
        self.router = APIRouter(route_class=GuardedRoute, tags=[group])

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
            self.router.add_api_route(
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
            return handler

        return bind
