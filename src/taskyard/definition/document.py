"""Views as documents, and back: one function each way for each view, compiled from its types when it is first used.

What a type cannot say is refused then: a union of two views, since a document does not say which of them it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NamedTuple,
    NewType,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from taskyard.core.json_value import Json, is_mapping, is_sequence
from taskyard.definition.view import Flat, Hidden, Named, Rest, WireType, shown

T = TypeVar("T")
_JSON_TYPES = (str, int, float, bool, NoneType, object)
_LISTS = (tuple, list, Sequence, frozenset)
_NO_DEFAULT: object = object()


class ViewField(NamedTuple):
    """One field of a view, as its notes describe it."""

    name: str
    kind: Any  # its type, without the notes
    notes: tuple[object, ...]
    is_shown: bool  # it is worked out, and never read
    default: object = _NO_DEFAULT

    @property
    def called(self) -> str:
        """Its name in the document."""
        named, written = self.note(Named), self.note(WireType)
        if named is not None:
            return named.name
        return f"{self.name}_{written.unit}" if written is not None and written.unit else self.name

    def note(self, kind: type[T]) -> T | None:
        return next((note for note in self.notes if isinstance(note, kind)), None)


def is_view(kind: Any) -> bool:
    return isinstance(kind, type) and (is_dataclass(cast(Any, kind)) or hasattr(kind, "_fields"))


@cache
def fields_of(kind: type) -> tuple[ViewField, ...]:
    """The fields of a view in their order, and then what it works out."""
    hints = get_type_hints(kind, include_extras=True)
    own = [_field(name, hints[name], False, default) for name, default in _stored(kind)]
    worked_out: dict[str, ViewField] = {}
    for parent in reversed(kind.__mro__):
        for name, value in vars(parent).items():
            if isinstance(value, shown):
                hint = get_type_hints(value.fget, include_extras=True)["return"]
                worked_out[name] = _field(name, hint, True)
    return (*own, *worked_out.values())


def _stored(kind: Any) -> Iterator[tuple[str, object]]:
    if is_dataclass(kind):
        for each in fields(kind):
            yield each.name, _NO_DEFAULT if each.default is MISSING else each.default
    else:
        for name in kind._fields:
            yield name, kind._field_defaults.get(name, _NO_DEFAULT)


def _field(name: str, hint: Any, is_shown: bool, default: object = _NO_DEFAULT) -> ViewField:
    kind, notes = unnoted(hint)
    if (alone := without_none(kind)) is not None:
        inner, more = unnoted(alone)
        return ViewField(name, inner | None, (*notes, *more), is_shown, default)
    return ViewField(name, kind, notes, is_shown, default)


def unnoted(hint: Any) -> tuple[Any, tuple[object, ...]]:
    """A type, and the notes on it."""
    if get_origin(hint) is Annotated:
        kind, *notes = get_args(hint)
        return kind, tuple(notes)
    return hint, ()


def without_none(kind: Any) -> Any:
    """X of `X | None`; None for any other type."""
    options = [each for each in get_args(kind) if each is not NoneType] if _is_union(kind) else []
    return options[0] if len(options) == 1 and len(options) < len(get_args(kind)) else None


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


# From a value to its document


def write(value: Any) -> Any:
    """The document of a view, or of a list of views, or of a mapping to views."""
    if is_view(kind := cast(Any, type(value))):
        return writer(kind)(value)
    if is_sequence(value):
        return [write(each) for each in value]
    if is_mapping(value):
        return {str(name): write(each) for name, each in value.items()}
    return value.value if isinstance(value, Enum) else value


@cache
def writer(kind: type) -> Callable[[Any], dict[str, Json]]:
    """What makes the document of a view of this class."""
    source = _Source()
    members: list[str] = []
    for field in fields_of(kind):
        value = f"v.{field.name}"
        if field.note(Hidden):
            continue
        if field.note(Flat):
            members.append(f"**{source.keep(writer(field.kind))}({value})")
        elif field.note(Rest):
            members.append(f"**{value}")
        else:
            members.append(f"{field.called!r}: {source.written(field.kind, value, field.notes)}")
    return source.compiled("v", f"{{{', '.join(members)}}}")


# From a document to its value


def read(kind: type[T], document: Any) -> T:
    """The value of this type that the document was made from. What the type does not have is ignored."""
    return reader(kind)(document)


@cache
def reader(kind: Any) -> Callable[[Any], Any]:
    """What makes a value of this type of its document."""
    source = _Source()
    if not is_view(kind):
        return source.compiled("d", source.read(kind, "d", ()))
    members = [(field.name, _member(source, kind, field)) for field in fields_of(kind) if not field.is_shown]
    given = ", ".join(f"{name}={member}" for name, member in members if member is not None)
    return source.compiled("d", f"{source.keep(getattr(kind, 'of_fields', kind))}({given})")


def _member(source: _Source, kind: type, field: ViewField) -> str | None:
    """What the field is read from; None: its own default."""
    if (hidden := field.note(Hidden)) is not None:
        return source.keep(hidden.value[0]) if hidden.value else None
    if field.note(Flat):
        return f"{source.keep(reader(field.kind))}(d)"
    if field.note(Rest):
        return f"{{n: x for n, x in d.items() if n not in {source.keep(frozenset(_names(kind)))}}}"
    value = source.read(field.kind, f"d[{field.called!r}]", field.notes)
    if field.default is _NO_DEFAULT:
        return value
    return f"{value} if {field.called!r} in d else {source.keep(field.default)}"  # of a server before this field


def _names(kind: type) -> Iterator[str]:
    for field in fields_of(kind):
        if field.note(Flat):
            yield from _names(field.kind)
        elif not field.note(Rest):
            yield field.called


class _Source:
    """The text of one function, and the objects that it names."""

    def __init__(self) -> None:
        self._names: dict[str, object] = {}
        self._variables = 0

    def keep(self, value: object) -> str:
        name = f"k{len(self._names)}"
        self._names[name] = value
        return name

    def compiled(self, argument: str, expression: str) -> Callable[[Any], Any]:
        return eval(f"lambda {argument}: {expression}", self._names)

    def written(self, kind: Any, value: str, notes: Sequence[object]) -> str:
        """The expression for the document of a value of this type."""
        return self._converted(kind, value, notes, self._written)

    def read(self, kind: Any, document: str, notes: Sequence[object]) -> str:
        """The expression for the value that a document of this type was made from."""
        return self._converted(kind, document, notes, self._read)

    def _converted(self, kind: Any, value: str, notes: Sequence[object], convert: _Convert) -> str:
        kind, more = unnoted(kind)
        notes = (*notes, *more)
        if (alone := without_none(kind)) is None:
            return convert(kind, value, notes)
        name = self._variable()
        converted = self._converted(alone, name, notes, convert)
        return value if converted == name else f"(None if ({name} := {value}) is None else {converted})"

    def _written(self, kind: Any, value: str, notes: Sequence[object]) -> str:
        if (own := _written_note(notes)) is not None:
            return f"{self.keep(own.write)}({value})"
        if is_view(kind):
            return f"{self.keep(writer(kind))}({value})"
        if isinstance(kind, type) and issubclass(kind, Enum):
            return f"{value}.value"
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in _LISTS:
            each = self._variable()
            of_each = self.written(arguments[0], each, ())
            found = f"[*{value}]" if of_each == each else f"[{of_each} for {each} in {value}]"
            return f"sorted({found})" if origin is frozenset else found
        if origin in (dict, Mapping):
            name, each = self._variable(), self._variable()
            key, of_each = self.written(arguments[0], name, ()), self.written(arguments[1], each, ())
            is_same = (key, of_each) == (name, each)
            return f"{{**{value}}}" if is_same else f"{{{key}: {of_each} for {name}, {each} in {value}.items()}}"
        return _json_text(kind, value)

    def _read(self, kind: Any, value: str, notes: Sequence[object]) -> str:
        if (own := _written_note(notes)) is not None:
            return f"{self.keep(own.read)}({value})"
        if is_view(kind):
            return f"{self.keep(reader(kind))}({value})"
        if isinstance(kind, type) and issubclass(kind, Enum):
            return f"{self.keep(kind)}({value})"
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in _LISTS:
            each = self._variable()
            of_each = self.read(arguments[0], each, ())
            found = value if of_each == each else f"[{of_each} for {each} in {value}]"
            return found if origin in (list, Sequence) else f"{origin.__name__}({found})"
        if origin in (dict, Mapping):
            name, each = self._variable(), self._variable()
            key, of_each = self.read(arguments[0], name, ()), self.read(arguments[1], each, ())
            is_same = (key, of_each) == (name, each)
            return value if is_same else f"{{{key}: {of_each} for {name}, {each} in {value}.items()}}"
        return _json_text(kind, value)

    def _variable(self) -> str:
        self._variables += 1
        return f"x{self._variables}"


_Convert = Callable[[Any, str, Sequence[object]], str]


def _written_note(notes: Sequence[object]) -> WireType | None:
    return next((note for note in notes if isinstance(note, WireType)), None)


def _json_text(kind: Any, value: str) -> str:
    """A value that is its own document; anything else is refused."""
    if not _is_json_type(kind):
        raise TypeError(f"no document can be made of {kind}, and no value of its document")
    return value


def is_json(kind: Any) -> bool:
    """Whether it may be any JSON value."""
    return _is_union(kind) and any(get_origin(option) is dict for option in get_args(kind))


def _is_json_type(kind: Any) -> bool:
    if isinstance(kind, NewType):
        return _is_json_type(kind.__supertype__)
    if _is_union(kind) or get_origin(kind) in (list, dict):
        return all(map(_is_json_type, get_args(kind)))
    # What is called Json refers to itself.
    return kind is Any or kind in _JSON_TYPES or get_origin(kind) is Literal or isinstance(kind, ForwardRef)
