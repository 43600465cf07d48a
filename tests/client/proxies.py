"""Ways between a client and its server: one that loses answers, one that goes silent without being closed."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path


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


class Silencing:
    """Passes everything on, until it swallows what comes: the lines stay open, and nobody is told."""

    def __init__(self, server: int | Path) -> None:
        self._server = server
        self.port = 0
        self.asked = asyncio.Event()  # set whenever something of a client is passed on
        self.met = asyncio.Event()  # set whenever a client comes
        self._silent: dict[str, set[int]] = {"asked": set(), "answered": set()}
        self._lines = 0
        self._all = False
        self._open: set[asyncio.StreamWriter] = set()

    def hush(self, *, asked: bool = True, answered: bool = True, new_too: bool = False) -> None:
        """From now on swallow what is asked, what is answered, or both; of new lines only where that is said."""
        self._all = new_too
        for name, is_silent in (("asked", asked), ("answered", answered)):
            if is_silent:
                self._silent[name] |= set(range(self._lines + 1))

    def speak(self) -> None:
        """Lines that are new from now on are passed on again."""
        self._all = False

    async def pass_on(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self._lines += 1
        self.met.set()
        number = self._lines
        if self._all:
            for silent in self._silent.values():
                silent.add(number)
        server, on = await self._dial()
        self._open |= {back, on}
        with suppress(ConnectionError):
            await asyncio.gather(self._copy("asked", number, client, on), self._copy("answered", number, server, back))

    async def _dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._server, Path):
            return await asyncio.open_unix_connection(str(self._server))
        return await asyncio.open_connection("127.0.0.1", self._server)

    async def _copy(self, name: str, number: int, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        while part := await source.read(65536):
            if number not in self._silent[name]:
                to.write(part)
                if name == "asked":
                    self.asked.set()
        if number not in self._silent[name]:
            to.close()

    def end(self) -> None:
        for line in self._open:
            line.close()


@asynccontextmanager
async def silencing(server: int | Path, port: int = 0) -> AsyncGenerator[Silencing]:
    """In front of the server at this port, or at this socket; at a port of its own, or the one given."""
    proxy = Silencing(server)
    listening = await asyncio.start_server(proxy.pass_on, "127.0.0.1", port)
    proxy.port = listening.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listening.close()
        proxy.end()
