"""Triggers: work that is made by events, and the hooks that others deliver to."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Request, Response

from taskyard.api import calls, openapi
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.core.errors import DeliveryRefused
from taskyard.features.sources.fires import Fire
from taskyard.features.triggers.views import AddedTrigger, TriggerView
from taskyard.ledger.signing import HEADERS
from taskyard.server.access.auth import Serving, address_of
from taskyard.server.routes.sources import FIRES, Below, Limit
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("triggers")
TriggerAt = Annotated[str, Path(description="A trigger's id.", max_length=255)]
TRIGGERS = openapi.answer("Triggers", triggers=list[TriggerView])
SECRET = openapi.answer("Secret", secret=str)


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


@routes.add(calls.DELIVER, DONE)
async def deliver(
    request: Request, path: Annotated[str, Path(description="What `hooks add` and `hooks show` tell.", max_length=255)]
) -> Response:
    """Take a delivery that is signed with the hook's secret. A refusal does not say why."""
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
