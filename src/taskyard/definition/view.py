"""How an answer is described, once: the class says what is known, and notes on its fields say how it crosses HTTP.

A view is a class with typed fields: a `@view` class, a `NamedTuple` or a dataclass. `definition.document` makes both
directions from it, and the server its OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, dataclass_transform

from taskyard.core.units import SECOND, Micros, MicroUsd, from_iso, seconds, to_iso, to_usd, usd

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def view(cls: type[T]) -> type[T]:
    """Frozen for the type checker alone: an instance that is frozen at run time takes twice as long to make."""
    return dataclass(slots=True, unsafe_hash=True)(cls)


class shown(property):  # noqa: N801 - it is written like the property that it is
    """A property that the document shows too. It is never read: the value that was read works it out again."""


class About:
    """What the OpenAPI document says of a field."""

    def __init__(self, text: str) -> None:
        self.text = text


class WireType:
    """How a value of one type crosses HTTP; with a unit, its field is called `NAME_UNIT` there."""

    def __init__(self, kind: type, write: Callable[[Any], Any], read: Callable[[Any], Any], unit: str = "") -> None:
        self.kind = kind  # the type of what is written
        self.write = write
        self.read = read
        self.unit = unit


class Named:
    """What a field is called in the document, where that is another name."""

    def __init__(self, name: str) -> None:
        self.name = name


class Hidden:
    """A field that does not leave the process; who reads the document has its default, or this value, in its place."""

    def __init__(self, *value: object) -> None:
        self.value = value


class Flat:
    """The fields of this view stand among those around it."""


class Rest:
    """A mapping whose members stand among the fields around it."""


class Closed:
    """An enumeration whose values the OpenAPI document lists. Others are shown as texts, and may grow."""


def _balance(text: str) -> MicroUsd:
    """Money that may be less than nothing, where too much was spent."""
    return MicroUsd(-usd(text[1:])) if text.startswith("-") else usd(text)


def _in_seconds(length: Micros) -> float:
    return length / SECOND


FLAT, REST, CLOSED = Flat(), Rest(), Closed()
Time = Annotated[Micros, WireType(str, to_iso, from_iso)]
Money = Annotated[MicroUsd, WireType(str, to_usd, _balance, "usd")]
Length = Annotated[Micros, WireType(float, _in_seconds, seconds, "sec")]
Facts = Mapping[str, Any]  # a JSON object
