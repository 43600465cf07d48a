"""One connection, with pipelining: commands are sent at once, and answers come in the same order.

Callers that send while others wait share the round trip. If the connection is lost, every waiting caller gets an error;
whether the server executed their commands is unknown.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import hiredis

from taskyard.stores.redis.encoding import Reply, Word
from taskyard.stores.shared.timeouts import keep_alive

# The types of hiredis allow only commands of one word.
_pack = cast(Callable[[tuple[Word, ...]], bytes], hiredis.pack_command)  # pyright: ignore[reportUnknownMemberType]
_IN_A_SCRIPT = re.compile(r"@user_script: ?\d+: -([A-Z]+) ")
_PER_BYTE = 1e-6  # additional seconds for each byte of a command: large batches take longer


class ConnectionLost(ConnectionError):
    """The connection was lost before the answer came."""


class ErrorReply(Exception):
    """The server answered with an error, which begins with a code in capitals."""

    @property
    def code(self) -> str:
        # Before Redis 7, the error of a command inside a script is at the end of the script's error.
        inner = _IN_A_SCRIPT.search(str(self))
        return inner[1] if inner else str(self).partition(" ")[0]


class RedisConnection(asyncio.Protocol):
    def __init__(self, silence: float) -> None:
        self._silence = silence  # seconds without an answer, while one is due, after which the server counts as lost
        self._reader = hiredis.Reader(encoding="utf-8", replyError=ErrorReply, protocolError=ConnectionLost)
        self._pending: deque[asyncio.Future[Reply]] = deque()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0  # when the next answer is due, by the event loop's clock
        self._closed = asyncio.Event()
        self._reason: Exception = ConnectionLost("the server closed the connection")

    @property
    def is_lost(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def execute(self, *words: Word, waits: float = 0) -> asyncio.Future[Reply]:
        """Send a command. `waits` is the time in seconds that the server itself may wait."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Reply] = loop.create_future()
        if self._transport is None or self._transport.is_closing():
            answer.set_exception(ConnectionLost("the connection is closed"))
            return answer
        self._pending.append(answer)
        packed = _pack(words)
        self._transport.write(packed)
        self._due = max(self._due, loop.time() + self._silence + waits + len(packed) * _PER_BYTE)
        if self._timer is None:
            self._timer = loop.call_at(self._due, self._check_silence)
        return answer

    async def finish(self) -> None:
        """Wait for the answers that are due, and close."""
        await asyncio.gather(*self._pending, return_exceptions=True)
        await self.end()

    async def end(self) -> None:
        """Close at once. Waiting callers get `ConnectionLost`."""
        if self._transport is not None:
            self._transport.abort()
            await self._closed.wait()

    # The event loop calls these.

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        keep_alive(transport)

    def data_received(self, data: bytes) -> None:
        self._due = max(self._due, asyncio.get_running_loop().time() + self._silence)
        self._reader.feed(data)
        try:
            while (reply := self._reader.gets()) is not False:
                self._answer(reply)
        except ConnectionLost:
            assert self._transport is not None
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        while self._pending:
            answer = self._pending.popleft()
            if not answer.done():
                answer.set_exception(ConnectionLost(str(exc or self._reason)))
                answer.exception()  # mark it as retrieved: a cancelled caller does not retrieve it
        self._closed.set()

    def _answer(self, reply: Reply) -> None:
        answer = self._pending.popleft()
        if answer.done():
            return  # the caller was cancelled
        if isinstance(reply, ErrorReply):
            answer.set_exception(reply)
        else:
            answer.set_result(reply)

    def _check_silence(self) -> None:
        """Close the connection if an answer is overdue."""
        loop, self._timer = asyncio.get_running_loop(), None
        if not self._pending or self._transport is None:
            return
        if loop.time() >= self._due:
            self._reason = ConnectionLost(f"the server has said nothing for {self._silence:g} s")
            self._transport.abort()
        else:
            self._timer = loop.call_at(self._due, self._check_silence)


async def connect(host: str, port: int, tls: ssl.SSLContext | None, silence: float) -> RedisConnection:
    loop = asyncio.get_running_loop()
    name = host if tls is not None else None
    _, connection = await loop.create_connection(
        lambda: RedisConnection(silence), host, port, ssl=tls, server_hostname=name
    )
    return connection
