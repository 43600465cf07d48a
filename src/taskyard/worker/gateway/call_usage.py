"""What a model call used, as the documents of its answer say: one, or those of a stream. Nothing here reaches out.

Where they do not say it, what they bring is counted by its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from taskyard.core.json_value import is_list, is_mapping
from taskyard.features.budgets.token_counts import anthropic_usage, openai_usage
from taskyard.worker.gateway.upstreams import ANTHROPIC, Provider
from taskyard.worker.spending import ModelCall

MOST_EVENT = 32 << 20  # bytes: the last event of a stream may repeat the whole answer
LONGEST_NAME = 255  # characters of a model's name that the yard stores
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LONGEST_END = 4
_USAGE, _MODEL, _DELTA = b'"usage"', b'"model"', b'delta"'
_NO_TEXT = frozenset({"id", "index", "name", "role", "type"})  # members of a delta that no model has written
# The types of events that end a response, and the last line of a stream of completions.
_ENDS = frozenset({"response.cancelled", "response.completed", "response.failed", "response.incomplete"})
_DONE = b"data: [DONE]"
TOKEN = 4  # characters of a token in an estimate: more than most texts have, fewer than code has


class EventTooLong(Exception):
    """An event of a stream does not end."""


class EventSplitter:
    """Server-sent events, each whole, from the pieces that they come in."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def events(self, piece: bytes) -> list[bytes]:
        """The events that this piece ends, as they were sent."""
        looked_at = max(len(self._rest) - _LONGEST_END + 1, 0)
        self._rest += piece
        found: list[bytes] = []
        begin = 0
        while (end := _END.search(self._rest, looked_at)) is not None:
            found.append(bytes(self._rest[begin : end.end()]))
            begin = looked_at = end.end()
        del self._rest[:begin]
        if len(self._rest) > MOST_EVENT:
            raise EventTooLong(f"an event is longer than {MOST_EVENT} bytes")
        return found

    @property
    def rest(self) -> bytes:
        """What has come of an event that has not ended."""
        return bytes(self._rest)


def data_of(event: bytes) -> Any:
    """The document in an event; None where it has none, or one that says nothing of usage and brings no text."""
    if _USAGE not in event and _MODEL not in event and _DELTA not in event:
        return None
    lines = [line[5:].lstrip(b" ") for line in event.splitlines() if line.startswith(b"data:")]
    return document_in(b"\n".join(lines))


def is_done(event: bytes) -> bool:
    """Whether this is how a stream of completions says that it is whole. It is no document."""
    return event.rstrip().endswith(_DONE)


def document_in(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class CallUsage:
    """What is known of the usage of one call, and what can be said of one that has not said it."""

    def __init__(self, provider: Provider, model: str | None, asked: int = 0) -> None:
        self._provider = provider
        self._asked = asked  # bytes of the request
        self._written = 0  # characters of a model that came
        self.is_estimate = False
        self.has_ended = False  # a stream has said that it is whole
        self.model: str | None = None  # as asked for, until an answer names it
        self._usage: dict[str, Any] = {}
        self.learn({"model": model})

    def learn(self, document: Any) -> None:
        """Take what a document of the answer says. A later one of a stream says the same or more."""
        if not is_mapping(document):
            return
        inner = next((each for name in ("message", "response") if is_mapping(each := document.get(name))), document)
        if isinstance(model := inner.get("model"), str) and model and model.isprintable():
            self.model = model[:LONGEST_NAME]
        choices = _mappings(document.get("choices"))
        reasons = [each.get("finish_reason") for each in choices]
        reasons += [each.get("stop_reason") for each in _mappings([document.get("delta")])]
        is_end = document.get("type") in _ENDS or is_only_usage(document)
        self.has_ended = self.has_ended or is_end or any(each is not None for each in reasons)
        texts = [document.get("delta"), document.get("content"), document.get("output")]
        texts += [each.get(name) for each in choices for name in ("delta", "message")]
        self._written += sum(map(_length, texts))
        for usage in (inner.get("usage"), document.get("usage")):
            if is_mapping(usage):
                self._usage |= {str(name): value for name, value in usage.items() if value is not None}

    @property
    def is_known(self) -> bool:
        return bool(self._usage) or self.is_estimate

    def estimate(self) -> None:
        """The answer was cut off, or says nothing of its usage: what came of it is paid for all the same."""
        self.is_estimate = self._written > 0

    @property
    def is_cut_off(self) -> bool:
        """Whether a stream has brought text, and ended without having said so."""
        return self._written > 0 and not self.has_ended

    @property
    def call(self) -> ModelCall:
        counts = anthropic_usage(self._usage) if self._provider is ANTHROPIC else openai_usage(self._usage)
        if self.is_estimate:
            counts["input_tokens"] = counts["input_tokens"] or -(-self._asked // TOKEN)
            counts["output_tokens"] = max(counts["output_tokens"], -(-self._written // TOKEN))
        return ModelCall(**counts, model=self.model, provider=self._provider.name)


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if is_mapping(each)] if is_list(value) else []


def _length(delta: Any) -> int:
    """How many characters of a model's text are in a delta, whatever its shape."""
    if isinstance(delta, str):
        return len(delta)
    if is_mapping(delta):
        return sum(_length(each) for name, each in delta.items() if name not in _NO_TEXT)
    return sum(map(_length, delta)) if is_list(delta) else 0


def is_only_usage(document: Any) -> bool:
    """Whether a chunk of a chat completion is the one that comes only where usage was asked for."""
    return is_mapping(document) and document.get("choices") == [] and is_mapping(document.get("usage"))
