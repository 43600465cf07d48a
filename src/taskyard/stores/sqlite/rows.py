"""Rows of the file as the core's values, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from taskyard.core.changes import Event, Output, Record, StoredEvent
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


def stored_event(row: Row) -> StoredEvent:
    seq, *values = row
    event = Event._make(values)
    return StoredEvent(seq, event if event.status is None else event._replace(status=STATUSES[event.status]))


def attempt(row: Row) -> Attempt:
    read = Attempt._make(row)
    return read._replace(outcome=Outcome(read.outcome), counted=bool(read.counted), status=STATUSES[read.status])


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


def definition_row(definition: Definition) -> Row:
    return (
        definition.workspace,
        definition.type,
        definition.queue,
        definition.agent,
        definition.subject,
        definition.parent_id,
        encode_definition(definition),
    )


def names_text(names: Iterable[str | int]) -> str:
    """A list of names or numbers as one parameter: `in (select value from json_each(?))`."""
    return _to_text(list(names))
