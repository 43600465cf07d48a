"""An endpoint of the shape of Anthropic's, in a thread of its own: Claude's command line is asked to use it."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

REFUSALS = {
    400: {"type": "invalid_request_error", "message": "prompt is too long: 250000 tokens > 200000 maximum"},
    429: {"type": "rate_limit_error", "message": "slow down"},
}

# A text; the status of a refusal; a tool that is called, by its input; or nothing until who asked has hung up.
Turn = str | int | dict[str, Any] | None


@dataclass
class Endpoint:
    turns: list[Turn]
    heard: list[str] = field(default_factory=list[str])  # the last message of each question, as JSON
    url: str = ""
    asked: Event = field(default_factory=Event)
    hung_up: Event = field(default_factory=Event)


@contextmanager
def endpoint(*turns: Turn) -> Generator[Endpoint]:
    served = Endpoint(list(turns))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if not self.path.startswith("/v1/messages?") or not asked.get("tools"):
                self._send(404, "application/json", "{}")  # what is no question of the agent itself
                return
            served.heard.append(json.dumps(asked["messages"][-1]["content"]))
            turn = served.turns.pop(0)
            served.asked.set()
            if turn is None:
                self.rfile.read(1)
                served.hung_up.set()
            elif isinstance(turn, int):
                self._send(turn, "application/json", json.dumps({"type": "error", "error": REFUSALS[turn]}))
            else:
                events = _events(turn, len(served.heard), asked["model"])
                lines = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events]
                self._send(200, "text/event-stream", "".join(lines))

        def do_HEAD(self) -> None:
            self._send(200, "text/plain", "")

        def _send(self, status: int, media_type: str, text: str) -> None:
            self.send_response(status)
            self.send_header("retry-after", "3600")
            self.send_header("content-type", media_type)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _events(turn: Turn, number: int, model: str) -> list[dict[str, Any]]:
    """An answer in a text and, where a tool is called, that: 1,000 tokens read and 100 written."""
    usage = {"input_tokens": 1000, "output_tokens": 1}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "content": []}}]
    text = turn if isinstance(turn, str) else "I use a tool"
    blocks: list[tuple[Any, Any]] = [({"type": "text", "text": ""}, {"type": "text_delta", "text": text})]
    if isinstance(turn, dict):
        name = "Task" if "subagent_type" in turn else "Bash"
        tool: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
        blocks.append((tool, {"type": "input_json_delta", "partial_json": json.dumps(turn)}))
    for index, (block, delta) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    reason = "tool_use" if isinstance(turn, dict) else "end_turn"
    end = {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 100}}
    return [*events, {"type": "message_delta", **end}, {"type": "message_stop"}]
