"""One connection: commands go out as they come, and their answers come back in the same order.

Whoever asks while another waits shares the round trip: that is all the pipelining there is. A connection that was lost
says so to everybody who still waits for an answer; whether their commands were carried out, nobody knows.
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

# Its types know of commands of one word only.
_packed = cast(Callable[[tuple[Word, ...]], bytes], hiredis.pack_command)  # pyright: ignore[reportUnknownMemberType]
_IN_A_SCRIPT = re.compile(r"@user_script: ?\d+: -([A-Z]+) ")
_PER_BYTE = 1e-6  # seconds more for each byte of a command: many tasks at once take a while


class Lost(ConnectionError):
    """The connection broke before the answer came."""


class Refusal(Exception):
    """The server's answer is an error. A word in capitals says which."""

    @property
    def word(self) -> str:
        # Before Redis 7, an error that a command met inside a script stands at the end of what is said of the script.
        inner = _IN_A_SCRIPT.search(str(self))
        return inner[1] if inner else str(self).partition(" ")[0]


class Connection(asyncio.Protocol):
    def __init__(self, silence: float) -> None:
        self._silence = silence  # seconds without any answer, while one is due, after which a server counts as gone
        self._reader = hiredis.Reader(encoding="utf-8", replyError=Refusal, protocolError=Lost)
        self._asked: deque[asyncio.Future[Reply]] = deque()
        self._transport: asyncio.Transport | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._due = 0.0  # when the next answer is, by the loop's clock
        self._gone = asyncio.Event()
        self._why: Exception = Lost("the server closed the connection")

    @property
    def is_lost(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def ask(self, *words: Word, waits: float = 0) -> asyncio.Future[Reply]:
        """Send a command, which the server may take its time with where it is to wait."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Reply] = loop.create_future()
        if self._transport is None or self._transport.is_closing():
            answer.set_exception(Lost("the connection is closed"))
            return answer
        self._asked.append(answer)
        packed = _packed(words)
        self._transport.write(packed)
        self._due = max(self._due, loop.time() + self._silence + waits + len(packed) * _PER_BYTE)
        if self._watch is None:
            self._watch = loop.call_at(self._due, self._look)
        return answer

    async def finish(self) -> None:
        """Wait for what is under way, and close."""
        await asyncio.gather(*self._asked, return_exceptions=True)
        await self.end()

    async def end(self) -> None:
        """Close at once; who still waits is told that it is lost."""
        if self._transport is not None:
            self._transport.abort()
            await self._gone.wait()

    # What the event loop calls.

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        keep_alive(transport)

    def data_received(self, data: bytes) -> None:
        self._due = max(self._due, asyncio.get_running_loop().time() + self._silence)
        self._reader.feed(data)
        try:
            while (reply := self._reader.gets()) is not False:
                self._answer(reply)
        except Lost:
            assert self._transport is not None
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._watch is not None:
            self._watch.cancel()
        while self._asked:
            answer = self._asked.popleft()
            if not answer.done():
                answer.set_exception(Lost(str(exc or self._why)))
                answer.exception()  # a caller that has gone away must not make this an unheard error
        self._gone.set()

    def _answer(self, reply: Reply) -> None:
        answer = self._asked.popleft()
        if answer.done():
            return  # whoever asked has gone away
        if isinstance(reply, Refusal):
            answer.set_exception(reply)
        else:
            answer.set_result(reply)

    def _look(self) -> None:
        """A server that says nothing for so long, though it is asked, will not answer any more."""
        loop, self._watch = asyncio.get_running_loop(), None
        if not self._asked or self._transport is None:
            return
        if loop.time() >= self._due:
            self._why = Lost(f"the server has said nothing for {self._silence:g} s")
            self._transport.abort()
        else:
            self._watch = loop.call_at(self._due, self._look)


async def connect(host: str, port: int, tls: ssl.SSLContext | None, silence: float) -> Connection:
    loop = asyncio.get_running_loop()
    name = host if tls is not None else None
    _, connection = await loop.create_connection(lambda: Connection(silence), host, port, ssl=tls, server_hostname=name)
    return connection
