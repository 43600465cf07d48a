"""Values for every view, made from its types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import count
from typing import Any, Literal, NewType, get_args, get_origin

from taskyard.core.errors import InvalidInput, TaskyardError
from taskyard.definition.document import fields_of, is_json, is_view, unnoted, without_none
from taskyard.definition.view import Hidden, Rest

_PLAIN: dict[object, Any] = {str: "text", int: 7, float: 2.5, bool: True, Any: {"any": ["thing", 1, None]}}


def sample(kind: Any, *, empty: bool = False) -> Any:
    """A value of this type; an empty one has nothing where it may."""
    kind, _ = unnoted(kind)
    if (alone := without_none(kind)) is not None:
        return None if empty else sample(alone, empty=empty)
    if is_view(kind):
        return sample_of(kind, empty=empty)
    if isinstance(kind, type) and issubclass(kind, TaskyardError):
        return InvalidInput("field", "must be something")
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    return _generic(kind, empty=empty)


def _generic(kind: Any, *, empty: bool) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (tuple, list, Sequence, frozenset):
        found = [] if empty else [sample(arguments[0])]
        return tuple(found) if origin is tuple else frozenset(found) if origin is frozenset else found
    if origin in (dict, Mapping):
        return {} if empty else {sample(arguments[0]): sample(arguments[1])}
    if origin is Literal:
        return arguments[0]
    if isinstance(kind, NewType):
        return sample(kind.__supertype__, empty=empty)
    return {"json": [1, None, "ü"]} if is_json(kind) else _PLAIN[kind]


def sample_of(kind: type, *, empty: bool = False) -> Any:
    """A view in which no two numbers are equal, so that none can take another's place."""
    numbers = count(1_000_000)
    given: dict[str, Any] = {}
    for field in fields_of(kind):
        if field.is_shown or field.note(Hidden):
            continue
        value = {"more": 1} if field.note(Rest) else sample(field.kind, empty=empty)
        given[field.name] = next(numbers) if type(value) is int else value
    given |= {
        field.name: hidden.value[0]
        for field in fields_of(kind)
        if (hidden := field.note(Hidden)) is not None and hidden.value
    }
    return getattr(kind, "of_fields", kind)(**given)
