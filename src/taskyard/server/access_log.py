"""What is recorded of every request: a number, a log line, a count; and of a fault of ours no more than its number.

Plain ASGI, around everything else.
"""

from __future__ import annotations

import logging
from secrets import token_hex
from time import perf_counter
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taskyard.api.calls import Call
from taskyard.core.errors import TaskyardError
from taskyard.server import problems
from taskyard.server.access.auth import Caller, Serving

logger = logging.getLogger("taskyard.server")
REQUEST = "taskyard-request"  # the header with the request's number
_HEADERS = (
    (b"cache-control", b"no-store"),  # what is asked about has moved by the next time
    (b"x-content-type-options", b"nosniff"),
)


class AccessLog:
    """Numbers, logs and counts each request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        # Matched as it was sent: a name in a path may have a slash in it, and is decoded when it is known to be one.
        scope["path"] = scope["raw_path"].decode("ascii", "replace")
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        began, number, status = perf_counter(), token_hex(8), 0

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name for name, _ in message["headers"]}
                more = [header for header in _HEADERS if header[0] not in given]
                message["headers"] = [*message["headers"], *more, (REQUEST.encode(), number.encode())]
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except Exception as fault:
            logger.error("request failed", exc_info=fault, extra={"request_id": number})
            if status:  # half an answer is out: the caller must see that it is no whole one
                raise
            await problems.fault(number)(scope, receive, send_noted)
        finally:
            _tell(scope, number, status, perf_counter() - began)


def _tell(scope: Scope, number: str, status: int, seconds: float) -> None:
    state: dict[str, Any] = scope.get("state", {})
    serving: Serving = scope["app"].state.serving
    call: Call | None = state.get("call")
    caller: Caller | None = state.get("caller")
    route = call.path if call else "unknown"
    serving.figures.request(scope["method"], route, status, seconds)
    facts: dict[str, Any] = {
        "request_id": number,
        "method": scope["method"],
        "route": route,
        "status": status,
        "duration_ms": round(seconds * 1000, 1),
        "caller": caller.by if caller else None,
        "token": state.get("token"),
        "address": scope["client"][0] if scope.get("client") else None,
    }
    refusal: TaskyardError | None = state.get("refusal")
    if refusal is not None:
        serving.figures.denied(refusal.code)
        logger.warning("call denied", extra={**facts, "reason": str(refusal)})
    else:
        logger.log(logging.ERROR if status >= 500 else logging.INFO, "request", extra=facts)
