"""An endpoint of the shape of OpenAI's, in a thread of its own: it answers what it is told to."""

import json
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, cast

USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 100,
    "total_tokens": 1100,
    "prompt_tokens_details": {"cached_tokens": 600},
}
RESPONSE_USAGE = {
    "input_tokens": 1000,
    "output_tokens": 100,
    "total_tokens": 1100,
    "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


@dataclass
class Endpoint:
    answers: list[str | int]  # a text; or the status of a refusal
    model: str = "gpt-4o-2024-08-06"  # as the provider calls what was asked for as gpt-4o
    heard: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    url: str = ""
    let_go: Event = field(default_factory=Event)  # streams wait for it behind their first chunk


@contextmanager
def endpoint(
    *answers: str | int, model: str = "gpt-4o-2024-08-06", holds: bool = False, leaves_out: Collection[str] = ()
) -> Generator[Endpoint]:
    """With `holds`, a stream stops behind its first chunk until the test lets it go on.

    Fields may be left out of its answers, as by servers that are not OpenAI's.
    """
    served = Endpoint(list(answers), model)
    if not holds:
        served.let_go.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            served.heard.append(asked)
            answer = served.answers.pop(0)
            if isinstance(answer, int):
                self._send(answer, "application/json", json.dumps({"error": {"message": "refused"}}))
            elif asked.get("stream"):
                chunks = _without(_chunks(answer, asked, served.model), leaves_out)
                lines = [f"event: {each.get('type', 'chunk')}\ndata: {json.dumps(each)}\n\n" for each in chunks]
                self._send(200, "text/event-stream", lines[0], "".join([*lines[1:], "data: [DONE]\n\n"]))
            else:
                whole = _response if self.path.endswith("/responses") else _completion
                self._send(200, "application/json", json.dumps(_without(whole(answer, served.model), leaves_out)))

        def _send(self, status: int, media_type: str, text: str, rest: str = "") -> None:
            self.send_response(status)
            self.send_header("retry-after", "2")
            self.send_header("content-type", media_type)
            self.send_header("content-length", str(len((text + rest).encode())))
            self.end_headers()
            self.wfile.write(text.encode())
            if rest:
                served.let_go.wait()
                with suppress(OSError):  # who asked may have gone
                    self.wfile.write(rest.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield served
    finally:
        served.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _without(document: Any, names: Collection[str]) -> Any:
    if isinstance(document, list):
        return [_without(each, names) for each in cast(list[Any], document)]
    if isinstance(document, dict):
        fields = cast(dict[str, Any], document).items()
        return {name: _without(value, names) for name, value in fields if name not in names}
    return document


def _completion(text: str, model: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": USAGE,
    }


def _response(text: str, model: str) -> dict[str, Any]:
    content: list[Any] = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": model,
        "status": "completed",
        "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": RESPONSE_USAGE,
    }


def _chunks(text: str, asked: dict[str, Any], model: str) -> list[dict[str, Any]]:
    """Word by word; the counts last, and of a completion only where they were asked for."""
    words = [f"{word} " for word in text.split()]
    if "input" in asked:
        places: dict[str, Any] = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "logprobs": []}
        whole = _response(text, model)
        item, part = whole["output"][0], {"type": "output_text", "text": ""}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {**whole, "output": [], "usage": None}},
            {"type": "response.output_item.added", "item": {**item, "content": []}, "output_index": 0},
            {"type": "response.content_part.added", "part": part, **places},
            *({"type": "response.output_text.delta", "delta": word, **places} for word in words),
            {"type": "response.completed", "response": whole},
        ]
        return [{"sequence_number": number, **each} for number, each in enumerate(events)]
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    chunks: list[dict[str, Any]] = [
        {**base, "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]} for word in words
    ]
    if "stream_options" in asked:
        chunks.append({**base, "choices": [], "usage": USAGE})
    return chunks
