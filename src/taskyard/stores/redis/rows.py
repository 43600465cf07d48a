"""What is stored under a key as the core's values, and back.

A task is a hash of the fields of `core.task.Hot`, by their names. What is None, or nothing where it cannot be None, is
left out: most of a waiting task is. No text has a NUL, so that a lone NUL can stand for None on the way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from taskyard.core.changes import Checkpoint, Event, Limit, Outbox, Output, Record, Signal, StoredEvent
from taskyard.core.task import Attempt, Hot, LaneId, Outcome, Status, TaskId
from taskyard.core.units import Micros
from taskyard.stores.rows import STATUSES, to_text

NONE = "\0"
Word = str | int  # what goes into a command
Reply = Any  # what comes back: texts, numbers and lists of such

_TEXTS = frozenset(
    {
        *("id", "workspace", "dag_id", "status", "agent", "runtime", "lease"),
        *("progress", "session", "why", "idempotency_key", "key"),
    }
)
_COUNTS = frozenset(
    {
        *("seq", "lane", "rank", "height", "version", "attempt", "failures", "losses", "parks", "wait", "circuit"),
        *("reserved", "spent", "tokens_in", "tokens_out", "ran", "updated_at", "claim_ttl", "lease_sec"),
        *("max_attempts", "created_at", "traits"),
    }
)
_BLANK: list[Any] = [0 if name in _COUNTS else None for name in Hot._fields]
_STATUS = Hot._fields.index("status")
_PLACES = {name: place for place, name in enumerate(Hot._fields) if name in _TEXTS}
_NUMBERS = {name: place for place, name in enumerate(Hot._fields) if name not in _TEXTS}


A_READY_ROW = Hot._make(_BLANK)._replace(id=TaskId(""), status=Status.READY, claim_ttl=1)  # with nothing said


def hot(flat: Sequence[str]) -> Hot:
    """The id, then field and value in turn."""
    values = [*_BLANK]
    values[0] = flat[0]
    for name, value in zip(flat[1::2], flat[2::2], strict=True):
        if (place := _NUMBERS.get(name)) is not None:
            values[place] = int(value)
        elif (place := _PLACES.get(name)) is not None:
            values[place] = value
    values[_STATUS] = STATUSES[values[_STATUS]]
    return Hot._make(values)


def hots(rows: Iterable[Sequence[str]]) -> list[Hot]:
    return [hot(row) for row in rows]


def fields(row: Hot) -> list[Word]:
    """Name and value in turn of what is not blank, without the id and the number, which the store gives."""
    named = zip(Hot._fields[2:], cast(Sequence[Any], row[2:]), _BLANK[2:], strict=True)
    return [word for name, value, blank in named if value != blank for word in (name, value)]


def moved(before: Hot, after: Hot) -> list[Word]:
    """Name and value in turn of what differs."""
    words: list[Word] = []
    for name, was, value, blank in zip(Hot._fields, before, cast(Sequence[Any], after), _BLANK, strict=True):
        if value != was:
            words += (name, NONE if value == blank else value)
    return words


def optional(value: Word | None) -> Word:
    return NONE if value is None else value


def event_words(event: Event) -> Iterator[Word]:
    return map(optional, event)


_EVENT = ("event", "task", "dag", "at", "version", "status", "attempt", "data")


def stored_event(workspace: str, entry: tuple[str, Sequence[str]]) -> StoredEvent:
    """An entry of the workspace's stream."""
    number, flat = entry
    found = dict(zip(flat[::2], flat[1::2], strict=True))
    event, task, dag, at, version, status, attempt, data = (_text(found[name]) for name in _EVENT)
    assert event is not None
    assert at is not None
    return StoredEvent(
        int(number.partition("-")[0]),
        Event(
            event,
            workspace,
            None if task is None else TaskId(task),
            dag,  # pyright: ignore[reportArgumentType] - a DagId is a text
            Micros(int(at)),
            _number(version),
            None if status is None else STATUSES[status],
            _number(attempt),
            data,
        ),
    )


def _text(word: str) -> str | None:
    return None if word == NONE else word


def _number(word: str | None) -> int | None:
    return None if word is None else int(word)


# Papers: what is kept with a task, each in a field of its own.


def attempt_text(attempt: Attempt) -> str:
    return to_text(attempt[1:])


def attempt(task_id: TaskId, text: str) -> Attempt:
    read = Attempt._make([task_id, *json.loads(text)])
    return read._replace(outcome=Outcome(read.outcome), status=STATUSES[read.status])


def output_text(output: Output) -> str:
    return to_text(output[1:])


def output(task_id: TaskId, text: str) -> Output:
    read = Output._make([task_id, *json.loads(text)])
    return read._replace(artifacts=tuple(read.artifacts))


def checkpoint_text(checkpoint: Checkpoint) -> str:
    return to_text(checkpoint[2:])


def checkpoints(task_id: TaskId, flat: Sequence[str]) -> list[Checkpoint]:
    """In the order they were written: a number stands before each."""
    numbered = [(name, *text.split(" ", 1)) for name, text in zip(flat[::2], flat[1::2], strict=True)]
    ordered = sorted(numbered, key=lambda each: int(each[1]))
    return [Checkpoint(task_id, name, *json.loads(text)) for name, _, text in ordered]


def signal_text(signal: Signal) -> str:
    return to_text(signal[1:])


def signals(task_id: TaskId, flat: Sequence[str]) -> list[Signal]:
    """In the order they were written: that of the number in their field's name."""
    ordered = sorted(zip(map(int, flat[::2]), flat[1::2], strict=True))
    return [Signal(task_id, *json.loads(text)) for _, text in ordered]


# The rest.


def outbox_text(row: Outbox) -> str:
    return to_text(row)


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
