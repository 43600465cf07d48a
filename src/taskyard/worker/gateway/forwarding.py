"""One call of a program, sent on to a provider, and what comes back: an event of a stream as soon as it is whole.

A program gets no half of anything. An answer that is no stream is read to its end first; a stream that is cut off ends
with an error in the provider's own shape. The end of an answer is held back until its cost is reported.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from taskyard.core.json_value import is_object
from taskyard.core.units import micros
from taskyard.worker.gateway.call_usage import (
    CallUsage,
    EventSplitter,
    EventTooLong,
    data_of,
    document_in,
    is_done,
    is_only_usage,
)
from taskyard.worker.gateway.upstreams import Route, Upstream
from taskyard.worker.providers import Diagnosis, Fault, diagnose

if TYPE_CHECKING:
    import ssl

    import httpx

Send = Callable[[dict[str, Any]], Awaitable[None]]
MOST_ANSWER = 64 << 20  # bytes of an answer that is no stream
LARGE = 256 << 10  # bytes of a document that is decoded beside the loop
REACHED_WITHIN = 30.0  # seconds
SILENT_FOR = 600.0  # seconds that a provider may take for the next piece of an answer
ENDED_WITHIN = 3600.0  # seconds for a whole call
SHOWN = 2000  # bytes of an error, for its diagnosis and for people
# What is sent on of a request. The key is the upstream's, and nothing tells the provider more than a call needs.
_SENT = frozenset({"accept", "anthropic-beta", "anthropic-version", "content-type", "idempotency-key", "openai-beta"})
_KEPT_BACK = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "upgrade"),
        *("transfer-encoding", "content-length", "content-encoding", "set-cookie", "date", "server", "alt-svc"),
    }
)


class CallRefused(Exception):
    """A call that is not sent on, and why, as an answer over HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class AskedCall(NamedTuple):
    """What a program asked for."""

    method: str
    path: str  # behind the base URL
    query: str
    headers: Mapping[str, str]  # in lower case
    body: bytes


class CallAnswer(NamedTuple):
    """An answer that has come whole."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class ForwardedCall:
    def __init__(self, upstream: Upstream, route: Route, asked: AskedCall, model: str | None, *, counts: bool) -> None:
        self.upstream = upstream
        self.route = route
        self.asked = asked
        self._hides_usage = counts  # the program did not ask for it
        self.usage = CallUsage(upstream.provider, model, len(asked.body))
        self.began = time_ns()
        self.status: int | None = None  # of the provider's answer
        self.diagnosis: Diagnosis | None = None  # why the provider refused it, where that has a reason of its own
        self.trouble: CallRefused | None = None  # why the program does not get the whole answer
        self._answer: CallAnswer | None = None
        self._is_streaming = False
        self._has_failed = False  # the provider has said so in the stream

    @property
    def is_done(self) -> bool:
        """Whether the provider has answered, and to the end."""
        is_well = self.trouble is self.diagnosis is None and not self._has_failed
        return is_well and self.status is not None and self.status < 400

    @property
    def failure(self) -> str | None:
        """What went wrong, in a word."""
        if self.is_done:
            return None
        if self.diagnosis is not None:
            return self.diagnosis.reason.value
        if self._has_failed:
            return "error"
        return str(self.trouble.status if self.trouble is not None else self.status)

    def refuse(self, status: int, message: str) -> None:
        """What the program gets instead of the rest."""
        self.trouble = CallRefused(status, message)

    async def relay(self, client: httpx.AsyncClient, send: Send) -> None:
        """Send it on, and pass on what comes back, all but the end of it."""
        httpx = http_client()
        try:
            async with (
                asyncio.timeout(ENDED_WITHIN),
                client.stream(
                    self.asked.method, self._url(), headers=self._headers(), content=self.asked.body
                ) as answer,
            ):
                self.status = answer.status_code
                if answer.headers.get("content-type", "").startswith("text/event-stream") and answer.is_success:
                    await self._relay_events(answer, send)
                else:
                    await self._read(answer)
        except (httpx.TimeoutException, TimeoutError):
            self.refuse(504, "the provider did not answer in time")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            self.refuse(502, f"the provider could not be reached, or hung up ({type(error).__name__})")
        except EventTooLong as error:
            self.refuse(502, f"the provider's answer is not sound: {error}")

    async def finish(self, send: Send) -> None:
        """Pass on the end."""
        provider, trouble = self.upstream.provider, self.trouble
        if self._is_streaming:
            rest = b"" if trouble is None else provider.error_event(trouble.status, trouble.message)
            await send({"type": "http.response.body", "body": rest})
        elif trouble is not None or self._answer is None:
            await send_error(send, self.upstream, trouble or CallRefused(502, "the provider gave no answer"))
        else:
            await _send_answer(send, self._answer)

    async def _relay_events(self, answer: httpx.Response, send: Send) -> None:
        self._is_streaming = True
        await send({"type": "http.response.start", "status": answer.status_code, "headers": _passed(answer.headers)})
        splitter = EventSplitter()
        async for piece in answer.aiter_bytes():
            shown = [event for event in splitter.events(piece) if self._is_shown(event)]
            if shown:
                await send({"type": "http.response.body", "body": b"".join(shown), "more_body": True})
        # A server may end its last event with the connection.
        if splitter.rest.strip() and self._is_shown(splitter.rest):
            await send({"type": "http.response.body", "body": splitter.rest, "more_body": True})
        # A connection that closes in the middle may look like one that closes at the end.
        if self.usage.is_cut_off and not self._has_failed:
            self.refuse(502, "the provider ended its stream in the middle")

    def _is_shown(self, event: bytes) -> bool:
        if event.startswith((b"event: error", b'data: {"error"')):
            self._has_failed = True
            self._diagnose(self.status or 200, {}, event)
        self.usage.has_ended = self.usage.has_ended or is_done(event)
        document = data_of(event)
        self.usage.learn(document)
        return not (self._hides_usage and is_only_usage(document))

    async def _read(self, answer: httpx.Response) -> None:
        body = bytearray()
        async for piece in answer.aiter_bytes():
            body += piece
            if len(body) > MOST_ANSWER:
                self.refuse(502, f"the provider's answer is longer than {MOST_ANSWER} bytes")
                return
        self._answer = CallAnswer(answer.status_code, _passed(answer.headers), bytes(body))
        if answer.is_success:
            self.usage.learn(await decoded(self._answer.body))
        else:
            self._diagnose(answer.status_code, answer.headers, self._answer.body)

    def _diagnose(self, status: int, headers: Mapping[str, str], text: bytes) -> None:
        fault = Fault((), status, {**headers}, text[:SHOWN].decode("utf-8", "replace"))
        self.diagnosis = diagnose(fault, now=micros(datetime.now(UTC)))

    def _url(self) -> str:
        query = f"?{self.asked.query}" if self.asked.query else ""
        return f"{self.upstream.url}{quote(self.asked.path)}{query}"

    def _headers(self) -> dict[str, str]:
        passed = {name: value for name, value in self.asked.headers.items() if name in _SENT}
        agent = f"{self.asked.headers.get('user-agent', '')} Taskyard".strip()
        return {**passed, "user-agent": agent, "accept-encoding": "identity", **self.upstream.headers}


async def forwarded_call(upstream: Upstream, route: Route, asked: AskedCall) -> ForwardedCall:
    """The call as it is sent on: a stream is made to say what it used. Refused where that could not be known."""
    if asked.method != "POST":
        return ForwardedCall(upstream, route, asked, None, counts=False)
    document = await decoded(asked.body)
    if not is_object(document):
        raise CallRefused(400, "the body must be a JSON object")
    if document.get("background"):
        raise CallRefused(400, "background must not be set: what a call uses is known only when it is answered here")
    counts = False
    if route.asks_for_usage and document.get("stream"):
        options = document.get("stream_options")
        options = options if is_object(options) else {}
        if counts := not options.get("include_usage"):
            document["stream_options"] = {**options, "include_usage": True}
            asked = asked._replace(body=await _encoded(document, len(asked.body)))
    model = document.get("model")
    return ForwardedCall(upstream, route, asked, model if isinstance(model, str) else None, counts=counts)


async def decoded(body: bytes) -> Any:
    """The document; None where it is none. A large one is decoded beside the loop."""
    return document_in(body) if len(body) < LARGE else await asyncio.to_thread(document_in, body)


async def _encoded(document: Mapping[str, Any], size: int) -> bytes:
    text = json.dumps(document) if size < LARGE else await asyncio.to_thread(json.dumps, document)
    return text.encode()


async def send_error(send: Send, upstream: Upstream, refused: CallRefused) -> None:
    """An answer of the gateway itself, in the provider's shape."""
    body = json.dumps(upstream.provider.error(refused.status, refused.message)).encode()
    await _send_answer(send, CallAnswer(refused.status, [(b"content-type", b"application/json")], body))


async def _send_answer(send: Send, answer: CallAnswer) -> None:
    length = (b"content-length", str(len(answer.body)).encode())
    await send({"type": "http.response.start", "status": answer.status, "headers": [*answer.headers, length]})
    await send({"type": "http.response.body", "body": answer.body})


def _passed(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    shown: Iterable[tuple[str, str]] = ((name.lower(), value) for name, value in headers.items())
    return [(name.encode(), value.encode("latin-1", "replace")) for name, value in shown if name not in _KEPT_BACK]


def new_client() -> httpx.AsyncClient:
    """The connections of one attempt. No redirect is followed: the key is for the operator's address alone."""
    httpx = http_client()
    timeout = httpx.Timeout(SILENT_FOR, connect=REACHED_WITHIN)
    return httpx.AsyncClient(verify=_tls(), timeout=timeout, follow_redirects=False)


@cache
def _tls() -> ssl.SSLContext:
    """Made once: to read the certificates takes a while."""
    return http_client().create_ssl_context()


def http_client() -> Any:
    import httpx  # noqa: PLC0415 - only a worker with a gateway loads it

    return httpx
