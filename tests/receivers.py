"""A web server on this machine that takes what is sent to it, and answers as it is told."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


@dataclass(slots=True)
class Receiver:
    port: int = 0
    received: list[Received] = field(default_factory=list[Received])
    came: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)  # nothing is answered while it is shut
    answers: list[str] = field(default_factory=list[str])  # status lines with headers, the first for the first request

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?key=s3cr3t"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            request, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.received.append(Received(path=request.split(" ")[1], headers=headers, body=body))
            self.came.set()
            await self.gate.wait()
            status = self.answers.pop(0) if self.answers else "200 OK"
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode())
            await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def receiving() -> AsyncGenerator[Receiver]:
    receiver = Receiver()
    receiver.gate.set()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver
