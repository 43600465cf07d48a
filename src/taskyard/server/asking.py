"""Requests as they come in: let through or not, limited while they are read, strict about what JSON is."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from taskyard.core.errors import TooLarge
from taskyard.core.jsonvalue import decode
from taskyard.server.guarding import Serving, admitted
from taskyard.wire.calls import AT

DEEPEST = 70  # a payload may be nested as deep as 64, and is itself inside a request


class StrictRequest(Request):
    """A request whose body never takes more memory than it may, and has one meaning."""

    most_bytes: int

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            chunks: list[bytes] = []
            size = 0
            async for chunk in self.stream():
                size += len(chunk)
                if size > self.most_bytes:
                    raise TooLarge(self.most_bytes)
                chunks.append(chunk)
            self._body = b"".join(chunks)
        return self._body

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = decode(await self.body(), max_depth=DEEPEST)
        return self._json


class GuardedRoute(APIRoute):
    """A route of the table of calls: who may not make the call is turned away before the body is read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        call = AT[min(self.methods or ()), self.path]  # a path that is not in the table cannot be served
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            serving: Serving = request.app.state.serving
            asked = StrictRequest(request.scope, request.receive)
            asked.most_bytes = serving.most_bytes
            asked.state.caller = await admitted(asked, call)
            if self.body_field is not None:
                await asked.json()  # now, since the framework has an answer of its own to what is no JSON
            return await handle(asked)

        return guarded
