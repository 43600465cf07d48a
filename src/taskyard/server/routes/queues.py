"""Queues: pausing them, their presets, and what is slowed down."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from taskyard.api import calls, openapi, requests
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import DONE
from taskyard.features.queues.views import QueueView, ThrottleView
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("queues")
QUEUES = openapi.answer("Queues", queues=list[QueueView])
THROTTLES = openapi.answer("Throttles", throttles=list[ThrottleView])
QueueAt = Annotated[str, Path(description="A queue's name.", max_length=255)]


@routes.add(calls.QUEUES, QUEUES)
async def queues(caller: Calling) -> Response:
    """The queues, and which of them are paused."""
    return answer({"queues": write(await caller.yard.queues.list())})


@routes.add(calls.PAUSE_QUEUE, DONE)
async def pause_queue(caller: Calling, queue: QueueAt) -> Response:
    """Hand nothing out of this queue."""
    await caller.yard.queues.pause(queue, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.RESUME_QUEUE, DONE)
async def resume_queue(caller: Calling, queue: QueueAt) -> Response:
    """Hand work out of this queue again."""
    await caller.yard.queues.resume(queue, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.QUEUE_PRESET, DONE)
async def set_queue_preset(caller: Calling, queue: QueueAt, asked: requests.QueuePreset) -> Response:
    """Tasks put into this queue from now on follow that preset."""
    await caller.yard.queues.set_preset(queue, asked.preset, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.SET_PRESET, DONE)
async def set_preset(caller: Calling, asked: requests.Preset) -> Response:
    """Tasks put in from now on follow that preset; those that are there keep theirs."""
    await caller.yard.presets.set(asked.preset, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.REPORT_POLICY, DONE)
async def set_report_policy(caller: Calling, asked: requests.ReportPolicy) -> Response:
    """Whether tasks put in from now on are completed only with a decision report."""
    await caller.yard.queues.set_report_policy(asked.required, queue=asked.queue, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.THROTTLES, THROTTLES)
async def throttles(caller: Calling) -> Response:
    """What is slowed down after a provider's rate limit."""
    return answer({"throttles": write(await caller.yard.queues.throttles())})


@routes.add(calls.LIFT_THROTTLE, DONE)
async def lift_throttle(caller: Calling, asked: models.LiftThrottle) -> Response:
    """Hand out what is slowed down before its time."""
    await caller.yard.queues.lift_throttle(asked.type, model=asked.model, by=caller.by)
    return answer({"ok": True})
