"""Words for tests that call a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fastapi.routing import APIRoute

from taskyard.server.application import GROUPS
from taskyard.server.server import served
from taskyard.yard import Yard

ROUTES = [route for group in GROUPS for route in group.routes.router.routes if isinstance(route, APIRoute)]


@asynccontextmanager
async def calling(yard: Yard, token: str | None = None, **more: Any) -> AsyncGenerator[httpx.AsyncClient]:
    """A client of a server that runs while the block does."""
    async with served(yard, **more) as server, client_of(server.port, token) as client:
        yield client


def client_of(port: int, token: str | None = None) -> httpx.AsyncClient:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=20)


async def exchanged(port: int, *said: bytes) -> bytes:
    """What the server says to these bytes, to the end of the connection. Who is hung up on stops talking."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = asyncio.create_task(reader.read())
    try:
        for each in said:
            writer.write(each)
            await writer.drain()
            if answer.done():
                break
        return await answer
    finally:
        writer.close()
