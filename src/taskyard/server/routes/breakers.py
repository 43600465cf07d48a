"""Breakers: how they stand, moving them by hand, and their policy."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from taskyard.api import calls, openapi, requests
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.features.breakers.views import BreakerPolicyView, BreakerView
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("breakers")
BREAKERS = openapi.answer("Breakers", breakers=list[BreakerView])
BY_HAND = requests.MoveBreaker()  # what is asked for without a body
TypeAt = Annotated[str, Path(description="A type of task.", max_length=255)]


@routes.add(calls.BREAKERS, BREAKERS)
async def breakers(caller: Calling) -> Response:
    """Breakers that have ever moved, and how they stand."""
    return answer({"breakers": write(await caller.yard.breakers.list())})


@routes.add(calls.OPEN_BREAKER, DONE)
async def open_breaker(caller: Calling, type: TypeAt, asked: requests.MoveBreaker = BY_HAND) -> Response:
    """Hand out nothing of this type for a while."""
    await caller.yard.breakers.open(type, why=asked.why, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.CLOSE_BREAKER, DONE)
async def close_breaker(caller: Calling, type: TypeAt, asked: requests.MoveBreaker = BY_HAND) -> Response:
    """Hand out tasks of this type again."""
    await caller.yard.breakers.close(type, why=asked.why, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.BREAKER_POLICY, model(BreakerPolicyView))
async def set_breaker_policy(caller: Calling, asked: requests.SetBreakers) -> Response:
    """When breakers open and let a probe through: the whole policy."""
    settings = await caller.yard.breakers.set_policy(**asked.model_dump(exclude_none=True), by=caller.by)
    return answer(write(settings))
