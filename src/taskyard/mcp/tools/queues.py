"""Tools for queues."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from taskyard.api import calls, openapi
from taskyard.mcp.desk import Desk
from taskyard.mcp.toolbox import OPERATOR, SETS, Answer, Toolbox

box = Toolbox()
Queue = Annotated[str, Field(description="The name of the queue.", max_length=255)]
STATE = openapi.answer("QueueState", queue=str, paused=bool)


@box.add(calls.PAUSE_QUEUE, STATE, OPERATOR, hints=SETS)
async def pause_queue(desk: Desk, queue: Queue) -> Answer:
    """Hand out no tasks of this queue until it is resumed. What is held goes on."""
    await desk.yard.queues.pause(queue, by=desk.by)
    return {"queue": queue, "paused": True}


@box.add(calls.RESUME_QUEUE, STATE, OPERATOR, hints=SETS)
async def resume_queue(desk: Desk, queue: Queue) -> Answer:
    """Hand out the tasks of this queue again."""
    await desk.yard.queues.resume(queue, by=desk.by)
    return {"queue": queue, "paused": False}
