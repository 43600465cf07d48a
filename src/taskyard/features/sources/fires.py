"""Fires: the record of every time that a schedule or a trigger made work, or did not, and why.

A fire's id is what locks it: it is stored as new, in the same change as the work it makes, so of two processes that
fire the same thing one meets a conflict. Ids of one source sort by time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypedDict

from taskyard.core.changes import Record, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import Micros
from taskyard.definition.view import CLOSED, About, Time

KIND = "fire"
_SOURCE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)


class FireOutcome(StrEnum):
    FIRED = "fired"  # it made work, or found that what it was to make is there
    SKIPPED = "skipped"  # by its own conditions or policies
    MISSED = "missed"  # a time that came while nobody was there to fire it
    FAILED = "failed"  # its template does not give a sound task
    REFUSED = "refused"  # a delivery that was not good


@dataclass(frozen=True, slots=True, kw_only=True)
class Fire:
    """A time, or an event, and what it made, or why it made nothing."""

    source: str  # schedule:ID or trigger:ID
    # Unique within the source.
    key: Annotated[str, About("Sorts by time; that of the last one seen gives the next page.")]
    outcome: Annotated[FireOutcome, CLOSED]
    why: str
    at: Time
    nominal: Annotated[Time | None, About("Of a schedule: the time that it is about.")] = None
    task_id: str | None = None  # what it made
    dag_id: str | None = None
    chain: Annotated[int, About("How many fires led to it, one by the work of another.")] = 0

    @property
    def id(self) -> str:
        return f"{self.source}/{self.key}"

    @property
    def run(self) -> str | None:
        return self.task_id or self.dag_id

    def stored(self, workspace: str) -> RecordChange:
        body: dict[str, Json] = {
            "outcome": self.outcome.value,
            "why": self.why,
            "at": self.at,
            "nominal": self.nominal,
            "task_id": self.task_id,
            "dag_id": self.dag_id,
            "chain": self.chain,
        }
        return RecordChange(KIND, workspace, self.id, 0, body)


def source_id(field: str, value: object) -> str:
    """What a schedule, a trigger or a hook is called: it stands in paths and in the ids of fires."""
    if not isinstance(value, str) or not _SOURCE_ID.fullmatch(value):
        raise InvalidInput(field, "must be at most 100 letters, digits, dots, hyphens and underscores")
    return value


class FireBody(TypedDict):
    outcome: str
    why: str
    at: Micros
    nominal: Micros | None
    task_id: str | None
    dag_id: str | None
    chain: int


FIRE = RecordKind(KIND, FireBody)


def fire_of(record: Record) -> Fire:
    body = FIRE.of(record)
    source, _, key = record.id.partition("/")
    return Fire(
        source=source,
        key=key,
        outcome=FireOutcome(body["outcome"]),
        why=body["why"],
        at=body["at"],
        nominal=body["nominal"],
        task_id=body["task_id"],
        dag_id=body["dag_id"],
        chain=body["chain"],
    )


def key_at(at: Micros, what: str = "") -> str:
    """Of the moment, and of what came then where more than one thing may."""
    return f"{at:016d}-{what}" if what else f"{at:016d}"


def place(source: str, at: Micros) -> str:
    """Where the fires of a source from this moment on begin."""
    return f"{source}/{key_at(at)}"
