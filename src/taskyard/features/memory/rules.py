"""What is remembered, and the text that stands for it. Nothing here reads a clock or touches a store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from taskyard.core.json_value import Json
from taskyard.core.policy import policy_of
from taskyard.core.record_kinds import RecordKind
from taskyard.core.task import Definition

LONGEST_TEXT = 4096  # bytes that are embedded of a task
KIND = "memory"  # of records: what a workspace remembers
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
    text = "\n".join(part for part in parts if part)
    return text.encode("utf-8", "replace")[:LONGEST_TEXT].decode("utf-8", "ignore")


def _texts(payload: str) -> Iterator[str]:
    return _texts_in(json.loads(payload))


def _texts_in(value: Json) -> Iterator[str]:
    """Every text of a value, not the names of its fields: these are the same in every task of a type."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(each)
