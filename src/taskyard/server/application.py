"""The HTTP application: every call of the table, and nothing beside them."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import FastAPI

from taskyard.server import problems
from taskyard.server.guarding import Serving
from taskyard.server.routes import crews, graphs, tasks, upkeep, working

GROUPS = (tasks, working, graphs, crews, upkeep)
DESCRIPTION = "A durable task queue for AI agents. Errors are RFC 9457 problems with `code` and `retryable`."


def application(serving: Serving) -> FastAPI:
    app = FastAPI(
        title="Taskyard",
        version=version("taskyard"),
        description=DESCRIPTION,
        # Both are calls of the table too; they show no data.
        openapi_url="/openapi.json",
        docs_url="/docs",
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )
    app.state.serving = serving
    problems.install(app)
    for group in GROUPS:
        app.include_router(group.routes.router)
    app.openapi_schema = _document(app)
    return app


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the tokens that calls ask for."""
    document = app.openapi()
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    return document
