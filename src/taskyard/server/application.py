"""The HTTP application: every call of the table, and nothing beside them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache, partial
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from taskyard.api.calls import DOCS
from taskyard.api.openapi import Problem
from taskyard.server import problems
from taskyard.server.access.auth import Serving
from taskyard.server.access.oidc_sign_in import CallbackRoute, StartRoute
from taskyard.server.access_log import AccessLog
from taskyard.server.issuer import MetadataRoute
from taskyard.server.live.connections import Live
from taskyard.server.mounts.mounted import Mount, mount_routes
from taskyard.server.pages.dashboard_files import BUILT, PageRoute, Pages
from taskyard.server.pages.manual import manual
from taskyard.server.routes import (
    a2a,
    agents,
    approvals,
    artifacts,
    attempts,
    audit,
    board,
    breakers,
    budgets,
    cutovers,
    dags,
    dead_letters,
    events,
    handles,
    inbox,
    memory,
    metrics,
    notifications,
    overview,
    provider_batches,
    queues,
    reports,
    saved_views,
    schedules,
    scores,
    streams,
    subagents,
    tasks,
    tokens,
    triggers,
    variants,
    verify,
)
from taskyard.server.routing import RouteIndex
from taskyard.server.time_header import TimeHeader

GROUPS = (
    tasks,
    attempts,
    dags,
    approvals,
    handles,
    a2a,
    dead_letters,
    agents,
    queues,
    breakers,
    budgets,
    schedules,
    triggers,
    inbox,
    streams,
    subagents,
    artifacts,
    memory,
    scores,
    variants,
    saved_views,
    notifications,
    cutovers,
    tokens,
    audit,
    events,
    overview,
    board,
    reports,
    provider_batches,
    metrics,
    verify,
)
DESCRIPTION = "A durable task queue for AI agents. Errors are RFC 9457 problems with `code` and `retryable`."


def application(serving: Serving) -> FastAPI:
    app = _routed(route for group in GROUPS for route in group.routes.router.routes)
    app.state.serving = serving
    app.state.live = Live(serving)
    problems.install(app)
    app.add_middleware(TimeHeader)
    app.add_middleware(AccessLog)  # the last one added is around the others
    app.openapi = document  # made when it is first asked for: that takes as long as all else that a server starts with
    app.add_route(DOCS.path, manual, include_in_schema=False)
    app.router.routes.insert(0, RouteIndex(app.router.routes))
    app.router.routes += [*mount_routes(), MetadataRoute(), StartRoute(), CallbackRoute(), PageRoute(Pages(BUILT))]
    app.router.lifespan_context = partial(_running, serving.mounts)
    return app


@asynccontextmanager
async def _running(mounts: Sequence[Mount], app: ASGIApp) -> AsyncGenerator[None]:
    async with AsyncExitStack() as stack:
        for mount in mounts:
            await stack.enter_async_context(mount.running(app))
        yield


def _routed(routes: Iterable[BaseRoute]) -> FastAPI:
    app = FastAPI(
        title="Taskyard",
        version=version("taskyard"),
        description=DESCRIPTION,
        # Both are calls of the table too; they show no data.
        openapi_url="/openapi.json",
        docs_url=None,  # the framework's own page has its scripts from another site
        redoc_url=None,
        redirect_slashes=False,  # a path is in the table or it is not
    )
    # The routes as they are: the framework's own way copies them, which takes it a second.
    app.router.routes.extend(routes)
    return app


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document, with the tokens that calls ask for: the same for every server of a process."""
    document = _routed(route for group in GROUPS for route in group.routes.documented()).openapi()
    document["components"]["schemas"][Problem.__name__] = Problem.model_json_schema()
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    return document
