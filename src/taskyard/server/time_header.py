"""Every answer says what time it is in the yard, so that a client can tell without a clock that agrees."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taskyard.api.calls import NOW
from taskyard.server.access.auth import Serving

_NAME = NOW.encode()


class TimeHeader:
    """Plain ASGI: it adds a header to what passes, and holds nothing up."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        serving: Serving = scope["app"].state.serving

        async def send_with_time(message: Message) -> None:
            if message["type"] == "http.response.start":
                now = serving.yards.first.now()
                message["headers"] = [*message["headers"], (_NAME, str(now).encode())]
            await send(message)

        await self._app(scope, receive, send_with_time)
