"""A thousand listeners in one process: WebSockets spelled by hand, since a whole client for each would be the load."""

import asyncio
import json
import re
from typing import Any

_NUMBERS = re.compile(rb'"seq":(\d+),.*?"task_id":"([^"]*)".*?"number":(\d+)')
_HELLO = (
    b"GET /api/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


class Member(asyncio.Protocol):
    """One listener, which checks as it hears: the numbers of each task come one after the other, from 0 on."""

    def __init__(self, **wanted: Any) -> None:
        self.heard = 0
        self.faults: list[str] = []
        self.is_listening: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wanted = wanted
        self._next: dict[bytes, int] = {}
        self._seq = 0
        self._unread = b""
        self._is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(_HELLO)

    def connection_lost(self, exc: Exception | None) -> None:
        self.faults.append(f"lost the connection: {exc}")

    def data_received(self, data: bytes) -> None:
        unread = self._unread + data
        if not self._is_open:
            head, end, unread = unread.partition(b"\r\n\r\n")
            self._is_open = bool(end)
            if not end:
                self._unread = head
                return
            self._send(_TEXT, json.dumps({"action": "subscribe", "id": "crowd", **self._wanted}).encode())
        self._unread = unread[self._read(unread) :]

    def _read(self, unread: bytes) -> int:
        """Take in the whole frames; how far they go."""
        at, end = 0, len(unread)
        while end - at >= 4:
            size, start = unread[at + 1], at + 2
            if size == 126:
                size, start = unread[at + 2] << 8 | unread[at + 3], at + 4
            if start + size > end:
                break
            self._take(unread[at] & 15, unread, start, start + size)
            at = start + size
        return at

    def _take(self, opcode: int, unread: bytes, start: int, end: int) -> None:
        if opcode == _PING:
            self._send(_PONG, unread[start:end])
        elif opcode == _CLOSE:
            self.faults.append(f"was sent away: {unread[start + 2 : end]!r}")
        elif found := _NUMBERS.search(unread, start, end):
            self._check(int(found[1]), found[2], int(found[3]))
        elif not self.is_listening.done():
            self.is_listening.set_result(None)

    def _check(self, seq: int, task_id: bytes, number: int) -> None:
        if number != self._next.get(task_id, 0) or seq <= self._seq:
            self.faults.append(f"heard {number} of {task_id!r} after {self._next.get(task_id)}")
        self._next[task_id] = number + 1
        self._seq = seq
        self.heard += 1

    def _send(self, opcode: int, data: bytes) -> None:
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
        self.transport.write(bytes([0x80 | opcode]) + size + b"\0\0\0\0" + data)  # masked with nothing


async def join(port: int, **wanted: Any) -> Member:
    """One more who listens. When this returns, nothing that is wanted is missed."""
    member = Member(**wanted)
    await asyncio.get_running_loop().create_connection(lambda: member, "127.0.0.1", port)
    await member.is_listening
    return member
