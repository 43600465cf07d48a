"""What the server answers, for the OpenAPI document: made from the views themselves. Nothing is checked while serving.

That answers are as the document says is shown by tests that generate requests from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model

from taskyard.definition import document
from taskyard.definition.document import fields_of, is_view, unnoted, without_none
from taskyard.definition.view import About, Closed, Flat, Hidden, Rest, WireType

MODELS: dict[type, type[BaseModel]] = {}  # of every view that is part of an answer
_LEFT_OUT = object()
# Built when the document is: a server starts without them.
_STRICT, _OPEN = (ConfigDict(extra=extra, defer_build=True) for extra in ("forbid", "ignore"))


class Problem(BaseModel):
    """RFC 9457, with the yard's code for the error and whether the same call may succeed later."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    facts: dict[str, Any] | None = None
    error_id: str | None = None


def answer(name: str, **members: Any) -> type[BaseModel]:
    """The shape of an answer that has views among its members, such as a list with its cursor."""
    return _model(name, None, {called: _noted(*unnoted(kind)) for called, kind in members.items()}, _STRICT)


def lists(*kinds: type) -> Any:
    """A list of one of these, and never of two."""
    return Union[*(list[model(kind)] for kind in kinds)]


def optional(kind: Any) -> Any:
    """A member that may be left out of an answer."""
    return Annotated[kind, _LEFT_OUT]


def model(kind: type) -> type[BaseModel]:
    """The shape of a view."""
    if kind not in MODELS:
        is_open = any(field.note(Rest) for field in fields_of(kind))
        MODELS[kind] = _model(_name(kind), _description(kind), _members(kind), _OPEN if is_open else _STRICT)
    return MODELS[kind]


def _members(kind: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields_of(kind):
        if field.note(Flat):
            found |= _members(field.kind)
        elif not field.note(Hidden) and not field.note(Rest):
            found[field.called] = _noted(field.kind, field.notes)
    return found


def _noted(kind: Any, notes: tuple[object, ...]) -> Any:
    about = next((note.text for note in notes if isinstance(note, About)), None)
    return _shape(kind, notes), Field(None if _LEFT_OUT in notes else ..., description=about)


def _shape(kind: Any, notes: tuple[object, ...] = ()) -> Any:
    kind, more = unnoted(kind)
    notes = (*notes, *more)
    if (alone := without_none(kind)) is not None:
        return _shape(alone, notes) | None
    if (written := next((note for note in notes if isinstance(note, WireType)), None)) is not None:
        return _shape(written.kind)
    if is_view(kind):
        return model(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        values = tuple(each.value for each in kind)
        return Literal[values] if any(isinstance(note, Closed) for note in notes) else str
    return _generic(kind)


def _generic(kind: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (tuple, list, Sequence, frozenset):
        return list[_shape(arguments[0])]
    if origin in (dict, Mapping):
        return dict[str, _shape(arguments[1])]
    if isinstance(kind, NewType):
        return _generic(kind.__supertype__)
    return Any if document.is_json(kind) else kind


def _model(name: str, description: str | None, members: Mapping[str, Any], config: ConfigDict) -> type[BaseModel]:
    given: Any = members
    return create_model(name, __config__=config, __doc__=description, **given)


def _name(kind: type) -> str:
    return vars(kind).get("SCHEMA", kind.__name__.removesuffix("View"))


def _description(kind: type) -> str | None:
    # A class without a docstring has one that is made up from its fields.
    return None if (kind.__doc__ or "").startswith(f"{kind.__name__}(") else kind.__doc__


DONE = answer("Done", ok=Literal[True])
