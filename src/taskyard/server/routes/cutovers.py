"""Cutovers: how far one queue has taken the place of another."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from taskyard.api import calls, openapi
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.features.cutovers.views import CutoverView
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("cutovers")
CutoverAt = Annotated[str, Path(description="The cutover's name.", max_length=255)]
CUTOVERS = openapi.answer("Cutovers", cutovers=list[CutoverView])


@routes.add(calls.START_CUTOVER, model(CutoverView))
async def start_cutover(caller: Calling, name: CutoverAt, asked: models.StartCutover) -> Response:
    """Begin with writing to both queues. Under a name that is there nothing begins anew."""
    return answer(write(await caller.yard.cutovers.start(name, **asked.model_dump(), by=caller.by)))


@routes.add(calls.CUTOVERS, CUTOVERS)
async def cutovers(caller: Calling) -> Response:
    """All cutovers, by name."""
    return answer({"cutovers": write(await caller.yard.cutovers.list())})


@routes.add(calls.CUTOVER, model(CutoverView))
async def cutover(caller: Calling, name: CutoverAt) -> Response:
    """The phase, the figures, and what stands in the way of the next phase."""
    return answer(write(await caller.yard.cutovers.get(name)))


@routes.add(calls.MOVE_CUTOVER, model(CutoverView))
async def move_cutover(caller: Calling, name: CutoverAt, asked: models.MoveCutover) -> Response:
    """Go on to the next phase, or back. Refused where something stands in the way."""
    return answer(write(await caller.yard.cutovers.move(name, **asked.model_dump(), by=caller.by)))


@routes.add(calls.REPORT_CUTOVER, model(CutoverView))
async def report_cutover(caller: Calling, name: CutoverAt, asked: models.ReportCutover) -> Response:
    """Add what a program has counted in a phase."""
    return answer(write(await caller.yard.cutovers.report(name, **asked.model_dump())))


@routes.add(calls.REMOVE_CUTOVER, DONE)
async def remove_cutover(caller: Calling, name: CutoverAt) -> Response:
    """Forget a cutover."""
    await caller.yard.cutovers.remove(name, by=caller.by)
    return answer({"ok": True})
