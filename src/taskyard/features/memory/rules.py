"""What is remembered, and the text that stands for it. Nothing here reads a clock or touches a store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, sqrt
from typing import NamedTuple, TypedDict

from taskyard.core.changes import Record
from taskyard.core.errors import EmbedderFailed
from taskyard.core.json_value import Json, compact
from taskyard.core.policy import policy_of
from taskyard.core.record_kinds import RecordKind
from taskyard.core.task import Definition, TaskId
from taskyard.core.units import SECOND, Micros

LONGEST_TEXT = 4096  # bytes that are embedded of a task
SHORT_TEXT = 1000  # bytes that are tried where an embedder refused the longer text
LONGEST_SUMMARY = 2000  # characters of an output
AUTO = "memory:auto"  # of the references of a task: what is remembered of tasks like it
KIND = "memory"  # of records: what a workspace remembers
POLICY = "policy"  # the id of that record
CURSOR = "embedding_cursor"  # of records: how far an embedder has followed the log, for the whole yard
MOST_REFUSED = 20  # texts that a cursor names as refused
LONGEST_PROBLEM = 500  # characters
LONGEST_WAIT = Micros(300 * SECOND)  # between two tries of an embedder that fails
REMEMBERED_EVENTS = frozenset({"task.completed", "task.dead_lettered"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPolicy:
    """What a workspace remembers, where its tasks do not say; None: what the preset of each task says."""

    remember: bool | None = None
    types: Mapping[str, bool] = field(default_factory=dict[str, bool])

    def body(self) -> dict[str, Json]:
        return {"remember": self.remember, "types": dict(self.types)}


class MemoryPolicyBody(TypedDict):
    remember: bool | None
    types: dict[str, bool]


MEMORY = RecordKind(KIND, MemoryPolicyBody)


def policy_in(body: Mapping[str, Json] | None) -> MemoryPolicy:
    if body is None:
        return MemoryPolicy()
    return MemoryPolicy(**MEMORY.body(body))


def is_remembered(definition: Definition, policy: MemoryPolicy) -> bool:
    """The task itself decides first, then its type, then the workspace, then the preset it was put in under."""
    for choice in (definition.remember, policy.types.get(definition.type), policy.remember):
        if choice is not None:
            return choice
    return policy_of(definition).remembers


def text_of(definition: Definition) -> str:
    """What a task is about, in at most `LONGEST_TEXT` bytes: what people wrote first, what programs wrote after it."""
    parts = [definition.title, definition.type, *definition.tags, definition.prompt, *_texts(definition.payload)]
    return shortened("\n".join(part for part in parts if part), LONGEST_TEXT)


def shortened(text: str, most: int) -> str:
    """The beginning of a text, in at most so many bytes."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def summary_of(output: str) -> str:
    """What an output says in short: its own summary where it has one, otherwise the beginning of it."""
    value: Json = json.loads(output)
    own = value.get("summary") if isinstance(value, dict) else None
    value = own if isinstance(own, str) else value
    return (value if isinstance(value, str) else compact(value))[:LONGEST_SUMMARY]


def unit(vector: Sequence[float], dimensions: int | None) -> list[float] | None:
    """The vector with length 1; None where it has no direction. `EmbedderFailed` where it has other dimensions."""
    if not vector or (dimensions is not None and len(vector) != dimensions):
        raise EmbedderFailed(f"it answered with {len(vector)} numbers, and its vectors have {dimensions or 'some'}")
    length = sqrt(sum(value * value for value in vector))
    if not isfinite(length):
        raise EmbedderFailed("it answered with numbers that are none")
    return [value / length for value in vector] if length else None


def _texts(payload: str) -> Iterator[str]:
    return _texts_in(json.loads(payload))


def _texts_in(value: Json) -> Iterator[str]:
    """Every text of a value, not the names of its fields: these are the same in every task of a type."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(each)


class RefusedText(TypedDict):
    """A task whose text the embedder never takes."""

    workspace: str
    task_id: str
    problem: str


class CursorBody(TypedDict):
    seq: int
    below: int | None
    top: int
    dimensions: int | None
    holder: str | None
    held_until: int
    failures: int
    next_at: int
    problem: str | None
    refused: list[RefusedText]


CURSOR_RECORD = RecordKind(CURSOR, CursorBody)


class EmbeddingCursor(NamedTuple):
    """How far an embedder has followed the log, who embeds now, and what went wrong."""

    version: int = 0  # of the record; 0: there is none yet
    seq: int = 0  # every event up to this number was looked at
    below: int | None = None  # some events behind `seq` were pruned: those that are left are read from `top` downwards
    top: int = 0
    dimensions: int | None = None  # of its vectors; None: it has made none yet
    holder: str | None = None
    held_until: int = 0
    failures: int = 0  # in a row
    next_at: int = 0  # not before
    problem: str | None = None
    refused: Sequence[RefusedText] = ()  # the latest

    def body(self) -> dict[str, Json]:
        refused: list[Json] = [
            {"workspace": each["workspace"], "task_id": each["task_id"], "problem": each["problem"]}
            for each in self.refused
        ]
        body: dict[str, Json] = {**self._asdict(), "refused": refused}
        del body["version"]
        return body

    def is_free(self, holder: str, now: Micros) -> bool:
        """Whether this process may embed now. A time far ahead came from a wrong clock and holds nobody up for long."""
        is_mine = self.holder in (None, holder) or not now < self.held_until <= now + 2 * LONGEST_WAIT
        return is_mine and not now < self.next_at <= now + 2 * LONGEST_WAIT

    def failed(self, problem: str, now: Micros) -> EmbeddingCursor:
        wait = min(SECOND << min(self.failures, 20), LONGEST_WAIT)
        return self._replace(
            holder=None, failures=self.failures + 1, next_at=now + wait, problem=problem[:LONGEST_PROBLEM]
        )

    def went_well(self, dimensions: int | None, refused: Sequence[RefusedText]) -> EmbeddingCursor:
        return self._replace(
            dimensions=dimensions,
            failures=0,
            next_at=0,
            problem=None,
            refused=(*self.refused, *refused)[-MOST_REFUSED:],
        )

    def has_passed(self, seq: int) -> bool:
        """Whether the event of this number was looked at."""
        return seq <= self.seq or (self.below is not None and self.below <= seq <= self.top)


def cursor_of(record: Record | None) -> EmbeddingCursor:
    if record is None:
        return EmbeddingCursor()
    return EmbeddingCursor(record.version, **CURSOR_RECORD.of(record))


class TaskToEmbed(NamedTuple):
    """A task to be embedded."""

    workspace: str
    task_id: TaskId
    type: str
    text: str
