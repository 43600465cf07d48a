"""Where work comes from by itself: schedules, triggers, and the hooks that others deliver to."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Request, Response

from taskyard.api import calls, openapi
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.core.errors import DeliveryRefused
from taskyard.features.schedules.views import ScheduleView
from taskyard.features.sources.fires import Fire
from taskyard.features.triggers.views import AddedTrigger, TriggerView
from taskyard.ledger.signing import HEADERS
from taskyard.server.auth import Serving, address_of
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("sources")
ScheduleAt = Annotated[str, Path(description="A schedule's id.", max_length=255)]
TriggerAt = Annotated[str, Path(description="A trigger's id.", max_length=255)]
Limit = Annotated[int, Query(ge=1, le=200)]
Below = Annotated[str | None, Query(max_length=255, description="The key of the last one seen.")]

SCHEDULES = openapi.answer("Schedules", schedules=list[ScheduleView])
TRIGGERS = openapi.answer("Triggers", triggers=list[TriggerView])
FIRES = openapi.answer("Fires", fires=list[Fire])
SECRET = openapi.answer("Secret", secret=str)

# Schedules


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


# Triggers


@routes.add(calls.ADD_TRIGGER, model(AddedTrigger), status=201)
async def add_trigger(caller: Calling, draft: models.TriggerDraft) -> Response:
    """Make a task or a DAG from a template when something happens."""
    added = await caller.yard.triggers.add(
        draft.id,
        draft.source,
        settings=draft.settings,
        only=draft.only,
        task=draft.task,
        dag=draft.dag,
        ready_made=draft.ready_made,
        paused=draft.paused,
        replace=draft.replace,
        by=caller.by,
    )
    return answer(write(added), 201)


@routes.add(calls.TRIGGERS, TRIGGERS)
async def triggers(caller: Calling) -> Response:
    """The triggers, by their ids."""
    return answer({"triggers": write(await caller.yard.triggers.list())})


@routes.add(calls.TRIGGER, model(TriggerView))
async def trigger(caller: Calling, trigger_id: TriggerAt) -> Response:
    """One trigger, with its last fires."""
    return answer(write(await caller.yard.triggers.get(trigger_id)))


@routes.add(calls.TRIGGER_FIRES, FIRES)
async def trigger_fires(caller: Calling, trigger_id: TriggerAt, limit: Limit = 50, below: Below = None) -> Response:
    """When it fired, or why it did not, latest first."""
    found = await caller.yard.triggers.fires(trigger_id, limit=limit, below=below)
    return answer({"fires": write(found)})


@routes.add(calls.PAUSE_TRIGGER, DONE)
async def pause_trigger(caller: Calling, trigger_id: TriggerAt) -> Response:
    """Let nothing fire it until it is resumed."""
    await caller.yard.triggers.pause(trigger_id, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.RESUME_TRIGGER, DONE)
async def resume_trigger(caller: Calling, trigger_id: TriggerAt) -> Response:
    """Let it fire again."""
    await caller.yard.triggers.resume(trigger_id, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.FIRE_TRIGGER, model(Fire))
async def fire_trigger(caller: Calling, trigger_id: TriggerAt, asked: models.FireByHand) -> Response:
    """Let something happen to it by hand; with `dry_run`, only see what it would make of it."""
    fired = await caller.yard.triggers.fire(trigger_id, asked.data, key=asked.key, dry_run=asked.dry_run, by=caller.by)
    return answer(write(fired))


@routes.add(calls.ROTATE_HOOK, SECRET)
async def rotate_hook(caller: Calling, trigger_id: TriggerAt, asked: models.Rotate) -> Response:
    """Give a hook another secret, shown this once."""
    return answer({"secret": await caller.yard.triggers.rotate(trigger_id, grace_sec=asked.grace_sec, by=caller.by)})


@routes.add(calls.REMOVE_TRIGGER, DONE)
async def remove_trigger(caller: Calling, trigger_id: TriggerAt) -> Response:
    """End it. What it has made stays."""
    await caller.yard.triggers.remove(trigger_id, by=caller.by)
    return answer({"ok": True})


# Hooks


@routes.add(calls.DELIVER, DONE)
async def deliver(
    request: Request, path: Annotated[str, Path(description="What `hooks add` and `hooks show` tell.", max_length=255)]
) -> Response:
    """Take a delivery that is signed with the hook's secret. What is refused is not told why."""
    serving: Serving = request.app.state.serving
    body = await request.body()  # as it was sent, which is what was signed
    try:
        await _handed_over(serving, path, request, body)
    except DeliveryRefused:
        serving.guesses.check(address_of(request))
        raise
    return answer({"ok": True})


async def _handed_over(serving: Serving, path: str, request: Request, body: bytes) -> None:
    hook = await serving.yards.first.local.incoming_webhooks.hook_at(path)
    yard = serving.yards.first if hook is None else serving.yards.of(hook.workspace)
    headers = {each: request.headers[each] for each in HEADERS if each in request.headers}
    await yard.local.incoming_webhooks.receive(path, headers, body)
