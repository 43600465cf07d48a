"""Checking outputs in the call that completes: JSON Schema with local references only, and regular expressions in
linear time. What would take long all the same is refused, never tried.

What checks is loaded with the first rule: most yards have none.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.task import Definition, Validation
from taskyard.definition.json_schema import FIELD, MOST_MATCHING, Patterns, Work, patterns_of
from taskyard.features.artifacts.rules import is_id, referred

SHOWN = 300  # characters of a validator's message that are kept
MOST_SCHEMA = 256 * 1024  # characters
MOST_PATTERNS = 200  # in one schema
MOST_INSTRUCTIONS = 5_000  # that the expressions of one rule come to
EXPRESSION_MEMORY = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class _Schema:
    validator: Any
    work: Work


def check_rule(definition: Definition) -> None:
    """Refuse a rule that could never be applied, while the task is being made."""
    match definition.validation:
        case Validation.JSON_SCHEMA:
            _schema(definition.validation_schema or "")
        case Validation.REGEX:
            _expression(definition.validation_schema or "")
        case Validation.TEST_PASS | Validation.LLM_JUDGE | Validation.NONE:
            pass


def objection(definition: Definition, output: Json) -> str | None:
    """Why the output is not what was asked for; None where it is."""
    match definition.validation:
        case Validation.JSON_SCHEMA:
            return _schema_objection(definition.validation_schema or "", output)
        case Validation.REGEX:
            return _expression_objection(definition.validation_schema or "", output)
        case _:
            return None


class Objection(NamedTuple):
    """One thing that a value has wrong."""

    where: tuple[str | int, ...]  # keys and indexes, from the outside in
    rule: str
    keyword: str = ""  # of the schema, that it breaks
    expected: Any = None  # what the schema has there


def check_schema(text: str) -> None:
    """Refuse what is no JSON Schema, or would take too long to check by."""
    _schema(text)


def schema_objections(text: str, value: Json, *, most: int, has_formats: bool = False) -> list[Objection]:
    """What is wrong with a value by a JSON Schema, the first few of it; nothing where it fits.

    Formats (`date`, `email`) are checked only where that is asked for: the standard has them as remarks. `binary`
    stands for a file, and is then the reference of an artifact.
    """
    schema = _schema(text, has_formats)
    if schema.work.is_too_much(value):
        return [Objection((), "is too large, or too deep, to be checked against its schema")]
    # Most fit, and for those no message is put together.
    if schema.validator.is_valid(value):
        return []
    errors = islice(schema.validator.iter_errors(value), most)
    return [
        Objection(tuple(error.instance_path), error.message[:SHOWN], error.kind.name, error.kind.value)
        for error in errors
    ]


def _schema_objection(text: str, output: Json) -> str | None:
    for each in schema_objections(text, output, most=1):
        return f"{'/'.join(map(str, each.where)) or 'output'}: {each.rule}"[:SHOWN]
    return None


def _expression_objection(rule: str, output: Json) -> str | None:
    expression = _expression(rule)
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    most = MOST_MATCHING // expression.programsize
    if len(text) > most:
        return f"output: has {len(text)} characters, and its expression is looked for in at most {most}"
    return None if expression.search(text) else f"does not match {rule}"[:SHOWN]


@lru_cache(maxsize=256)
def _schema(text: str, has_formats: bool = False) -> _Schema:
    if len(text) > MOST_SCHEMA:
        raise InvalidInput(FIELD, f"must be at most {MOST_SCHEMA} characters as JSON")
    import jsonschema_rs  # noqa: PLC0415

    schema = json.loads(text)
    work = Work(schema, _patterns(schema))
    options: dict[str, Any] = {
        "pattern_options": jsonschema_rs.RegexOptions(),
        "retriever": _retrieve_nothing,
        "validate_formats": has_formats,
        "formats": {"binary": _is_file},
    }
    try:
        return _Schema(jsonschema_rs.validator_for(schema, **options), work)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise InvalidInput(FIELD, f"must be a JSON Schema: {str(error)[:SHOWN]}") from None


def _is_file(text: str) -> bool:
    return is_id(referred(text) or "")


def _retrieve_nothing(address: str) -> Json:
    """In the place of the library's own retriever, which fetches over the network and opens files."""
    raise ValueError(f"{address[:SHOWN]} is not fetched")


def _patterns(schema: Json) -> Patterns:
    texts = patterns_of(schema)
    if len(texts) > MOST_PATTERNS:
        raise InvalidInput(FIELD, f"must have at most {MOST_PATTERNS} regular expressions")
    left, sizes = MOST_INSTRUCTIONS, dict[str, int]()
    for text in texts:
        sizes[text] = _expression(text).programsize
        left -= sizes[text]
        if left < 0:
            raise InvalidInput(FIELD, _TOO_LARGE)
    return Patterns(sizes)


@lru_cache(maxsize=1024)
def _expression(text: str) -> Any:
    import re2  # noqa: PLC0415

    options = re2.Options()
    options.log_errors = False  # the caller gets the error; stderr is not ours
    options.max_mem = EXPRESSION_MEMORY
    try:
        expression = re2.compile(text, options)
    except re2.error as error:
        why = error.args[0].decode("utf-8", "replace")[:SHOWN]
        raise InvalidInput(FIELD, f"must be a regular expression that RE2 accepts: {why}") from None
    if expression.programsize > MOST_INSTRUCTIONS:
        raise InvalidInput(FIELD, _TOO_LARGE)
    return expression


_TOO_LARGE = f"must not have regular expressions of more than {MOST_INSTRUCTIONS} instructions"
