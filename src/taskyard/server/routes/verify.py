"""Whether all is well: the stored history, the process, the store."""

from __future__ import annotations

from typing import Literal

from fastapi import Request, Response

from taskyard.api import calls, openapi
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.core.json_value import Json
from taskyard.features.verify.views import Verified
from taskyard.server.access.auth import Serving
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("verify")
HEALTHY = openapi.answer("Healthy", ok=Literal[True], problems=list[str])


@routes.add(calls.VERIFY, model(Verified))
async def verify(caller: Calling) -> Response:
    """Check the stored history against what the yard promises. It reads everything: not for every minute."""
    return answer(write(await caller.yard.verify()))


@routes.add(calls.HEALTHY, HEALTHY)
async def healthy(request: Request) -> Response:
    """The process answers. `problems` names what it should do beside serving, and does not."""
    serving: Serving = request.app.state.serving
    return answer({"ok": True, "problems": list[Json](serving.problems())})


@routes.add(calls.READY, DONE)
async def ready(caller: Calling) -> Response:
    """The store answers too: calls will be served."""
    await caller.yard.store.duty("sweep")
    return answer({"ok": True})
