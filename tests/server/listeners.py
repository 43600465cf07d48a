"""Words for tests that listen to a server."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Close
from websockets.typing import Subprotocol

from taskyard.server.live.connections import Live
from taskyard.server.server import Server

PATIENCE = 20.0  # seconds that a server may be silent when something is expected of it
STREAM = {"Accept": "text/event-stream"}


class Listener:
    """One end of a WebSocket."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def say(self, **message: Any) -> None:
        await self.connection.send(json.dumps(message))

    async def hear(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            return json.loads(await self.connection.recv())

    async def ask(self, **message: Any) -> dict[str, Any]:
        await self.say(**message)
        return await self.hear()

    async def subscribe(self, name: str = "all", **wanted: Any) -> int:
        """From the number that is answered on, everything that is wanted will be heard."""
        answer = await self.ask(action="subscribe", id=name, **wanted)
        assert answer["subscribed"] == name, answer
        return answer["after"]

    async def events(self, number: int) -> list[dict[str, Any]]:
        return [(await self.hear())["event"] for _ in range(number)]

    async def farewell(self) -> Close:
        """Why the server ended it, once what came before was read."""
        async with asyncio.timeout(PATIENCE):
            with suppress(ConnectionClosed):
                while True:
                    await self.connection.recv()
        return Close(self.connection.close_code or 0, self.connection.close_reason or "")


@asynccontextmanager
async def listening(
    server: Server,
    *,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    protocols: Sequence[str] = (),
    called: str = "127.0.0.1",
    query: str = "",
    is_tight: bool = False,
) -> AsyncGenerator[Listener]:
    """Connect; `is_tight`: what is not read there is soon felt at the other end."""
    async with connect(
        f"ws://{called}:{server.port}/api/ws{query}",
        sock=_dialled(server, is_tight),
        additional_headers={**_bearing(token), **(headers or {})},
        subprotocols=[Subprotocol(each) for each in protocols] or None,
        compression=None,
        proxy=None,
        close_timeout=1,
    ) as connection:
        yield Listener(connection)


def _dialled(server: Server, is_tight: bool) -> socket.socket:
    dialled = socket.socket()
    if is_tight:
        dialled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    dialled.connect(("127.0.0.1", server.port))
    return dialled


@asynccontextmanager
async def calling(server: Server, token: str | None = None) -> AsyncGenerator[httpx.AsyncClient]:
    url = f"http://127.0.0.1:{server.port}"
    async with httpx.AsyncClient(base_url=url, headers=_bearing(token), timeout=PATIENCE) as client:
        yield client


def _bearing(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


async def chunks(stream: httpx.Response) -> AsyncIterator[dict[str, str]]:
    """What a stream of server-sent events brings, field by field."""
    chunk: dict[str, str] = {}
    async for line in stream.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            chunk[name] = value
        else:
            yield chunk
            chunk = {}


async def streamed(stream: httpx.Response, number: int) -> list[dict[str, Any]]:
    """The next events of a stream, whose ids are their numbers."""
    found: list[dict[str, Any]] = []
    async for chunk in chunks(stream):
        found.append(json.loads(chunk["data"]))
        assert chunk["id"] == str(found[-1]["seq"])
        if len(found) == number:
            break
    return found


def live(server: Server) -> Live:
    app: Any = server.config.app
    return app.state.live


async def until(holds: Callable[[], bool]) -> None:
    late = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < late, f"what is waited for did not come within {PATIENCE} s"
        await asyncio.sleep(0.005)  # what holds is the server's, and sets no event
