"""HTTP as the client speaks it, against servers that answer byte by byte what a test says."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from taskyard.client.transport.http_client import (
    BUFFERED,
    AnswerLost,
    HttpClient,
    HttpRequest,
    HttpServer,
    Unreachable,
    http_server,
)
from tests.certificates import self_signed
from tests.servers import free_port

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTaskyard-Now: 7\r\n\r\nok"


class Scripted:
    """A server that gives each request the next of its answers, and keeps what came."""

    def __init__(self, *answers: bytes) -> None:
        self._answers = list(answers)
        self.connections = 0
        self.heard: list[bytes] = []
        self.closes_after = False  # each answer
        self.gone = asyncio.Event()  # a client has closed its connection
        self.server: HttpServer

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._answer(reader, writer)
        finally:
            self.gone.set()
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            self.heard.append(head + await _body(reader, head))
            if not self._answers:
                continue
            writer.write(self._answers.pop(0))
            if self.closes_after:
                return


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


async def _body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n") if b": " in line)
    if b"transfer-encoding" in lines:
        return await reader.readuntil(b"\r\n0\r\n\r\n")
    return await reader.readexactly(int(lines.get(b"content-length", 0)))


@asynccontextmanager
async def scripted(*answers: bytes, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Scripted]:
    script, meeting = Scripted(*answers), set[asyncio.Task[None]]()

    def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        meeting.add(asyncio.create_task(script.meet(reader, writer)))

    async with await asyncio.start_server(meet, "127.0.0.1", 0, ssl=tls) as listening:
        scheme = "http" if tls is None else "https"
        script.server = http_server(f"{scheme}://127.0.0.1:{listening.sockets[0].getsockname()[1]}/yard/")
        yield script
        for each in meeting:
            each.cancel()
        if meeting:
            await asyncio.wait(meeting)


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(most=2, idle_sec=60, reached_within=5)
    yield made
    await made.close()


def asking(script: Scripted, body: bytes | AsyncGenerator[bytes] | None = None) -> HttpRequest:
    return HttpRequest(script.server, "POST", "/api/x?a=1", {"Accept": "*/*"}, body, silence=10)


async def test_calls_after_each_other_share_a_connection(client: HttpClient):
    async with scripted(WHOLE, WHOLE) as script:
        for _ in range(2):
            answer = await client.ask(asking(script, b"{}"))
            assert (answer.status, answer.content, answer.headers["taskyard-now"]) == (200, b"ok", "7")

    assert script.connections == 1
    head = script.heard[0].decode()
    assert head.startswith(f"POST /yard/api/x?a=1 HTTP/1.1\r\nHost: {script.server.name}\r\n")
    assert head.endswith("Content-Length: 2\r\n\r\n{}")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE,
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
    ],
)
async def test_an_answer_comes_in_any_of_the_forms_that_http_has(client: HttpClient, answer: bytes):
    async with scripted(answer, WHOLE) as script:
        for _ in range(2):
            assert (await client.ask(asking(script))).content == b"ok"


async def test_an_answer_without_a_length_ends_with_its_connection(client: HttpClient):
    async with scripted(b"HTTP/1.1 200 OK\r\n\r\nok") as script:
        script.closes_after = True
        assert (await client.ask(asking(script))).content == b"ok"


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", b"220 mail.example ESMTP\r\n"]
)
async def test_an_answer_that_is_not_whole_is_lost(client: HttpClient, answer: bytes):
    async with scripted(answer) as script:
        script.closes_after = True
        with pytest.raises(AnswerLost):
            await client.ask(asking(script))


async def test_what_nobody_listens_for_was_certainly_not_heard(client: HttpClient):
    with pytest.raises(Unreachable):
        await client.ask(HttpRequest(http_server(f"http://127.0.0.1:{free_port()}"), "GET", "/", {}))


async def test_a_call_that_is_given_up_closes_its_connection_and_the_next_has_a_new_one(client: HttpClient):
    async with scripted() as script:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.ask(asking(script))
        async with asyncio.timeout(10):
            await script.gone.wait()


async def test_a_body_in_pieces_arrives_whole_and_an_early_answer_ends_the_sending(client: HttpClient):
    async def pieces() -> AsyncGenerator[bytes]:
        for piece in (b"one", b"", b"two"):
            yield piece

    async with scripted(WHOLE) as script:
        assert (await client.ask(asking(script, pieces()))).is_success
    assert script.heard[0].endswith(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")


async def test_an_answer_in_pieces_is_read_no_faster_than_it_is_taken(client: HttpClient):
    size = 40 * BUFFERED
    async with scripted(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size, WHOLE) as script:
        answer = await client.begin(asking(script))
        got = 0
        async for piece in answer.pieces():
            got += len(piece)
        answer.close()
        assert got == size
        assert (await client.ask(asking(script))).content == b"ok"
    assert script.connections == 1


async def test_a_header_cannot_smuggle_another_one(client: HttpClient):
    async with scripted(WHOLE) as script:
        with pytest.raises(ValueError, match="header"):
            await client.ask(HttpRequest(script.server, "GET", "/", {"X": "a\r\nY: b"}))


async def test_a_server_over_tls_is_asked_only_where_its_certificate_is_known(
    client: HttpClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    certificate, key = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    async with scripted(WHOLE, tls=context) as script:
        with pytest.raises(Unreachable, match="certificate"):
            await client.ask(asking(script))
        assert script.heard == []

        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        trusting = HttpClient(most=1, idle_sec=60, reached_within=20)
        assert (await trusting.ask(asking(script))).content == b"ok"
        await trusting.close()
