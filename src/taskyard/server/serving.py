"""Running the server: where it listens, who may reach it, and how it stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from socket import socket

import uvicorn

from taskyard.core.errors import InvalidInput
from taskyard.server.application import application
from taskyard.server.guarding import LOOPBACK, Serving
from taskyard.server.yards import Yards
from taskyard.service.yard import Yard

GRACE = 10  # seconds that requests under way get to end


async def serving_of(yard: Yard, *, host: str, allowed_hosts: Iterable[str] = ()) -> Serving:
    """How this yard is to be served at this address; refused where that would leave it open to others."""
    is_loopback = host in LOOPBACK
    if not is_loopback and not await yard.has_tokens():
        raise InvalidInput(
            "host", "must be a loopback address while there is no token: make one with `taskyard token create`"
        )
    hosts = LOOPBACK | {host.lower(), *(name.lower() for name in allowed_hosts)}
    return Serving(yards=Yards(yard), is_open=is_loopback, hosts=hosts)


class Server(uvicorn.Server):
    """A server that tells when it can be reached, and at which port."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()
        self.port = 0

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.port = self.servers[0].sockets[0].getsockname()[1]
            self.is_up.set()


def server(serving: Serving, *, host: str, port: int) -> Server:
    config = uvicorn.Config(
        application(serving),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        ws_max_size=1 << 20,
    )
    return Server(config)


@asynccontextmanager
async def served(
    yard: Yard, *, host: str = "127.0.0.1", port: int = 0, allowed_hosts: Iterable[str] = ()
) -> AsyncGenerator[Server]:
    """Serve an open yard while the block runs: for tests, and for programs that bring their own server along."""
    serving = await serving_of(yard, host=host, allowed_hosts=allowed_hosts)
    running = server(serving, host=host, port=port)
    task = asyncio.create_task(running.serve(), name="taskyard server")
    up = asyncio.create_task(running.is_up.wait())
    await asyncio.wait([task, up], return_when=asyncio.FIRST_COMPLETED)
    try:
        yield running
    finally:
        up.cancel()
        running.should_exit = True
        await task
