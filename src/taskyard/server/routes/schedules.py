"""Schedules: work that is made by time."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from taskyard.api import calls, openapi
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.features.schedules.views import Preview, ScheduleView
from taskyard.features.sources.fires import Fire
from taskyard.server.routes.sources import FIRES, Below, Limit
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("schedules")
ScheduleAt = Annotated[str, Path(description="A schedule's id.", max_length=255)]
SCHEDULES = openapi.answer("Schedules", schedules=list[ScheduleView])


@routes.add(calls.ADD_SCHEDULE, model(ScheduleView), status=201)
async def add_schedule(caller: Calling, draft: models.ScheduleDraft) -> Response:
    """Make a task or a DAG from a template at certain times."""
    added = await caller.yard.schedules.add(
        draft.id,
        draft.when,
        task=draft.task,
        dag=draft.dag,
        misfire=draft.misfire,
        misfire_window_sec=draft.misfire_window_sec,
        busy=draft.busy,
        gap=draft.gap,
        overlap=draft.overlap,
        starts_at=draft.starts_at,
        ends_at=draft.ends_at,
        paused=draft.paused,
        replace=draft.replace,
        by=caller.by,
    )
    return answer(write(added), 201)


@routes.add(calls.PREVIEW_SCHEDULE, model(Preview))
async def preview_schedule(caller: Calling, asked: models.PreviewSchedule) -> Response:
    """How a time is understood, and the next five times that it names. Nothing is stored."""
    return answer(write(await caller.yard.schedules.preview(**asked.model_dump())))


@routes.add(calls.SCHEDULES, SCHEDULES)
async def schedules(caller: Calling) -> Response:
    """The schedules, by their ids."""
    return answer({"schedules": write(await caller.yard.schedules.list())})


@routes.add(calls.SCHEDULE, model(ScheduleView))
async def schedule(caller: Calling, schedule_id: ScheduleAt) -> Response:
    """One schedule, with its next times and its last fires."""
    return answer(write(await caller.yard.schedules.get(schedule_id)))


@routes.add(calls.SCHEDULE_FIRES, FIRES)
async def schedule_fires(caller: Calling, schedule_id: ScheduleAt, limit: Limit = 50, below: Below = None) -> Response:
    """When it fired, or why it did not, latest first."""
    found = await caller.yard.schedules.fires(schedule_id, limit=limit, below=below)
    return answer({"fires": write(found)})


@routes.add(calls.PAUSE_SCHEDULE, DONE)
async def pause_schedule(caller: Calling, schedule_id: ScheduleAt) -> Response:
    """Let no time fire until it is resumed."""
    await caller.yard.schedules.pause(schedule_id, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.RESUME_SCHEDULE, DONE)
async def resume_schedule(caller: Calling, schedule_id: ScheduleAt) -> Response:
    """Go on from now."""
    await caller.yard.schedules.resume(schedule_id, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.RUN_SCHEDULE, model(Fire))
async def run_schedule(caller: Calling, schedule_id: ScheduleAt) -> Response:
    """Make its work now, beside its times."""
    return answer(write(await caller.yard.schedules.run(schedule_id, by=caller.by)))


@routes.add(calls.REMOVE_SCHEDULE, DONE)
async def remove_schedule(caller: Calling, schedule_id: ScheduleAt) -> Response:
    """End it. What it has made stays."""
    await caller.yard.schedules.remove(schedule_id, by=caller.by)
    return answer({"ok": True})
