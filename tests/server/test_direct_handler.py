"""The short way to an endpoint refuses what the framework refuses, in the same words, and leaves the rest to it."""

from contextlib import AsyncExitStack

import httpx
import pytest
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.types import Message

from taskyard.api import calls
from taskyard.server.request import Handle, direct_handler
from taskyard.server.server import served
from taskyard.yard import Yard
from tests.server.calling import ROUTES

OF_WORKERS = (calls.ENQUEUE, calls.ENQUEUE_MANY, calls.CLAIM, calls.COMPLETE, calls.HEARTBEAT, calls.CHANGED)


def framework_of(route: APIRoute) -> Handle:
    return APIRoute.get_route_handler(route)


def is_direct(route: APIRoute) -> bool:
    framework = framework_of(route)
    return direct_handler(route, framework) is not framework


DIRECT = [route for route in ROUTES if is_direct(route)]
REFUSED = [route for route in DIRECT if route.dependant.path_params or route.body_field is not None]


async def errors_of(handle: Handle, route: APIRoute) -> list[object]:
    """What is wrong with a request whose names are too long and whose body is a list."""
    names = {field.alias: "x" * 2000 for field in route.dependant.path_params}
    body = b"[1]"

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {
        "type": "http",
        "method": min(route.methods or ()),
        "path": route.path,
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        "path_params": names,
        "state": {"caller": None},
    }
    async with AsyncExitStack() as stack:
        scope |= dict.fromkeys(("fastapi_middleware_astack", "fastapi_inner_astack", "fastapi_function_astack"), stack)
        with pytest.raises(RequestValidationError) as refused:
            await handle(Request(scope, receive))
    return [*refused.value.errors()]


def test_calls_of_workers_go_the_short_way():
    paths = {(min(route.methods or ()), route.path) for route in DIRECT}

    assert {(call.method, call.path) for call in OF_WORKERS} <= paths
    assert len(DIRECT) > 150


async def test_errors_are_those_of_the_framework():
    for route in REFUSED:
        framework = framework_of(route)
        said = await errors_of(direct_handler(route, framework), route)

        assert said == await errors_of(framework, route), route.path
        assert said != [], route.path


async def test_a_request_with_a_query_goes_by_the_framework(yard: Yard):
    task = await yard.enqueue("code")
    async with served(yard) as server, httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as client:
        plain, shown = [(await client.get(f"/api/tasks/{task.id}{query}")).json() for query in ("", "?view=multica")]

    assert (plain["id"], plain["status"]) == (task.id, "ready")
    assert shown["status"] == "queued"
