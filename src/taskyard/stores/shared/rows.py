"""Conversion between database rows and the core's values.

A row is any sequence of a driver's values. Statuses and outcomes are words, flags numbers or booleans, JSON is text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from operator import attrgetter
from typing import Any

from taskyard.core.changes import Event, Output, Record
from taskyard.core.json_value import Json, compact, value_of
from taskyard.core.named_rows import new_row
from taskyard.core.task import Attempt, Definition, Hot, Lane, Outcome, Status, TaskId
from taskyard.definition.codec import encode_definitions

Row = Sequence[Any]

STATUSES = {status.value: status for status in Status}
_STATUS = Hot._fields.index("status")
_EVENT_STATUS = Event._fields.index("status")


def parse_hot(row: Row) -> Hot:
    values = list(row)
    values[_STATUS] = STATUSES[values[_STATUS]]
    return new_row(Hot, values)


def parse_attempt(row: Row) -> Attempt:
    read = Attempt._make(row)
    return read._replace(outcome=Outcome(read.outcome), counted=bool(read.counted), status=STATUSES[read.status])


def parse_output(row: Row) -> Output:
    read = Output._make(row)
    return read._replace(artifacts=tuple(json.loads(row[3])))


def format_output(output: Output) -> Row:
    files = compact(output.artifacts) if output.artifacts else "[]"  # which most have
    return (output.task_id, output.attempt, output.data, files, output.decision_report)


def parse_record(row: Row) -> Record:
    kind, workspace, id_, version, body = row
    return Record(kind, workspace, id_, version, value_of(body))


def format_body(body: dict[str, Json]) -> str:
    return compact(body)


def group_by_task(attempts: Iterable[Attempt]) -> dict[TaskId, list[Attempt]]:
    found: dict[TaskId, list[Attempt]] = {}
    for attempt in attempts:
        found.setdefault(attempt.task_id, []).append(attempt)
    return found


def parse_lane(text: str) -> Lane:
    read = Lane(*json.loads(text))  # a lane stored by an older release lacks the newest fields
    return read._replace(capabilities=tuple(read.capabilities), barred=tuple(read.barred))


def format_lane(lane: Lane) -> str:
    """The text that identifies the lane. It omits a newer field that has its default, as older releases do."""
    return compact(lane if lane.barred else lane[:-1])


def digest_lane(lane: Lane) -> bytes:
    return sha256(format_lane(lane).encode()).digest()


def format_definition(definition: Definition) -> Row:
    """The columns that lists filter by, and the encoded definition."""
    (row,) = format_definitions([definition])
    return row


def format_definitions(definitions: Sequence[Definition]) -> list[Row]:
    texts = encode_definitions(definitions)
    return [(*_filtered_by(definition), text) for definition, text in zip(definitions, texts, strict=True)]


_filtered_by = attrgetter("workspace", "type", "queue", "agent", "subject", "parent_id")
