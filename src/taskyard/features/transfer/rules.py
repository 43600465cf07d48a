"""The lines of an exported yard: one JSON object for each copy, `{"record": {…}}`, `{"task": {…}}` and so on.

A field that has its usual value is left out. What a line has beyond the known fields is refused by name, since it would
be lost. This module reads no file and no store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Any, NamedTuple, cast, get_args, get_origin, get_type_hints

from taskyard.core.changes import (
    Blocker,
    Checkpoint,
    Edge,
    Event,
    Limit,
    Outbox,
    Output,
    Record,
    Signal,
    StoredEvent,
)
from taskyard.core.errors import InvalidInput, SchemaTooNew, UnknownField
from taskyard.core.json_value import Json, compact, value_of
from taskyard.core.retry import RetryPolicy
from taskyard.core.task import BLANK, Attempt, Definition, Hot, Lane
from taskyard.definition.codec import decode_definition, encode_definition
from taskyard.stores.copies import (
    Copy,
    CounterCopy,
    DutyCopy,
    OutboxCopy,
    PrunedEvents,
    PulseCopy,
    TaskCopy,
    YardSecret,
)

Document = dict[str, Json]

_GIVEN_BY_THE_STORE = frozenset({"seq", "lane"})  # of a row: the other store gives it others
_USUAL_ROW = {name: value for name, value in BLANK._asdict().items() if name not in ("id", "status", "version")}
_INTEGERS = range(-(2**63), 2**63)
# In the order in which they stand in a file.
PLAIN: Mapping[str, type[NamedTuple]] = {
    "record": Record,
    "limit": Limit,
    "counter": CounterCopy,
    "duty": DutyCopy,
    "pulse": PulseCopy,
    "pruned": PrunedEvents,
    "attempt": Attempt,
    "output": Output,
    "checkpoint": Checkpoint,
    "signal": Signal,
    "blocker": Blocker,
    "edge": Edge,
}
_NAMES = {kind: name for name, kind in PLAIN.items()}


def encode_copy(copy: Copy) -> Document:
    """The line of a copy. The same copy gives the same line, whatever store it comes from."""
    match copy:
        case YardSecret():
            return {"secret": copy.secret.hex()}
        case TaskCopy():
            return {"task": _task_document(copy)}
        case StoredEvent():
            return {"event": {"seq": copy.seq, **_document(copy.event)}}
        case OutboxCopy():
            return {"outbox": _document(copy.outbox)}
        case _:
            return {_NAMES[type(copy)]: _document(copy)}


def _task_document(copy: TaskCopy) -> Document:
    row = {name: value for name, value in _document(copy.hot, _USUAL_ROW).items() if name not in _GIVEN_BY_THE_STORE}
    return {"row": row, "lane": _document(copy.lane), "definition": value_of(encode_definition(copy.definition))}


def _document(value: NamedTuple, usual: Mapping[str, object] | None = None) -> Document:
    usual = _usual(type(value)) if usual is None else usual
    fields = value._asdict().items()
    return {name: _plain(each) for name, each in fields if name not in usual or each != usual[name]}


def _plain(value: Any) -> Json:
    return list(cast(tuple[str, ...], value)) if isinstance(value, tuple) else value


@cache
def _usual(kind: type[NamedTuple]) -> Mapping[str, object]:
    """The values at which a field is left out: its default, and None where it may be None."""
    hints = get_type_hints(kind)
    return {name: None for name, hint in hints.items() if NoneType in get_args(hint)} | dict(kind._field_defaults)


def decode_copy(line: Document, where: str) -> Copy:
    """The copy of a line; InvalidInput names the field that is wrong. A task has no numbers of a store yet."""
    if len(line) != 1:
        raise InvalidInput(where, f"must have one kind of row, and has {', '.join(line) or 'none'}")
    ((kind, value),) = line.items()
    where = f"{where}: {kind}"
    if kind == "secret":
        return YardSecret(_secret(value, where))
    document = _object(value, where)
    match kind:
        case "task":
            return _task(document, where)
        case "event":
            seq = _number(document.pop("seq", None), f"{where}.seq")
            return StoredEvent(seq, _read(Event, document, where))
        case "outbox":
            return OutboxCopy(0, _read(Outbox, document, where))
        case _ if kind in PLAIN:
            return cast(Copy, _read(PLAIN[kind], document, where))
        case _:
            raise InvalidInput(where, "is no kind of row that this release knows")


def _task(document: Document, where: str) -> TaskCopy:
    parts = {name: _object(document.pop(name, None), f"{where}.{name}") for name in ("row", "lane", "definition")}
    _refuse_more(document, where)
    for name in _GIVEN_BY_THE_STORE & parts["row"].keys():
        raise InvalidInput(f"{where}.row.{name}", "is given by the store")
    row = _read(Hot, {"seq": 0, "lane": 0, **parts["row"]}, f"{where}.row", _USUAL_ROW)
    return TaskCopy(row, _read(Lane, parts["lane"], f"{where}.lane"), _definition(parts["definition"], where))


def _definition(document: Document, where: str) -> Definition:
    """A definition by the codec of the stores, which wants its fields in one order and trusts what was stored."""
    if "retry" in document:
        document["retry"] = document.pop("retry")  # the codec wants it last
    where = f"{where}.definition"
    for name, reads in _readers(Definition).items():
        if name in document:
            reads(document[name], f"{where}.{name}")
    try:
        read = decode_definition(compact(document))
        again = value_of(encode_definition(read))
    except UnknownField as unknown:
        raise InvalidInput(f"{where}.{unknown.facts['field']}", "is no field that this release knows") from None
    except SchemaTooNew:
        raise InvalidInput(f"{where}.v", "is of a newer release") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidInput(where, "must be a definition as an export writes it") from None
    _check_retry(read.retry, f"{where}.retry")
    if again != document:
        raise InvalidInput(where, "must be as an export writes it")
    return read


def _check_retry(policy: RetryPolicy, where: str) -> None:
    whole = (policy.initial_delay, policy.max_delay or 0)
    numbers = (*whole, policy.multiplier, policy.jitter)
    is_sound = all(type(each) is int for each in whole) and all(type(each) in (int, float) for each in numbers)
    if not is_sound:
        raise InvalidInput(where, "must be as an export writes it")


def _read(kind: type[Any], document: Document, where: str, usual: Mapping[str, object] | None = None) -> Any:
    readers, usual = _readers(kind), _usual(kind) if usual is None else usual
    values = {name: reads(document[name], f"{where}.{name}") for name, reads in readers.items() if name in document}
    _refuse_more({name: value for name, value in document.items() if name not in readers}, where)
    for name in readers:
        if name not in values and name not in usual:
            raise InvalidInput(f"{where}.{name}", "is missing")
    return kind(**{**usual, **values})


def _refuse_more(rest: Document, where: str) -> None:
    for name in rest:
        raise InvalidInput(f"{where}.{name}", "is no field that this release knows")


Reads = Callable[[Json, str], Any]


@cache
def _readers(kind: type[NamedTuple]) -> Mapping[str, Reads]:
    hints = get_type_hints(kind)
    return {name: _reader(hints[name]) for name in kind._fields if hints[name] is not RetryPolicy}


def _reader(hint: Any) -> Reads:
    while hasattr(hint, "__supertype__"):
        hint = hint.__supertype__
    if NoneType in get_args(hint):
        (inner,) = (each for each in get_args(hint) if each is not NoneType)
        reads = _reader(inner)
        return lambda value, where: None if value is None else reads(value, where)
    if get_origin(hint) is tuple:
        return _texts
    if get_origin(hint) is dict:
        return _object
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return lambda value, where: _word(hint, value, where)
    return {str: _text, int: _number, bool: _flag}[hint]


def _text(value: Json, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(where, "must be a text")
    return value


def _number(value: Json, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value not in _INTEGERS:
        raise InvalidInput(where, "must be a whole number of 64 bits")
    return value


def _flag(value: Json, where: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(where, "must be true or false")
    return value


def _texts(value: Json, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidInput(where, "must be a list of texts")
    return tuple(_text(each, where) for each in value)


def _object(value: Json, where: str) -> Document:
    if not isinstance(value, dict):
        raise InvalidInput(where, "must be an object")
    return value


def _word(kind: type[StrEnum], value: Json, where: str) -> StrEnum:
    try:
        return kind(value)
    except ValueError:
        raise InvalidInput(where, f"must be one of {', '.join(kind)}") from None


def _secret(value: Json, where: str) -> bytes:
    try:
        return bytes.fromhex(_text(value, where))
    except ValueError:
        raise InvalidInput(where, "must be hexadecimal") from None
