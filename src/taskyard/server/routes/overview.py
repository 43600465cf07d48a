"""How the workspace stands, and figures over time."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Request, Response

from taskyard.api import calls
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.overview.views import Overview, Series
from taskyard.server.access.auth import Serving
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("overview")


@routes.add(calls.OVERVIEW, model(Overview))
async def overview(caller: Calling, request: Request) -> Response:
    """How the workspace stands, what asks for somebody first: read once a second, whoever asks."""
    serving: Serving = request.app.state.serving
    return answer(write(await serving.overviews.of(caller.yard.workspace, caller.yard.overview.figures)))


@routes.add(calls.SERIES, model(Series))
async def series(
    caller: Calling,
    window: Annotated[Literal["1h", "6h", "24h", "7d", "14d", "30d", "90d"], Query()] = "1h",
    by: Annotated[Literal["type", "agent", "queue"] | None, Query()] = None,
) -> Response:
    """What came, went and failed, how long it took and what it cost, in buckets of time; with `by`, for each."""
    return answer(write(await caller.yard.overview.series(window, by=by)))
