"""What is wrong with an answer, in words for whoever fills in the form. Rare keywords of JSON Schema have none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from taskyard.core.json_value import compact
from taskyard.features.attempts.validation.output_checks import SHOWN, Objection

_TYPES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_FORMATS = {
    "binary": "the reference of a stored file: artifact:ID",
    "date": "a date, such as 2026-03-01",
    "time": "a time with its zone, such as 09:30:00Z",
    "date-time": "a date and time with its zone, such as 2026-03-01T09:30:00Z",
    "duration": "a duration, such as PT90M",
    "email": "a mail address",
    "uri": "an address that begins with its scheme, such as https://example.org",
    "uuid": "a UUID",
}


def words_of(objection: Objection) -> str:
    """A sentence without its subject, which is the field: `must be a number`."""
    words = _WORDS.get(objection.keyword)
    return objection.rule if words is None else words(objection.expected)[:SHOWN]


def one_of(options: Iterable[Any]) -> str:
    return "must be one of " + ", ".join(map(_text, options))


def _text(value: Any) -> str:
    return value if isinstance(value, str) and value else compact(value)


def _typed(types: Iterable[str]) -> str:
    return "must be " + " or ".join(_TYPES.get(each, each) for each in types)


def formatted(name: str) -> str:
    return f"must be {_FORMATS.get(name, f'of the format {name}')}"


def _counted(bound: str, one: str, several: str) -> Callable[[int], str]:
    return lambda number: f"must have at {bound} {number} {one if number == 1 else several}"


def _alternatives(branches: Iterable[list[Any]]) -> str:
    """Of choices with titles each branch is one constant; of other branches a person can make nothing."""
    kinds = [each.kind for branch in branches for each in branch]
    if kinds and all(each.name == "const" for each in kinds):
        return one_of(each.value for each in kinds)
    return "must fit one of the forms that the schema allows"


_WORDS: dict[str, Callable[[Any], str]] = {
    "required": lambda _: "is needed",
    "type": _typed,
    "enum": one_of,
    "const": lambda value: f"must be {_text(value)}",
    "oneOf": _alternatives,
    "anyOf": _alternatives,
    "format": formatted,
    "pattern": lambda pattern: f"must match {pattern}",
    "minLength": _counted("least", "character", "characters"),
    "maxLength": _counted("most", "character", "characters"),
    "minItems": _counted("least", "entry", "entries"),
    "maxItems": _counted("most", "entry", "entries"),
    "uniqueItems": lambda _: "must not have the same entry twice",
    "minimum": lambda least: f"must be at least {least}",
    "maximum": lambda most: f"must be at most {most}",
    "exclusiveMinimum": lambda least: f"must be more than {least}",
    "exclusiveMaximum": lambda most: f"must be less than {most}",
    "multipleOf": lambda unit: f"must be a multiple of {unit}",
    "additionalProperties": lambda names: f"must not have {', '.join(names)}",
}
