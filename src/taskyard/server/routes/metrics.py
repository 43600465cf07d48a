"""What Prometheus reads."""

from __future__ import annotations

from fastapi import Request, Response

from taskyard.api import calls
from taskyard.server import metrics
from taskyard.server.access.auth import Serving
from taskyard.server.routing import Calling, Routes

routes = Routes("metrics")


@routes.add(calls.METRICS, None, more={200: {"content": {metrics.CONTENT_TYPE.partition(";")[0]: {}}}})
async def prometheus(caller: Calling, request: Request) -> Response:
    """How the yard stands, for Prometheus."""
    serving: Serving = request.app.state.serving
    return Response(await serving.figures.shown(caller.yard), media_type=metrics.CONTENT_TYPE)
