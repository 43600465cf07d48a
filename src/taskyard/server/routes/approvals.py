"""Approvals: which tasks wait for a person, and the signals that answer them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from taskyard.api import calls, openapi, requests
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.approvals.views import Approval
from taskyard.features.attempts.views import Receipt
from taskyard.server.routes.tasks import Limit, TaskAt
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("approvals")
OfTask = Annotated[str | None, Query(description="Only what this task waits for.", max_length=255)]
APPROVALS = openapi.answer("Approvals", approvals=list[Approval])


@routes.add(calls.APPROVALS, APPROVALS)
async def approvals(caller: Calling, limit: Limit = 200, task_id: OfTask = None) -> Response:
    """Tasks that wait for a person's word, longest first; or what one task waits for."""
    return answer({"approvals": write(await caller.yard.approvals.list(limit=limit, task_id=task_id))})


@routes.add(calls.SIGNAL, model(Receipt))
async def signal(caller: Calling, task_id: TaskAt, asked: requests.SendSignal) -> Response:
    """Tell a task something it waits for, such as an approval."""
    receipt = await caller.yard.signal(task_id, asked.name, asked.data, sent_by=caller.by, wait=asked.wait)
    return answer(write(receipt))
