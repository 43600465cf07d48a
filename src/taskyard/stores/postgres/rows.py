"""Rows of the database as the core's values, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from taskyard.core.changes import Event, NewTask, Output, Record, StoredEvent
from taskyard.core.codec import encode_definition
from taskyard.core.task import Attempt, Definition, Hot, Json, Lane, Outcome, Status

Row = Sequence[Any]

STATUSES = {status.value: status for status in Status}
_STATUS = Hot._fields.index("status")
_to_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def hot(row: Row) -> Hot:
    values = list(row)
    values[_STATUS] = STATUSES[values[_STATUS]]
    return Hot._make(values)


def new_task(task: NewTask) -> Row:
    """The moving row without its number, which the database gives, and what lists are filtered by."""
    row, definition, _ = task
    return (
        row[0],
        *row[2:],
        definition.type,
        definition.queue,
        definition.agent,
        definition.subject,
        definition.parent_id,
        encode_definition(definition),
    )


def redefinition(definition: Definition) -> Row:
    return (
        definition.id,
        definition.workspace,
        definition.type,
        definition.queue,
        definition.agent,
        definition.subject,
        definition.parent_id,
        encode_definition(definition),
    )


def stored_event(row: Row) -> StoredEvent:
    seq, *values = row
    event = Event._make(values)
    return StoredEvent(seq, event if event.status is None else event._replace(status=STATUSES[event.status]))


def attempt(row: Row) -> Attempt:
    read = Attempt._make(row)
    return read._replace(outcome=Outcome(read.outcome), status=STATUSES[read.status])


def output(row: Row) -> Output:
    read = Output._make(row)
    return read._replace(artifacts=tuple(json.loads(row[3])))


def output_row(output: Output) -> Row:
    return (output.task_id, output.attempt, output.data, _to_text(output.artifacts), output.decision_report)


def record(row: Row) -> Record:
    kind, workspace, id_, version, body = row
    return Record(kind, workspace, id_, version, json.loads(body))


def body_text(body: dict[str, Json]) -> str:
    return _to_text(body)


def lane(text: str) -> Lane:
    read = Lane._make(json.loads(text))
    return read._replace(capabilities=tuple(read.capabilities))


def lane_text(lane: Lane) -> str:
    return _to_text(lane)


def digest(lane: Lane) -> bytes:
    return sha256(lane_text(lane).encode()).digest()
