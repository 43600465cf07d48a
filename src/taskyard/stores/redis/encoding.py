"""Conversion between stored values and the core's values.

A task is a list of the fields of `core.task.Hot` and its type, each at its place in `FIELDS`, as the scripts pack it.
No text contains a NUL, so that an argument of one NUL stands for None; in JSON arguments, false stands for None.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from json.encoder import encode_basestring
from operator import eq, is_not, itemgetter
from typing import Any

from taskyard.core.changes import Checkpoint, Event, Limit, NewTask, Outbox, Output, Record, Signal, StoredEvent
from taskyard.core.json_value import compact
from taskyard.core.named_rows import new_row
from taskyard.core.task import Attempt, Definition, Hot, LaneId, Outcome, TaskId, lone_dag
from taskyard.core.units import Micros
from taskyard.definition.codec import Heading, decode_definition, encode_definitions
from taskyard.stores.contract import Embedding
from taskyard.stores.shared.commits.places import HELD_ONLY, HELD_TOO
from taskyard.stores.shared.log_rows import decode_row
from taskyard.stores.shared.rows import STATUSES
from taskyard.stores.shared.vectors import pack_vector

NONE = "\0"
Word = str | int  # an argument of a command
Reply = Any  # an answer: texts, numbers and lists of them
Step = Sequence[Any]  # the name of a function of a script and its arguments

# The stored format: a change here needs a new format (see `schema`). First the fields of `task:ID`, of which `log` and
# `type` are not in `Hot`; then those that only a held or validated task has. `held:ID` has these and `HELD_TOO`.
_TASK_FIELDS = (
    *("id", "seq", "workspace", "dag_id", "lane", "rank", "height", "status", "version", "attempt", "failures"),
    *("losses", "parks", "wait", "agent", "runtime", "started_at", "wake_at", "due_at", "rescore_at", "session", "ran"),
    *("updated_at", "why", "idempotency_key", "key", "reserve", "claim_ttl", "lease_sec", "run_sec", "max_attempts"),
    *("expires_at", "created_at", "traits", "type", "log"),
)
_HELD_FIELDS = (
    *("lease", "claimed_at", "heartbeat_at", "lease_expires_at", "limit_at", "circuit", "reserved", "spent"),
    *("tokens_in", "tokens_out", "progress", "agent_type", "type_slot", "holds", "held_log", "tokens_cached"),
)
FIELDS = (*_TASK_FIELDS, *_HELD_FIELDS)
OLD_FIELDS = (  # of a row until format 4
    *("id", "seq", "workspace", "dag_id", "lane", "rank", "height", "status", "version", "attempt", "failures"),
    *("losses", "parks", "wait", "agent", "runtime", "lease", "claimed_at", "started_at", "heartbeat_at"),
    *("lease_expires_at", "limit_at", "wake_at", "due_at", "rescore_at", "circuit", "reserved", "spent", "tokens_in"),
    *("tokens_out", "progress", "session", "ran", "why", "updated_at", "idempotency_key", "key", "reserve"),
    *("claim_ttl", "lease_sec", "run_sec", "max_attempts", "expires_at", "created_at", "traits", "type"),
    *("agent_type", "type_slot"),
)
_LISTS = frozenset({"log", "held_log"})  # the entries of the event log, which only scripts read
assert {*FIELDS} == {*Hot._fields, "type", "holds", *_LISTS}
assert {*HELD_ONLY} == {*_HELD_FIELDS} - {"holds", "held_log"}
_COUNTS = frozenset(
    {
        *("seq", "lane", "rank", "height", "version", "attempt", "failures", "losses", "parks", "wait", "circuit"),
        *("reserved", "spent", "tokens_in", "tokens_out", "ran", "updated_at", "claim_ttl", "lease_sec"),
        *("max_attempts", "created_at", "traits", "type_slot"),
    }
)
_BLANK = Hot._make(0 if name in _COUNTS else None for name in Hot._fields)
_BLANKS = [0 if name in _COUNTS else None for name in FIELDS]
_STATUS = Hot._fields.index("status")
_TYPE = FIELDS.index("type") + 1
PLACES = tuple(FIELDS.index(name) + 1 for name in Hot._fields)  # counted from 1, as in Lua
_INDEXES = range(len(Hot._fields))
_TIMES = tuple(place for place, name in enumerate(Hot._fields) if name.endswith("_at"))
_times: Callable[[Sequence[Any]], tuple[Any, ...]] = itemgetter(*map(int, _TIMES))
_LEASE, _DIGEST = Attempt._fields.index("lease"), Attempt._fields.index("digest")
_MOST = 2**53 - 1  # the largest exact number in Lua; a later time, after the year 2255, is sent as text


# What the scripts call the place of each field, and those of the first and last that only `held:ID` has.
FIELD_PLACES = {name.upper(): str(place) for place, name in enumerate(FIELDS, start=1)} | {
    "FIRST_HELD": str(len(_TASK_FIELDS) + 1),
    "LAST_HELD": str(len(FIELDS)),
}


def fields_script() -> str:
    """The Lua functions that know which fields are stored where."""
    both = [FIELDS.index(name) + 1 for name in (*HELD_TOO, *_HELD_FIELDS)]
    held_too = [f"[{FIELDS.index(name) + 1}] = true" for name in (*HELD_TOO, *_HELD_FIELDS)]
    first = len(_TASK_FIELDS) + 1
    return "\n".join(
        (
            f"local HELD_TOO = {{{', '.join(held_too)}}}",
            _function("blank", "", f"return {{{', '.join(map(_blank, _TASK_FIELDS))}}}"),
            _function("held_of", "row", f"return {{{', '.join(f'row[{place}]' for place in both)}}}"),
            _function("overlay", "row, held", *(f"row[{place}] = held[{n}]" for n, place in enumerate(both, start=1))),
            _function("fill", "row", *(_fill(n, name) for n, name in enumerate(_HELD_FIELDS, start=first))),
        )
    )


def old_fields_script() -> str:
    """The Lua tables of the fields of an older row: their names in order, and their places in a row of this release."""
    names = ", ".join(f"'{name}'" for name in OLD_FIELDS)
    places = ", ".join(f"{name} = {FIELDS.index(name) + 1}" for name in OLD_FIELDS)
    return f"local OLD, PLACE_OF = {{{names}}}, {{{places}}}"


def _function(name: str, arguments: str, *lines: str) -> str:
    return "\n".join((f"local function {name}({arguments})", *(f"  {line}" for line in lines), "end"))


def _fill(place: int, name: str) -> str:
    return f"if row[{place}] == nil then row[{place}] = {_blank(name)} end"


def _blank(name: str) -> str:
    return "{}" if name in _LISTS else "0" if name in _COUNTS else "false"


_heading: Callable[[Sequence[Any]], tuple[Any, ...]] = itemgetter(*(FIELDS.index(name) for name in Heading._fields))
_in_hot_order: Callable[[Sequence[Any]], tuple[Any, ...]] = itemgetter(*(FIELDS.index(name) for name in Hot._fields))


def parse_hot(row: list[Any]) -> Hot:
    """Parse a row that a script answered. That of a task that is not held is shorter."""
    values = list(_in_hot_order(row + _BLANKS[len(row) :]))
    values[_STATUS] = STATUSES[values[_STATUS]]
    if str in map(type, _times(values)):
        for place in _TIMES:
            values[place] = None if values[place] is None else int(values[place])
    return new_row(Hot, values)


def format_definitions(tasks: Sequence[NewTask]) -> list[str]:
    """The definitions of new tasks as text, without what the rows have."""
    return list(
        encode_definitions((task.definition for task in tasks), row_times=[task.hot.created_at for task in tasks])
    )


def format_redefinitions(definitions: Sequence[Definition]) -> list[str]:
    """Definitions of tasks whose rows are not at hand, without what the rows surely have."""
    return list(encode_definitions(definitions, row_times=[None] * len(definitions)))


def parse_definition(row: list[Any], text: str) -> Definition:
    """Parse a definition that a script answered beside the row of its task."""
    task_id, workspace, type_, created_at = _heading(row)
    return parse_headed(task_id, workspace, type_, created_at, text)


def parse_headed(task_id: TaskId, workspace: str, type_: str, created_at: Word, text: str) -> Definition:
    """Parse a definition that a script answered behind the fields of its heading."""
    return decode_definition(text, Heading(task_id, workspace, type_, Micros(int(created_at))))


def parse_hots(rows: Iterable[list[Any]]) -> list[Hot]:
    return [parse_hot(row) for row in rows]


def moved_values(before: Hot, after: Hot) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """Which fields differ, and their values after the change."""
    # An unchanged value is nearly always the same object; a value that is another one, and equal, is looked for below.
    indexes = tuple(compress(_INDEXES, map(is_not, before, after)))
    values = tuple(map(after.__getitem__, indexes))
    if True in map(eq, values, map(before.__getitem__, indexes)):
        indexes = tuple(index for index in indexes if before[index] != after[index])
        values = tuple(map(after.__getitem__, indexes))
    return indexes, values


def moved_words(indexes: Sequence[int], values: Sequence[Any]) -> list[Word]:
    """The changed fields: place and value in turn."""
    return [word for index, value in zip(indexes, values, strict=True) for word in (PLACES[index], to_json(value))]


def changed_fields(before: Hot, after: Hot) -> list[Word]:
    return moved_words(*moved_values(before, after))


def new_task_fields(tasks: Iterable[NewTask]) -> Iterator[list[Word]]:
    """For each new task, the fields that differ from the task before it: they share most fields."""
    last, last_type = _BLANK, None
    for row, definition, _ in tasks:
        words = changed_fields(last, row)
        if definition.type != last_type:
            words += (_TYPE, definition.type)
        yield words
        last, last_type = row, definition.type


def to_json(value: Word | None) -> Word:
    if value is None:
        return False
    return str(value) if isinstance(value, int) and not -_MOST <= value <= _MOST else value


def or_nul(value: Word | None) -> Word:
    return NONE if value is None else value


def follows_from_row(event: Event, after: Hot) -> bool:
    """Whether an event says of its task only what the row after the change says, besides its name, time and data."""
    dag = after.dag_id or lone_dag(after.id)
    return event[1:4] == (after.workspace, after.id, dag) and event[5:8] == (after.version, after.status, after.attempt)


def format_event(event: Event) -> Sequence[Word | None]:
    return event if None not in event and -_MOST <= event.at <= _MOST else tuple(map(to_json, event))


def parse_entry(entry: tuple[str, str, str]) -> tuple[StoredEvent, ...]:
    """Parse the events of an entry of the log that a script answered: number, workspace, body."""
    number, workspace, body = entry
    return decode_row(int(number), workspace, body)


# The history of a task: each attempt, output, checkpoint and signal is a field of one hash.


def format_attempts(attempts: Iterable[Attempt]) -> Iterator[str]:
    """Each attempt as text. Those of a batch mostly differ in their leases and digests alone."""
    last: object = None
    around: list[str] = []
    for attempt in attempts:
        parts = attempt[1:_LEASE], attempt[_LEASE + 1 : _DIGEST], attempt[_DIGEST + 1 :]
        if parts != last:
            last, around = parts, [compact(part)[1:-1] for part in parts]
        lease, digest = encode_basestring(attempt.lease), encode_basestring(attempt.digest)
        yield f"[{around[0]},{lease},{around[1]},{digest},{around[2]}]"


def parse_attempt(task_id: TaskId, text: str) -> Attempt:
    read = Attempt(task_id, *json.loads(text))  # an older release stored fewer fields
    return read._replace(outcome=Outcome(read.outcome), status=STATUSES[read.status])


def format_output(output: Output) -> str:
    _, attempt, data, artifacts, report = output
    if artifacts or report is not None:
        return compact(output[1:])
    return f"[{attempt},{encode_basestring(data)},[],null]"


def parse_output(task_id: TaskId, text: str) -> Output:
    read = Output._make([task_id, *json.loads(text)])
    return read._replace(artifacts=tuple(read.artifacts))


def format_checkpoint(checkpoint: Checkpoint) -> str:
    return compact(checkpoint[2:])


def parse_checkpoints(task_id: TaskId, flat: Sequence[str]) -> list[Checkpoint]:
    """The checkpoints in the order they were written: each text begins with a number."""
    numbered = [(name, *text.split(" ", 1)) for name, text in zip(flat[::2], flat[1::2], strict=True)]
    ordered = sorted(numbered, key=lambda each: int(each[1]))
    return [Checkpoint(task_id, name, *json.loads(text)) for name, _, text in ordered]


def format_signal(signal: Signal) -> str:
    return compact(signal[1:])


def parse_signals(task_id: TaskId, flat: Sequence[str]) -> list[Signal]:
    """The signals in the order they were written: the number in the field's name."""
    ordered = sorted(zip(map(int, flat[::2]), flat[1::2], strict=True))
    return [Signal(task_id, *json.loads(text)) for _, text in ordered]


# Other values.


def format_outbox(row: Outbox) -> str:
    return compact(row)


def parse_outbox(text: str) -> Outbox:
    return Outbox._make(json.loads(text))


def parse_record(kind: str, workspace: str, record_id: str, text: str) -> Record:
    version, body = text.split(" ", 1)
    return Record(kind, workspace, record_id, int(version), json.loads(body))


def parse_limit(workspace: str, name: str, text: str) -> Limit:
    ceiling, held, spent = text.split(" ")
    return Limit(workspace, name, None if ceiling == "-" else int(ceiling), int(held), int(spent))


def parse_score(text: str) -> int:
    """Redis prints scores as doubles, which are exact below 2**53."""
    return int(float(text))


def parse_lane_id(text: str) -> LaneId:
    return LaneId(parse_score(text))


def embedding_words(embedding: Embedding) -> tuple[Word, ...]:
    """Replies are text, so the vector is too."""
    vector = b64encode(pack_vector(embedding.vector)).decode()
    return embedding.workspace, embedding.embedder, embedding.task_id, f"{embedding.type}{NONE}{vector}"


def parse_embedding(text: str) -> tuple[str, bytes]:
    """The type of the task, and its vector."""
    type_, _, vector = text.partition(NONE)
    return type_, b64decode(vector)
