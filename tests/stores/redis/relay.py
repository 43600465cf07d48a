"""A relay between a store and its server: it passes on what it hears, and what goes wrong on the way, does so here."""

import asyncio
import ssl
from contextlib import suppress


class Relay:
    def __init__(self, behind: int) -> None:
        self._behind = behind
        self._lines: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.port = 0
        self.swap: tuple[bytes, bytes] = (b"", b"")  # what the server says, and what is passed on instead
        self.swallows_answers = False  # and hangs up

    async def open(self, tls: ssl.SSLContext | None = None) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def cut(self) -> None:
        """Every line there is now."""
        for line in list(self._lines):
            line.close()

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        their_reader, their_writer = await asyncio.open_connection("127.0.0.1", self._behind)
        both = {writer, their_writer}
        self._lines |= both
        with suppress(OSError):
            await asyncio.gather(self._pass_on(reader, their_writer), self._answer(their_reader, writer))
        self._lines -= both

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if self.swallows_answers:
                break
            writer.write(data.replace(*self.swap) if self.swap[0] else data)
        writer.close()
