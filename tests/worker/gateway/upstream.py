"""A provider of both shapes, in a thread of its own: it answers by a script, and can be held in the middle."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from taskyard.worker.gateway.attempt_endpoint import Gateway
from taskyard.worker.gateway.upstreams import configured

REAL_KEY = "sk-real-key"
# 1,000 tokens of input, of which 600 were read from the cache and 200 written to it, and 100 of output.
ANTHROPIC_USAGE = {
    "input_tokens": 200,
    "cache_read_input_tokens": 600,
    "cache_creation_input_tokens": 200,
    "output_tokens": 100,
}
OPENAI_USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 600}}
RESPONSE_USAGE = {"input_tokens": 1000, "output_tokens": 100, "input_tokens_details": {"cached_tokens": 600}}
# As genai-prices has it: 200 at $3, 600 at $0.30, 200 at $3.75 and 100 at $15 a million; 400 at $2.50, 600 at $1.25
# and 100 at $10.
SONNET_COST = 3030
GPT_4O_COST = 2750


@dataclass
class Heard:
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class ScriptedProvider:
    answers: list[Callable[["Exchange"], None]]
    heard: list[Heard] = field(default_factory=list[Heard])
    url: str = ""
    reached: Event = field(default_factory=Event)  # an answer is held in the middle
    let_go: Event = field(default_factory=Event)  # and may go on
    hung_up: Event = field(default_factory=Event)  # the gateway has closed the connection of an answer

    @property
    def gateway(self) -> Gateway:
        return Gateway(
            configured(
                {
                    "ANTHROPIC_BASE_URL": self.url,
                    "ANTHROPIC_API_KEY": REAL_KEY,
                    "OPENAI_BASE_URL": f"{self.url}/v1",
                    "OPENAI_API_KEY": REAL_KEY,
                }
            )
        )


class Exchange(BaseHTTPRequestHandler):
    """One request, to be answered by a function of the script."""

    protocol_version = "HTTP/1.1"
    provider: ScriptedProvider

    def do_GET(self) -> None:
        self._take()

    def do_POST(self) -> None:
        self._take()

    def _take(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(size)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.provider.heard.append(Heard(self.path, headers, json.loads(body) if body else None))
        self.provider.answers.pop(0)(self)

    def whole(self, status: int, document: Any, **headers: str) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def piece(self, text: bytes) -> None:
        self.wfile.write(f"{len(text):x}\r\n".encode() + text + b"\r\n")
        self.wfile.flush()

    def event(self, document: dict[str, Any]) -> None:
        name = f"event: {document['type']}\n" if "type" in document else ""
        self.piece(f"{name}data: {json.dumps(document)}\n\n".encode())

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def hold(self) -> None:
        """Wait until the test lets it go on, or the gateway hangs up."""
        self.provider.reached.set()
        self.connection.settimeout(0.02)
        while not self.provider.let_go.is_set():
            with suppress(TimeoutError):
                if not self.connection.recv(1):
                    self.provider.hung_up.set()
                    self.close_connection = True
                    return
        self.connection.settimeout(None)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


@contextmanager
def provider(*answers: Callable[[Exchange], None]) -> Generator[ScriptedProvider]:
    scripted = ScriptedProvider(list(answers))
    handler = type("ScriptedExchange", (Exchange,), {"provider": scripted})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    scripted.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield scripted
    finally:
        scripted.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()


# Answers


def message(exchange: Exchange) -> None:
    """Of Anthropic, in one document."""
    content = [{"type": "text", "text": "Hello."}]
    exchange.whole(
        200, {"type": "message", "model": "claude-sonnet-4-5-20250929", "content": content, "usage": ANTHROPIC_USAGE}
    )


def message_events() -> list[dict[str, Any]]:
    begun = {**ANTHROPIC_USAGE, "output_tokens": 1}
    return [
        {
            "type": "message_start",
            "message": {"type": "message", "model": "claude-sonnet-4-5-20250929", "usage": begun},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 100}},
        {"type": "message_stop"},
    ]


def streamed_message(exchange: Exchange) -> None:
    exchange.begin_stream()
    for each in message_events():
        exchange.event(each)
    exchange.end_stream()


def held_message(exchange: Exchange) -> None:
    """A stream that stops in the middle until the test lets it go on."""
    exchange.begin_stream()
    first, second, *rest = message_events()
    exchange.event(first)
    exchange.event(second)
    exchange.hold()
    if not exchange.close_connection:
        for each in rest:
            exchange.event(each)
        exchange.end_stream()


def cut_message(exchange: Exchange) -> None:
    """A stream that ends in the middle of an event."""
    exchange.begin_stream()
    first, second, *_ = message_events()
    exchange.event(first)
    exchange.event(second)
    exchange.piece(b'event: content_block_delta\ndata: {"type": "content_bl')
    exchange.close_connection = True


def completion(exchange: Exchange) -> None:
    """Of OpenAI's chat completions, in one document."""
    choices = [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]
    exchange.whole(200, {"model": "gpt-4o-2024-08-06", "choices": choices, "usage": OPENAI_USAGE})


def streamed_completion(exchange: Exchange) -> None:
    """As OpenAI does, with usage only where the request asks for it."""
    exchange.begin_stream()
    asked: dict[str, Any] = exchange.provider.heard[-1].body
    chunk = {"object": "chat.completion.chunk", "model": "gpt-4o-2024-08-06"}
    for text in ("Hel", "lo."):
        exchange.event({**chunk, "choices": [{"index": 0, "delta": {"content": text}}]})
    options: dict[str, Any] = asked.get("stream_options") or {}
    if options.get("include_usage"):
        exchange.event({**chunk, "choices": [], "usage": OPENAI_USAGE})
    exchange.piece(b"data: [DONE]\n\n")
    exchange.end_stream()


def cut_completion(exchange: Exchange) -> None:
    """A stream of OpenAI that ends before its usage comes."""
    exchange.begin_stream()
    chunk = {"object": "chat.completion.chunk", "model": "gpt-4o"}
    for text in ("Hello", " you"):
        exchange.event({**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]})
    exchange.piece(b'data: {"object": "chat')
    exchange.close_connection = True


def streamed_response(exchange: Exchange) -> None:
    """Of OpenAI's responses."""
    exchange.begin_stream()
    response = {"id": "r1", "model": "gpt-4o-2024-08-06", "usage": None}
    exchange.event({"type": "response.created", "response": response})
    exchange.event({"type": "response.output_text.delta", "delta": "Hello."})
    exchange.event({"type": "response.completed", "response": {**response, "usage": RESPONSE_USAGE}})
    exchange.end_stream()


def refusal(status: int, document: Any = None, **headers: str) -> Callable[[Exchange], None]:
    def answer(exchange: Exchange) -> None:
        exchange.whole(status, document or {"error": {"message": "refused"}}, **headers)

    return answer
