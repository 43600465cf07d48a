"""What pages are made of: rows and counts, how the workspace stands, figures over time, where the money went."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Request, Response

from taskyard.api import calls
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.budgets.views import SettingsView, SpendReport
from taskyard.features.overview.views import Overview, Series
from taskyard.features.tasks.answers import Relations
from taskyard.server.auth import Serving
from taskyard.server.routes.tasks import TaskAt
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("figures")


@routes.add(calls.OVERVIEW, model(Overview))
async def overview(caller: Calling, request: Request) -> Response:
    """How the workspace stands, what asks for somebody first: read once a second, whoever asks."""
    serving: Serving = request.app.state.serving
    return answer(write(await serving.overviews.of(caller.yard.workspace, caller.yard.overview.figures)))


@routes.add(calls.SERIES, model(Series))
async def series(
    caller: Calling, window: Annotated[Literal["1h", "6h", "24h", "7d", "14d", "30d", "90d"], Query()] = "1h"
) -> Response:
    """What came, went and failed, how long it took and what it cost, in buckets of time."""
    return answer(write(await caller.yard.overview.series(window)))


@routes.add(calls.RELATIONS, model(Relations))
async def relations(caller: Calling, task_id: TaskAt) -> Response:
    """What a task hangs together with, up to 200 of each kind."""
    return answer(write(await caller.yard.tasks.relations(task_id)))


@routes.add(calls.SPEND_REPORT, model(SpendReport))
async def spend_report(caller: Calling, days: Annotated[int, Query(ge=1, le=400)] = 30) -> Response:
    """Where the money of the last days went: the first twenty of each kind."""
    return answer(write(await caller.yard.budgets.report(days)))


@routes.add(calls.SETTINGS, model(SettingsView))
async def settings(caller: Calling) -> Response:
    """What the workspace decides for all its tasks: its budget for a day among it."""
    return answer(write(await caller.yard.budgets.show()))
