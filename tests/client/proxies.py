"""A way between a client and its server that loses answers, after the server has done what it was asked."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress


class Cutting:
    """Passes everything on, and cuts the connection instead of the answers that are to be lost."""

    def __init__(self, port: int) -> None:
        self._server = port
        self.port = 0
        self.to_lose = 0  # answers that are lost from now on
        self.lost = 0

    async def pass_on(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        server, on = await asyncio.open_connection("127.0.0.1", self._server)
        asking = asyncio.create_task(_copy(client, on))
        try:
            while answer := await server.read(65536):
                if self.to_lose:
                    self.to_lose -= 1
                    self.lost += 1
                    return
                back.write(answer)
                await back.drain()
        finally:
            asking.cancel()
            on.close()
            back.close()


async def _copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while part := await source.read(65536):
            to.write(part)
            await to.drain()
        to.close()


@asynccontextmanager
async def cutting(port: int) -> AsyncGenerator[Cutting]:
    """In front of the server at this port."""
    proxy = Cutting(port)
    listening = await asyncio.start_server(proxy.pass_on, "127.0.0.1", 0)
    proxy.port = listening.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listening.close()
