"""An endpoint of the shape that OpenAI's has, in a thread of its own: it says what it is told to."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple


class Refusal(NamedTuple):
    """An answer that is no chat completion."""

    status: int
    body: bytes
    retry_after: str | None = None


@dataclass
class Chat:
    answers: list[str | Refusal]
    heard: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    keys: list[str | None] = field(default_factory=list[str | None])
    url: str = ""


@contextmanager
def chat(*answers: str | Refusal) -> Generator[Chat]:
    talk = Chat(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/chat/completions"
            talk.heard.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            talk.keys.append(self.headers["authorization"])
            answer = talk.answers.pop(0)
            said = answer if isinstance(answer, Refusal) else Refusal(200, _completion(answer))
            self.send_response(said.status)
            if said.retry_after is not None:
                self.send_header("retry-after", said.retry_after)
            self.send_header("content-length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    talk.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield talk
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _completion(content: str) -> bytes:
    said = {
        "model": "judge-1",
        "choices": [{"message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 20},
    }
    return json.dumps(said).encode()
