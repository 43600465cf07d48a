"""An endpoint in the shape of OpenAI's that plays the model: it says what a script says and hears what tools answer."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple


class ToolCall(NamedTuple):
    tool: str
    arguments: dict[str, Any]


# It yields tool calls, is sent their answers, and returns the last words.
Script = Generator[ToolCall, Any, str]


class ScriptedModel:
    """One conversation."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.tools: set[str] = set()  # that the agent has offered
        self.said: list[str] = []  # tools that were called for, in order
        self.errors: list[str] = []  # where the conversation left its script

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The next message of the model."""
        self.tools |= {each["function"]["name"] for each in request.get("tools", ())}
        last = request["messages"][-1]
        try:
            call = self._script.send(_heard(last) if last["role"] == "tool" else None)
        except StopIteration as end:
            return {"role": "assistant", "content": end.value}
        self.said.append(call.tool)
        function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
        return {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": f"call_{len(self.said)}", "type": "function", "function": function}],
        }


def _heard(message: dict[str, Any]) -> Any:
    """What a tool answered: the agent hands its content blocks on as one text."""
    (block,) = json.loads(message["content"])
    return json.loads(block["text"])


@contextmanager
def playing(script: Script) -> Generator[tuple[str, ScriptedModel]]:
    """The address of the endpoint, and the model behind it."""
    model = ScriptedModel(script)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(model))
    thread = Thread(target=server.serve_forever, name="scripted model")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(model: ScriptedModel) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            try:
                said = model.answer(request)
            except Exception as error:  # the agent would only say that its model is broken
                model.errors.append(f"{error!r} after {json.dumps(request['messages'][-1])[:2000]}")
                self.send_error(400, "the conversation left its script")
                return
            reason = "tool_calls" if "tool_calls" in said else "stop"
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            parts: list[tuple[dict[str, Any], str | None]] = [(said, None), ({}, reason)]
            for delta, finished in parts:
                choice = {"index": 0, "delta": delta, "finish_reason": finished}
                chunk = {"id": "chunk", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
                text = json.dumps({**chunk, "choices": [choice]})
                self.wfile.write(f"data: {text}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: it would stand between the lines of the tests."""

    return Handler
