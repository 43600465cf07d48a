"""The index of routes finds what the framework's list finds, and asks few routes for it."""

from collections.abc import Iterable

import pytest
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from taskyard.server.application import GROUPS
from taskyard.server.routing import RouteIndex

ROUTES = [route for group in GROUPS for route in group.routes.router.routes if isinstance(route, APIRoute)]
CALLS = [(method, route.path) for route in ROUTES for method in sorted(route.methods or ())]
MOST = 3  # routes that are asked for a call


def request(method: str, path: str, **more: str) -> Scope:
    return {"type": "http", "method": method, "path": path, "headers": [], "path_params": {}, **more}


def first_match(routes: Iterable[BaseRoute], scope: Scope) -> tuple[object, object]:
    """The route that the framework's list would choose, and what it reads in the path."""
    for route in routes:
        match, more = route.matches(scope)
        if match is Match.FULL:
            return more["route"], more["path_params"]
    return None, None


def filled(path: str, name: str) -> str:
    return "/".join(name if part.startswith("{") else part for part in path.split("/"))


@pytest.mark.parametrize("name", ["task_1", "batch", "a%2Fb", "again"])
def test_every_call_leads_to_the_route_that_the_list_would_choose(name: str):
    index = RouteIndex(ROUTES)
    scopes = [request(method, filled(path, name)) for method, path in CALLS]
    chosen = [first_match(ROUTES, scope) for scope in scopes]

    assert len(scopes) > 150
    assert [first_match([index], scope) for scope in scopes] == chosen
    assert None not in [route for route, _ in chosen]


@pytest.mark.parametrize(
    "scope",
    [
        request("DELETE", "/api/tasks"),
        request("GET", "/api/nothing"),
        request("GET", "/api/tasks/"),
        request("GET", "/"),
        request("GET", ""),
        request("GET", "/api/tasks", root_path="/behind"),
        {**request("GET", "/api/tasks"), "type": "websocket"},
    ],
)
def test_what_is_no_call_is_left_to_the_list(scope: Scope):
    assert RouteIndex(ROUTES).matches(scope) == (Match.NONE, {})


def test_few_routes_are_asked_for_any_call(monkeypatch: pytest.MonkeyPatch):
    asked = 0
    matches = APIRoute.matches

    def count(route: APIRoute, scope: Scope) -> tuple[Match, Scope]:
        nonlocal asked
        asked += 1
        return matches(route, scope)

    monkeypatch.setattr(APIRoute, "matches", count)
    index = RouteIndex(ROUTES)
    for method, path in CALLS:
        asked = 0
        index.matches(request(method, filled(path, "x")))
        assert asked <= MOST, path
