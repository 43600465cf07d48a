"""What is stored under a key as the core's values, and back.

A task is a list of the fields of `core.task.Hot` and its type, each at its place in `FIELDS`, as the scripts pack it.
No text has a NUL, so that a lone NUL can stand for None on the way; to scripts that take JSON, false does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from operator import is_not
from typing import Any

from taskyard.core.changes import Checkpoint, Event, Limit, NewTask, Outbox, Output, Record, Signal, StoredEvent
from taskyard.core.jsonvalue import compact
from taskyard.core.task import Attempt, Hot, LaneId, Outcome, TaskId
from taskyard.core.units import Micros
from taskyard.stores.shared.rows import STATUSES

NONE = "\0"
Word = str | int  # what goes into a command
Reply = Any  # what comes back: texts, numbers and lists of such

# As stored: whoever changes this changes the format (see `opening`).
FIELDS = (
    *("id", "seq", "workspace", "dag_id", "lane", "rank", "height", "status", "version", "attempt", "failures"),
    *("losses", "parks", "wait", "agent", "runtime", "lease", "claimed_at", "started_at", "heartbeat_at"),
    *("lease_expires_at", "limit_at", "wake_at", "due_at", "rescore_at", "circuit", "reserved", "spent", "tokens_in"),
    *("tokens_out", "progress", "session", "ran", "why", "updated_at", "idempotency_key", "key", "reserve"),
    *("claim_ttl", "lease_sec", "run_sec", "max_attempts", "expires_at", "created_at", "traits", "type"),
    *("agent_type", "type_slot"),
)
_TYPE = FIELDS.index("type") + 1  # as scripts count: the one field that is not of `Hot`
assert tuple(name for name in FIELDS if name != "type") == Hot._fields
_COUNTS = frozenset(
    {
        *("seq", "lane", "rank", "height", "version", "attempt", "failures", "losses", "parks", "wait", "circuit"),
        *("reserved", "spent", "tokens_in", "tokens_out", "ran", "updated_at", "claim_ttl", "lease_sec"),
        *("max_attempts", "created_at", "traits", "type_slot"),
    }
)
_BLANK = Hot._make(0 if name in _COUNTS else None for name in Hot._fields)
_STATUS = Hot._fields.index("status")
PLACES = tuple(FIELDS.index(name) + 1 for name in Hot._fields)  # as scripts count
_INDEXES = range(len(Hot._fields))
_TIMES = tuple(place for place, name in enumerate(Hot._fields) if name.endswith("_at"))
_MOST = 2**53 - 1  # what scripts can count to; a time after the year 2255 is beyond that, and goes as a text


def script_of_fields() -> str:
    """The place of each field by its name in capitals, and a function that makes a row of which nothing is known."""
    names, places = ", ".join(FIELDS).upper(), ", ".join(map(str, range(1, len(FIELDS) + 1)))
    blank = ", ".join("0" if name in _COUNTS else "false" for name in FIELDS)
    return f"local {names} = {places}\nlocal function blank()\n  return {{{blank}}}\nend"


def hot(row: list[Any]) -> Hot:
    """A row as a script answers with it."""
    values = [*row[: _TYPE - 1], *row[_TYPE:]]
    values += _BLANK[len(values) :]  # what the release that stored it did not know
    values[_STATUS] = STATUSES[values[_STATUS]]
    for place in _TIMES:
        if isinstance(values[place], str):
            values[place] = int(values[place])
    return Hot._make(values)


def hots(rows: Iterable[list[Any]]) -> list[Hot]:
    return [hot(row) for row in rows]


def moved(before: Hot, after: Hot) -> list[Word]:
    """Place and value in turn of what differs."""
    words: list[Word] = []
    for index in compress(_INDEXES, map(is_not, before, after)):  # what stayed is nearly always the very same object
        value: Any = after[index]
        if value != before[index]:
            words += (PLACES[index], json_word(value))
    return words


def born(tasks: Iterable[NewTask]) -> Iterator[list[Word]]:
    """The same of each task that is new and the one before it: most have much in common. Numbers the store gives."""
    last, last_type = _BLANK, None
    for row, definition, _ in tasks:
        words = moved(last, row)
        if definition.type != last_type:
            words += (_TYPE, definition.type)
        yield words
        last, last_type = row, definition.type


def json_word(value: Word | None) -> Word:
    if value is None:
        return False
    return str(value) if isinstance(value, int) and not -_MOST <= value <= _MOST else value


def optional(value: Word | None) -> Word:
    return NONE if value is None else value


def event_words(event: Event) -> Sequence[Word | None]:
    return event if None not in event and -_MOST <= event.at <= _MOST else tuple(map(json_word, event))


def stored_event(entry: tuple[str, Sequence[Any]]) -> StoredEvent:
    """As a script answers with it."""
    number, (name, workspace, task_id, dag_id, at, version, status, attempt, data) = entry
    told = None if status is None else STATUSES[status]
    event = Event(name, workspace, task_id, dag_id, Micros(int(at)), version, told, attempt, data)
    return StoredEvent(int(number.partition("-")[0]), event)


# Papers: what is kept with a task, each in a field of its own.


def attempt_text(attempt: Attempt) -> str:
    return compact(attempt[1:])


def attempt(task_id: TaskId, text: str) -> Attempt:
    read = Attempt(task_id, *json.loads(text))  # shorter where an older release wrote it
    return read._replace(outcome=Outcome(read.outcome), status=STATUSES[read.status])


def output_text(output: Output) -> str:
    return compact(output[1:])


def output(task_id: TaskId, text: str) -> Output:
    read = Output._make([task_id, *json.loads(text)])
    return read._replace(artifacts=tuple(read.artifacts))


def checkpoint_text(checkpoint: Checkpoint) -> str:
    return compact(checkpoint[2:])


def checkpoints(task_id: TaskId, flat: Sequence[str]) -> list[Checkpoint]:
    """In the order they were written: a number stands before each."""
    numbered = [(name, *text.split(" ", 1)) for name, text in zip(flat[::2], flat[1::2], strict=True)]
    ordered = sorted(numbered, key=lambda each: int(each[1]))
    return [Checkpoint(task_id, name, *json.loads(text)) for name, _, text in ordered]


def signal_text(signal: Signal) -> str:
    return compact(signal[1:])


def signals(task_id: TaskId, flat: Sequence[str]) -> list[Signal]:
    """In the order they were written: that of the number in their field's name."""
    ordered = sorted(zip(map(int, flat[::2]), flat[1::2], strict=True))
    return [Signal(task_id, *json.loads(text)) for _, text in ordered]


# The rest.


def outbox_text(row: Outbox) -> str:
    return compact(row)


def outbox(text: str) -> Outbox:
    return Outbox._make(json.loads(text))


def record(kind: str, workspace: str, record_id: str, text: str) -> Record:
    version, body = text.split(" ", 1)
    return Record(kind, workspace, record_id, int(version), json.loads(body))


def limit(workspace: str, name: str, text: str) -> Limit:
    ceiling, held, spent = text.split(" ")
    return Limit(workspace, name, None if ceiling == "-" else int(ceiling), int(held), int(spent))


def score(text: str) -> int:
    """Scores are doubles, printed as such: whole and exact below 2**53."""
    return int(float(text))


def lane_id(text: str) -> LaneId:
    return LaneId(score(text))
