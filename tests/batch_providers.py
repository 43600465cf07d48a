"""A model provider on this machine, with the batch endpoints of OpenAI and of Anthropic as their documents have them.

A batch stays under way until a test ends it, or it is cancelled. What is answered is billed: by the prompt, so that a
test sees what was paid for twice, whichever way it was asked.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKENS = 1000  # that every prompt has, and every answer
DAY = 86_400
MOST_REQUESTS = 50_000  # of a batch, with OpenAI; Anthropic takes 100,000
CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # Anthropic's rule, the narrower one
TOO_MANY = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached", "line": None, "param": None}
OVER = ("completed", "cancelled", "expired", "failed")


@dataclass(slots=True)
class Batch:
    id: str
    created_at: float
    expires_at: float
    requests: dict[str, dict[str, Any]]  # by custom id
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    status: str = "in_progress"
    results: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])


@dataclass(slots=True)
class FakeProvider:
    port: int = 0
    now: Callable[[], float] = time
    ends_at_once: bool = True  # a batch is completed when it is first looked at
    expires_after: float = DAY  # seconds: a batch that has not ended by then
    cancels_after: float = 0  # seconds from its beginning on: a batch that is to be cancelled is so
    answers: int | None = None  # that a batch has when it is cancelled or expires; None: all
    refusals: list[tuple[int, dict[str, str]]] = field(default_factory=list[tuple[int, dict[str, str]]])  # of batches
    batches: list[Batch] = field(default_factory=list[Batch])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    billed: Counter[str] = field(default_factory=Counter[str])  # prompts
    direct: list[str] = field(default_factory=list[str])  # prompts of ordinary calls
    asked: list[str] = field(default_factory=list[str])  # method and path
    has_files: bool = True  # of answers, where batches of OpenAI have ended
    rewritten: Callable[[bytes], bytes] | None = None  # what a file of results becomes on its way
    # What is done once when such a request comes: before it is taken, which it then is not, or before it is answered.
    before: dict[str, Callable[[], None]] = field(default_factory=dict[str, Callable[[], None]])
    after: dict[str, Callable[[], None]] = field(default_factory=dict[str, Callable[[], None]])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def hang_up(self) -> None:
        """What is done after a request that is taken and then never answered."""
        raise ConnectionAbortedError

    def end(self, batch: Batch, status: str = "completed", answers: int | None = None) -> None:
        """A prompt that says `bad` is refused; behind so many answers, the rest was not carried out."""
        for place, (custom_id, body) in enumerate(batch.requests.items()):
            prompt = prompt_of(body)
            if answers is not None and place >= answers:
                batch.results[custom_id] = {"kind": "expired" if status == "expired" else "cancelled"}
            elif "bad" in prompt:
                batch.results[custom_id] = {"kind": "refused"}
            else:
                self.billed[prompt] += 1
                batch.results[custom_id] = {"kind": "answered", "prompt": prompt, "model": body["model"]}
        batch.status = status

    def look(self, batch: Batch) -> Batch:
        if batch.status == "cancelling" and self.now() >= batch.created_at + self.cancels_after:
            self.end(batch, "cancelled", self.answers or 0)
        elif batch.status == "in_progress" and self.now() >= batch.expires_at:
            self.end(batch, "expired", self.answers or 0)
        elif batch.status == "in_progress" and self.ends_at_once:
            self.end(batch)
        return batch


def prompt_of(body: dict[str, Any]) -> str:
    return body["messages"][0]["content"]


@contextmanager
def providing(**options: Any) -> Generator[FakeProvider]:
    provider = FakeProvider(**options)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.reply(b"")

        def do_POST(self) -> None:
            self.reply(self.rfile.read(int(self.headers["content-length"])))

        def reply(self, body: bytes) -> None:
            target = urlsplit(self.path)
            key = f"{self.command} {target.path}"
            provider.asked.append(key)
            place = next((each for each in provider.before if key.startswith(each)), None)
            if place is not None:
                provider.before.pop(place)()
                self.close_connection = True  # whoever asked is gone, before anything came of it
                return
            status, headers, content = _Answers(provider, self.headers, body, parse_qs(target.query)).of(key)
            after = next((each for each in provider.after if key.startswith(each)), None)
            try:
                if after is not None:
                    provider.after.pop(after)()
            except ConnectionAbortedError:
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)  # seconds until it ends
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Answers:
    """What is answered to one request."""

    def __init__(self, provider: FakeProvider, headers: Any, body: bytes, query: dict[str, list[str]]) -> None:
        self.provider, self.headers, self.body, self.query = provider, headers, body, query

    def of(self, key: str) -> tuple[int, dict[str, str], bytes]:  # noqa: PLR0912 - one branch for each endpoint
        if "authorization" not in self.headers and "x-api-key" not in self.headers:
            return 401, {}, b'{"error":{"message":"no key"}}'
        if key in ("POST /v1/batches", "POST /v1/messages/batches") and self.provider.refusals:
            status, headers = self.provider.refusals.pop(0)
            return status, headers, b'{"error":{"message":"not now"}}'
        method, _, path = key.partition(" ")
        parts = path.strip("/").split("/")[1:]
        match method, *parts:
            case ["POST", "files"]:
                return self.document(self.upload())
            case ["GET", "files", file_id, "content"]:
                return self.results(file_id.partition(".")[0], lambda batch: openai_lines(file_id, batch))
            case ["POST", "batches"]:
                return self.openai(self.create())
            case ["GET", "batches"]:
                return self.document(self.page(openai_shown, "after"))
            case ["GET", "batches", batch_id]:
                return self.openai(self.provider.look(self.batch(batch_id)))
            case ["POST", "batches", batch_id, "cancel"]:
                return self.document(openai_shown(self.cancelled(batch_id)))
            case ["POST", "chat", "completions"]:
                return self.document(openai_answer(self.called()))
            case ["POST", "messages"]:
                return self.document(anthropic_answer(self.called()))
            case ["POST", "messages", "batches"]:
                return self.document(anthropic_shown(self.create_messages()))
            case ["GET", "messages", "batches"]:
                return self.document(self.page(anthropic_shown, "after_id"))
            case ["GET", "messages", "batches", batch_id]:
                return self.document(anthropic_shown(self.provider.look(self.batch(batch_id))))
            case ["POST", "messages", "batches", batch_id, "cancel"]:
                return self.document(anthropic_shown(self.cancelled(batch_id)))
            case ["GET", "messages", "batches", batch_id, "results"]:
                return self.results(batch_id, lambda batch: lines(anthropic_line, batch))
            case _:
                return 404, {}, b"{}"

    def openai(self, batch: Batch) -> tuple[int, dict[str, str], bytes]:
        shown = openai_shown(batch)
        return self.document(shown if self.provider.has_files else shown | {"output_file_id": None})

    def document(self, shown: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        return 200, {"Content-Type": "application/json"}, json.dumps(shown).encode()

    def upload(self) -> dict[str, Any]:
        form = BytesParser().parsebytes(f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode() + self.body)
        fields = {str(part.get_param("name", header="content-disposition")): _content(part) for part in form.walk()}
        assert fields["purpose"] == b"batch"
        file_id = f"file-{len(self.provider.files) + 1}"
        self.provider.files[file_id] = fields["file"]
        return {"id": file_id, "object": "file", "purpose": "batch"}

    def create(self) -> Batch:
        asked = json.loads(self.body)
        assert asked["completion_window"] == "24h"
        rows = [json.loads(line) for line in self.provider.files[asked["input_file_id"]].splitlines()]
        assert all(row["url"] == asked["endpoint"] and row["method"] == "POST" for row in rows)
        assert len({row["body"]["model"] for row in rows}) == 1
        return self.made("batch", [(row["custom_id"], row["body"]) for row in rows], asked["metadata"])

    def create_messages(self) -> Batch:
        rows = json.loads(self.body)["requests"]
        return self.made("msgbatch", [(row["custom_id"], row["params"]) for row in rows], {})

    def made(self, kind: str, rows: list[tuple[str, dict[str, Any]]], metadata: dict[str, str]) -> Batch:
        assert all(CUSTOM_ID.fullmatch(custom_id) for custom_id, _ in rows)
        requests = dict(rows)
        assert 0 < len(requests) == len(rows) <= MOST_REQUESTS
        now = self.provider.now()
        name = f"{kind}_{len(self.provider.batches) + 1}"
        batch = Batch(name, now, now + self.provider.expires_after, requests, metadata)
        self.provider.batches.append(batch)
        return batch

    def page(self, shown: Callable[[Batch], dict[str, Any]], after: str) -> dict[str, Any]:
        newest = list(reversed(self.provider.batches))
        begun = [each.id for each in newest].index(self.query[after][0]) + 1 if after in self.query else 0
        limit = int(self.query["limit"][0])
        return {
            "data": [shown(self.provider.look(each)) for each in newest[begun : begun + limit]],
            "has_more": len(newest) > begun + limit,
        }

    def batch(self, batch_id: str) -> Batch:
        return next(each for each in self.provider.batches if each.id == batch_id)

    def cancelled(self, batch_id: str) -> Batch:
        batch = self.batch(batch_id)
        if batch.status == "in_progress":
            batch.status = "cancelling"
        return batch

    def called(self) -> dict[str, Any]:
        body = json.loads(self.body)
        self.provider.direct.append(prompt_of(body))
        self.provider.billed[prompt_of(body)] += 1
        return {"prompt": prompt_of(body), "model": body["model"]}

    def results(self, batch_id: str, content: Callable[[Batch], bytes]) -> tuple[int, dict[str, str], bytes]:
        batch = next((each for each in self.provider.batches if each.id == batch_id), None)
        if batch is None or batch.status not in OVER:
            return 404, {}, b'{"error":{"message":"no results yet"}}'
        found = content(batch)
        return 200, {}, found if self.provider.rewritten is None else self.provider.rewritten(found)


def _content(part: Message) -> bytes:
    found = part.get_payload(decode=True)
    return found if isinstance(found, bytes) else b""


def openai_lines(file_id: str, batch: Batch) -> bytes:
    return lines(lambda custom, result: openai_line(custom, result, file_id.partition(".")[2]), batch)


def lines(shown: Callable[[str, dict[str, Any]], dict[str, Any] | None], batch: Batch) -> bytes:
    """In another order than that of the requests, as both providers reserve it."""
    found = [shown(custom_id, result) for custom_id, result in reversed(batch.results.items())]
    return b"".join(json.dumps(each).encode() + b"\n" for each in found if each is not None)


def openai_shown(batch: Batch) -> dict[str, Any]:
    kinds = Counter(result["kind"] for result in batch.results.values())
    is_failed = batch.status == "failed"  # while it was checked: none of its requests was carried out
    return {
        "id": batch.id,
        "object": "batch",
        "status": batch.status,
        "created_at": int(batch.created_at),
        "expires_at": int(batch.expires_at),
        "metadata": batch.metadata,
        "errors": {"object": "list", "data": [TOO_MANY]} if is_failed else None,
        "request_counts": {
            "total": 0 if is_failed else len(batch.requests),
            "completed": kinds["answered"],
            "failed": kinds["refused"],
        },
        "output_file_id": f"{batch.id}.output" if "answered" in kinds else None,
        "error_file_id": f"{batch.id}.error" if set(kinds) - {"answered"} else "",  # OpenAI has been seen to say so
    }


def openai_answer(result: dict[str, Any]) -> dict[str, Any]:
    return {
        "object": "chat.completion",
        "model": result["model"],
        "choices": [{"message": {"role": "assistant", "content": f"re: {result['prompt']}"}}],
        "usage": {"prompt_tokens": TOKENS, "completion_tokens": TOKENS},
    }


def openai_line(custom_id: str, result: dict[str, Any], kind: str) -> dict[str, Any] | None:
    if (result["kind"] == "answered") != (kind == "output"):
        return None
    line: dict[str, Any] = {"id": f"line-{custom_id}", "custom_id": custom_id, "response": None, "error": None}
    match result["kind"]:
        case "answered":
            return line | {"response": {"status_code": 200, "body": openai_answer(result)}}
        case "refused":
            return line | {"response": {"status_code": 400, "body": {"error": {"message": "bad prompt"}}}}
        case word:
            return line | {"error": {"code": f"batch_{word}", "message": "was not carried out"}}


def anthropic_shown(batch: Batch) -> dict[str, Any]:
    is_over = batch.status in OVER
    counts = Counter(result["kind"] for result in batch.results.values())
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if is_over else "canceling" if batch.status == "cancelling" else "in_progress",
        "request_counts": {
            "processing": 0 if is_over else len(batch.requests),
            "succeeded": counts["answered"],
            "errored": counts["refused"],
            "canceled": counts["cancelled"],
            "expired": counts["expired"],
        },
        "created_at": iso(batch.created_at),
        "expires_at": iso(batch.expires_at),
        "results_url": "http://127.0.0.1:1/elsewhere",  # which nobody is to follow
    }


def anthropic_answer(result: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "message",
        "model": result["model"],
        "content": [{"type": "text", "text": f"re: {result['prompt']}"}],
        "usage": {"input_tokens": TOKENS, "output_tokens": TOKENS},
    }


def anthropic_line(custom_id: str, result: dict[str, Any]) -> dict[str, Any]:
    match result["kind"]:
        case "answered":
            shown = {"type": "succeeded", "message": anthropic_answer(result)}
        case "refused":
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "bad prompt"}}
            shown = {"type": "errored", "error": error}
        case word:
            shown = {"type": "canceled" if word == "cancelled" else word}
    return {"custom_id": custom_id, "result": shown}


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
