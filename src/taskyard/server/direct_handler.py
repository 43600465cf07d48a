"""The short way from a request to its endpoint: without a query, a call has nothing but names in its path and a body.

The framework looks for every kind of parameter in every request and reads the body's type again. Most calls of agents
need none of that: the route has let the caller through and has read the body.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, get_type_hints

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection

from taskyard.server.access.auth import Caller

Handle = Callable[[Request], Coroutine[Any, Any, Response]]


# Asynchronous although it waits for nothing: the framework would call a plain function in a thread.
async def let_through(connection: HTTPConnection) -> Caller:
    """The caller, whom the route has let through."""
    return connection.state.caller


def direct_handler(route: APIRoute, otherwise: Handle) -> Handle:
    """A handler that calls the endpoint itself, and hands a request with a query on to the other one."""
    dependant = route.dependant
    if not _is_direct(dependant) or get_type_hints(route.endpoint).get("return") is not Response:
        return otherwise
    endpoint: Callable[..., Awaitable[Response]] = route.endpoint
    names, bodies = dependant.path_params, dependant.body_params
    callers = [each.name or "" for each in dependant.dependencies]
    left_out = {field.name: field.default for field in dependant.query_params}

    async def handle(request: Request) -> Response:
        if request.scope["query_string"]:
            return await otherwise(request)
        arguments: dict[str, Any] = {**left_out, **dict.fromkeys(callers, request.state.caller)}
        errors: list[Any] = []
        for field in names:
            found = field.validate(request.path_params[field.alias], loc=("path", field.alias))
            arguments[field.name], wrong = found
            errors += wrong
        for field in bodies:
            if await request.body():
                arguments[field.name], wrong = field.validate(await request.json(), loc=("body",))
                errors += wrong
            else:
                arguments[field.name] = field.default
        if errors:
            raise RequestValidationError(errors)
        return await endpoint(**arguments)

    return handle


def _is_direct(dependant: Dependant) -> bool:
    """Whether the endpoint takes nothing but names, one body, the caller, and a query that may be left out."""
    given = dependant.request_param_name, dependant.response_param_name, dependant.http_connection_param_name
    others = [*dependant.header_params, *dependant.cookie_params, *dependant.body_params[1:], *filter(None, given)]
    may_be_left_out = all(
        not field.field_info.is_required() and field.default.__hash__ is not None for field in dependant.query_params
    )
    return not others and may_be_left_out and all(each.call is let_through for each in dependant.dependencies)
