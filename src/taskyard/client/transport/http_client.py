"""HTTP/1.1 as the calls of a yard need it: connections that are kept, a body there, an answer back.

It follows no redirect, keeps no cookie, and asks for no compression: a yard's servers use none of them. What comes is
parsed by httptools. Whether a call is made again is decided by who makes it.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import quote, urlsplit

import httptools

from taskyard.stores.shared.timeouts import keep_alive

BUFFERED = 256 << 10  # bytes of a streamed answer that wait for their reader
_AS_IT_IS = "/%:@!$&'()*+,;=-._~"  # what stands in a path


class Unreachable(ConnectionError):
    """No connection could be made: the request was certainly not heard."""


class AnswerLost(ConnectionError):
    """The connection ended before the answer did, or what came is no HTTP."""


class HttpServer(NamedTuple):
    """Where a yard is served, from its URL."""

    url: str
    host: str
    port: int
    is_tls: bool
    name: str  # in the Host header
    path: str  # before that of every call


def http_server(url: str) -> HttpServer:
    parts = urlsplit(url)
    host, is_tls = parts.hostname or "", parts.scheme == "https"
    name = host.encode("idna").decode() if not host.isascii() else f"[{host}]" if ":" in host else host
    shown = name if parts.port is None else f"{name}:{parts.port}"
    return HttpServer(
        url, host, parts.port or (443 if is_tls else 80), is_tls, shown, quote(parts.path.rstrip("/"), safe=_AS_IT_IS)
    )


class HttpRequest(NamedTuple):
    server: HttpServer
    method: str
    target: str  # path and query
    headers: Mapping[str, str]
    body: bytes | AsyncIterable[bytes] | None = None
    silence: float | None = None  # seconds in which a body must move on; None: who asks has a limit for all of it


class HttpAnswer:
    """An answer, whole or as it comes."""

    __slots__ = ("_buffered", "_came", "_connection", "_on_end", "_parts", "_silence", "ended", "headers", "status")

    def __init__(self, ended: asyncio.Future[None], silence: float | None = None) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}  # by their names in lower case
        self.ended = ended
        self._parts: deque[bytes] = deque()
        self._buffered = 0
        self._silence = silence
        self._came = asyncio.Event()
        self._connection: _Connection | None = None  # that it comes over piece by piece
        self._on_end: Callable[[], None] | None = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def content(self) -> bytes:
        """The body, of an answer that is there as a whole."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def stream_over(self, connection: _Connection, on_end: Callable[[], None]) -> None:
        self._connection, self._on_end = connection, on_end

    async def begun(self) -> None:
        """Wait for the head."""
        while not self.status and not self.ended.done():
            await self._next()
        if self.ended.done():
            self.ended.result()

    async def pieces(self) -> AsyncGenerator[bytes]:
        while True:
            while self._parts:
                piece = self._parts.popleft()
                self._buffered -= len(piece)
                if self._buffered < BUFFERED and self._connection is not None:
                    self._connection.transport.resume_reading()
                yield piece
            if self.ended.done():
                self.ended.result()
                return
            await self._next()

    def close(self) -> None:
        self._connection = None
        if self._on_end is not None:
            on_end, self._on_end = self._on_end, None
            on_end()

    def begin(self, status: int) -> None:
        self.status = status
        self._came.set()

    def add(self, piece: bytes) -> None:
        self._parts.append(piece)
        self._buffered += len(piece)
        if self._connection is not None and self._buffered >= BUFFERED:
            self._connection.transport.pause_reading()
        self._came.set()

    def end(self, error: Exception | None = None) -> None:
        if not self.ended.done():
            if error is None:
                self.ended.set_result(None)
            else:
                self.ended.set_exception(error)
                self.ended.exception()  # whoever waited for it may be gone
        self._came.set()

    async def _next(self) -> None:
        self._came.clear()
        async with asyncio.timeout(self._silence):
            await self._came.wait()


class HttpTransport(Protocol):
    """A way to servers: over the network, or into an application of this process."""

    async def ask(self, request: HttpRequest) -> HttpAnswer:
        """The whole answer."""
        ...

    async def begin(self, request: HttpRequest) -> HttpAnswer:
        """The answer from its head on; its `pieces` follow, and whoever got it closes it."""
        ...

    async def close(self) -> None: ...


class _Connection(asyncio.Protocol):
    """One connection, with at most one request under way. The parser calls its methods `on_…`."""

    transport: asyncio.Transport

    def __init__(self, on_loss: Callable[[_Connection], None]) -> None:
        self._on_loss = on_loss
        self._answer: HttpAnswer | None = None
        self._parser: Any = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._ends_by_closing = False
        self.is_open = True
        self.is_kept = False  # by the server, after the answer that came last
        self.asked_at = self.idle_since = 0.0

    def ask(self, answer: HttpAnswer) -> None:
        """Take what comes from now on as this answer."""
        self._answer, self._parser = answer, httptools.HttpResponseParser(self)
        self.asked_at = asyncio.get_running_loop().time()
        self.is_kept = False

    async def write(self, data: bytes) -> None:
        await self._may_write.wait()
        if not self.is_open:
            raise AnswerLost("the connection was closed")
        self.transport.write(data)

    def close(self) -> None:
        self.is_open = False
        self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        keep_alive(transport)

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            return self.close()  # nobody has asked
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._end(AnswerLost(f"what came is no answer: {error}"))
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._may_write.set()
        if self._answer is not None:
            is_whole = self._ends_by_closing and exc is None
            self._end(None if is_whole else AnswerLost(str(exc or "the connection was closed")))
        self._on_loss(self)

    def on_message_begin(self) -> None:
        if self._answer is not None:
            self._answer.headers.clear()  # an interim answer may have come before

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._answer is not None:
            self._answer.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._answer is not None and status >= 200:
            headers = self._answer.headers
            self._ends_by_closing = "content-length" not in headers and "transfer-encoding" not in headers
            self.is_kept = self._parser.should_keep_alive()
            self._answer.begin(status)

    def on_body(self, body: bytes) -> None:
        if self._answer is not None:
            self._answer.add(body)

    def on_message_complete(self) -> None:
        if self._answer is not None and self._answer.status:
            self._end(None)

    def _end(self, error: Exception | None) -> None:
        if self._answer is not None:
            answer, self._answer = self._answer, None
            answer.end(error)


class HttpClient:
    """Connections to servers, kept for a while after an answer."""

    def __init__(self, *, most: int, idle_sec: float, reached_within: float) -> None:
        self._idle_sec = idle_sec
        self._reached_within = reached_within
        self._slots = asyncio.Semaphore(most)
        self._idle: dict[HttpServer, list[_Connection]] = {}
        self._busy: set[_Connection] = set()
        self._given_up: dict[HttpServer, float] = {}  # when the request was sent that was given up last
        self._loop = asyncio.get_running_loop()

    async def ask(self, request: HttpRequest) -> HttpAnswer:
        connection = await self._connected(request.server)
        answer = HttpAnswer(self._loop.create_future())
        is_sent = False
        try:
            is_sent = await self._send(connection, request, answer)
            async with asyncio.timeout(request.silence):
                await answer.ended
        finally:
            self._give_back(connection, request.server, is_whole=is_sent and answer.ended.done())
        return answer

    async def begin(self, request: HttpRequest) -> HttpAnswer:
        connection = await self._connected(request.server)
        answer = HttpAnswer(self._loop.create_future(), request.silence)
        # Where its reader stops early, more of it is on its way.
        answer.stream_over(
            connection, lambda: self._give_back(connection, request.server, is_whole=answer.ended.done())
        )
        try:
            await self._send(connection, request, answer)
            await answer.begun()
        except BaseException:
            answer.close()
            raise
        return answer

    async def close(self) -> None:
        for connection in [*self._busy, *(each for kept in self._idle.values() for each in kept)]:
            connection.close()
        self._idle.clear()
        await asyncio.sleep(0)  # the loop closes what was ended when it is next its turn

    async def _send(self, connection: _Connection, request: HttpRequest, answer: HttpAnswer) -> bool:
        """Send all of it; False where the server had answered before."""
        connection.ask(answer)
        if request.body is None or isinstance(request.body, bytes):
            connection.transport.write(_head(request) + (request.body or b""))
            return True
        connection.transport.write(_head(request))
        async for piece in request.body:
            if answer.ended.done():
                return False
            if piece:
                async with asyncio.timeout(request.silence):
                    await connection.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await connection.write(b"0\r\n\r\n")
        return True

    async def _connected(self, server: HttpServer) -> _Connection:
        try:
            async with asyncio.timeout(self._reached_within):
                await self._slots.acquire()
        except TimeoutError:
            raise Unreachable("every connection is in use") from None
        try:
            connection = self._kept(server) or await self._new(server)
        except BaseException:
            self._slots.release()
            raise
        self._busy.add(connection)
        return connection

    def _kept(self, server: HttpServer) -> _Connection | None:
        """One that was heard of lately, and since the request was sent that was given up: others may be as silent."""
        kept, since = self._idle.get(server), self._given_up.get(server, 0.0)
        while kept:
            connection = kept.pop()
            is_recent = self._loop.time() - connection.idle_since < self._idle_sec
            if connection.is_open and is_recent and connection.idle_since > since:
                return connection
            connection.close()
        return None

    async def _new(self, server: HttpServer) -> _Connection:
        try:
            async with asyncio.timeout(self._reached_within):
                _, connection = await self._loop.create_connection(
                    lambda: _Connection(self._forget),
                    server.host,
                    server.port,
                    ssl=self._certificates if server.is_tls else None,
                )
        except OSError as error:  # a time-out is one, too
            raise Unreachable(str(error) or "it took too long") from None
        return connection

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        """Made where there is something to check with them: they take long to load."""
        return ssl.create_default_context()

    def _give_back(self, connection: _Connection, server: HttpServer, *, is_whole: bool) -> None:
        self._slots.release()
        self._busy.discard(connection)
        if is_whole and connection.is_kept and connection.is_open:
            connection.idle_since = self._loop.time()
            self._idle.setdefault(server, []).append(connection)
        else:
            self._given_up[server] = max(self._given_up.get(server, 0.0), connection.asked_at)
            connection.close()

    def _forget(self, connection: _Connection) -> None:
        for kept in self._idle.values():
            if connection in kept:
                kept.remove(connection)


def _head(request: HttpRequest) -> bytes:
    server, body = request.server, request.body
    lines = [f"{request.method} {server.path}{request.target} HTTP/1.1\r\nHost: {server.name}\r\n"]
    for name, value in request.headers.items():
        if "\r" in value or "\n" in value or "\0" in value:
            raise ValueError(f"the header {name} would end before it does")
        lines.append(f"{name}: {value}\r\n")
    if isinstance(body, bytes):
        lines.append(f"Content-Length: {len(body)}\r\n\r\n")
    else:
        is_without = body is None
        lines.append(("Content-Length: 0\r\n\r\n" if request.method != "GET" else "\r\n") if is_without else _IN_PIECES)
    return "".join(lines).encode("latin-1")


_IN_PIECES = "Transfer-Encoding: chunked\r\n\r\n"
