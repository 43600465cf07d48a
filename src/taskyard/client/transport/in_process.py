"""Hosts of callers within the process that serves them: their requests go into the application without a network.

Whatever speaks another protocol under a path of the server works with such a host. So each caller may do there what
their token allows over HTTP, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any
from urllib.parse import unquote

from taskyard.client.host import RemoteHost
from taskyard.client.transport.connection import Connection
from taskyard.client.transport.http_client import HttpAnswer, HttpRequest

HERE = "http://127.0.0.1"  # a name that every server answers to; no network is asked
MOST_CALLERS = 256  # whose connections are kept open
PATIENCE = 15.0  # seconds that a call within this process may take, beside what it waits for


class InProcess:
    """Answers by the application itself."""

    def __init__(self, app: Any, address: str) -> None:
        self._app = app
        self._address = address  # that the calls come from

    async def ask(self, request: HttpRequest) -> HttpAnswer:
        answer = HttpAnswer(asyncio.get_running_loop().create_future())
        body = await _whole(request)
        is_asked = False

        async def receive() -> dict[str, Any]:
            nonlocal is_asked
            if is_asked:
                await asyncio.shield(answer.ended)
                return {"type": "http.disconnect"}
            is_asked = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                answer.headers.update(
                    (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in message["headers"]
                )
                answer.begin(message["status"])
                return
            if piece := message.get("body"):
                answer.add(piece)
            if not message.get("more_body"):
                answer.end()

        try:
            await self._app(_scope(request, body, self._address), receive, send)
        except Exception:
            # It was logged there; over a network, this is all that a caller sees.
            if not answer.status:
                answer.begin(500)
        answer.end()
        return answer

    begin = ask

    async def close(self) -> None:
        """Nothing is open."""


async def _whole(request: HttpRequest) -> bytes:
    if request.body is None or isinstance(request.body, bytes):
        return request.body or b""
    return b"".join([piece async for piece in request.body])


def _scope(request: HttpRequest, body: bytes, address: str) -> dict[str, Any]:
    path, _, query = request.target.partition("?")
    headers = {"host": request.server.name, **request.headers, **({"content-length": str(len(body))} if body else {})}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("ascii"),
        "query_string": query.encode("ascii"),
        "server": (request.server.host, request.server.port),
        "client": (address, 0),
        "root_path": "",
    }


class CallerHosts:
    """The hosts of those who asked last, each by the text of their token and where they call from."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._hosts: OrderedDict[tuple[str, str], RemoteHost] = OrderedDict()

    async def of(self, shown: str, address: str, workspace: str) -> RemoteHost:
        key = shown, address
        if key not in self._hosts:
            if len(self._hosts) >= MOST_CALLERS:
                await self._hosts.popitem(last=False)[1].close()
            transport = InProcess(self._app, address)
            connection = Connection(HERE, shown or None, patience=PATIENCE, transport=transport)
            await connection.open()
            self._hosts[key] = RemoteHost(connection, workspace)
        self._hosts.move_to_end(key)
        return self._hosts[key]

    async def close(self) -> None:
        while self._hosts:
            await self._hosts.popitem()[1].close()
