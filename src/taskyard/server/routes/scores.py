"""Scores: how good the results of tasks are."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from taskyard.api import calls, openapi
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.scores.views import ScoreView, VariantReport
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("scores")
SCORES = openapi.answer("Scores", scores=list[ScoreView])


@routes.add(calls.ADD_SCORE, model(ScoreView))
async def add_score(caller: Calling, asked: models.AddScore) -> Response:
    """Say how good a task's result is. The same caller's score under this name is replaced."""
    return answer(write(await caller.yard.scores.add(**asked.model_dump(), by=caller.by)))


@routes.add(calls.SCORES, SCORES)
async def scores(
    caller: Calling, task_id: Annotated[str, Query(max_length=255, description="The task's id.")]
) -> Response:
    """The scores of a task."""
    return answer({"scores": write(await caller.yard.scores.list(task_id))})


@routes.add(calls.SCORE_REPORT, model(VariantReport))
async def score_report(
    caller: Calling,
    type: Annotated[str, Query(max_length=255, description="Of tasks.")],
    days: Annotated[float, Query(ge=0, le=400)] = 30,
) -> Response:
    """The variants of a type beside each other, with 95 % intervals."""
    return answer(write(await caller.yard.scores.report(type, days=days)))
