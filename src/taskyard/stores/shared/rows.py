"""Rows of a database as the core's values, and back.

A row is any sequence of what a driver gives: statuses and outcomes as words, flags as numbers or truth values, and JSON
as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from operator import attrgetter
from typing import Any

from taskyard.core.changes import Event, Output, Record, StoredEvent
from taskyard.core.json_value import Json, compact, value_of
from taskyard.core.task import Attempt, Definition, Hot, Lane, Outcome, Status, TaskId
from taskyard.definition.codec import encode_definitions

Row = Sequence[Any]

STATUSES = {status.value: status for status in Status}
_STATUS = Hot._fields.index("status")
_EVENT_STATUS = Event._fields.index("status")
to_text = compact


def hot(row: Row) -> Hot:
    values = list(row)
    values[_STATUS] = STATUSES[values[_STATUS]]
    return Hot._make(values)


def stored_event(row: Row) -> StoredEvent:
    seq, *values = row
    values[_EVENT_STATUS] = STATUSES.get(values[_EVENT_STATUS])  # one that is not of a task has none
    return StoredEvent(seq, Event._make(values))


def attempt(row: Row) -> Attempt:
    read = Attempt._make(row)
    return read._replace(outcome=Outcome(read.outcome), counted=bool(read.counted), status=STATUSES[read.status])


def output(row: Row) -> Output:
    read = Output._make(row)
    return read._replace(artifacts=tuple(json.loads(row[3])))


def output_row(output: Output) -> Row:
    return (output.task_id, output.attempt, output.data, to_text(output.artifacts), output.decision_report)


def record(row: Row) -> Record:
    kind, workspace, id_, version, body = row
    return Record(kind, workspace, id_, version, value_of(body))


def body_text(body: dict[str, Json]) -> str:
    return to_text(body)


def by_task(attempts: Iterable[Attempt]) -> dict[TaskId, list[Attempt]]:
    found: dict[TaskId, list[Attempt]] = {}
    for attempt in attempts:
        found.setdefault(attempt.task_id, []).append(attempt)
    return found


def lane(text: str) -> Lane:
    read = Lane(*json.loads(text))  # what came to lanes later is as usual where it is not said
    return read._replace(capabilities=tuple(read.capabilities), barred=tuple(read.barred))


def lane_text(lane: Lane) -> str:
    """One text for one lane: without what came to lanes later, where that is as usual."""
    return to_text(lane if lane.barred else lane[:-1])


def lane_digest(lane: Lane) -> bytes:
    return sha256(lane_text(lane).encode()).digest()


def definition_row(definition: Definition) -> Row:
    """What lists are filtered by, and the whole."""
    (row,) = definition_rows([definition])
    return row


def definition_rows(definitions: Sequence[Definition]) -> list[Row]:
    texts = encode_definitions(definitions)
    return [(*_filtered_by(definition), text) for definition, text in zip(definitions, texts, strict=True)]


_filtered_by = attrgetter("workspace", "type", "queue", "agent", "subject", "parent_id")
