"""Checking outputs in the call that completes: JSON Schema with local references only, and regular expressions in
linear time."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import jsonschema_rs
import re2

from taskyard.core.errors import InvalidInput
from taskyard.core.task import Definition, Json, Validation

FIELD = "output.validation_schema"
SHOWN = 300  # characters of a validator's message that are kept


def check_rule(definition: Definition) -> None:
    """Refuse a rule that could never be applied, while the task is being made."""
    match definition.validation:
        case Validation.JSON_SCHEMA:
            _schema(definition.validation_schema or "")
        case Validation.REGEX:
            _expression(definition.validation_schema or "")
        case Validation.TEST_PASS | Validation.LLM_JUDGE:
            rule = f"{definition.validation.value} needs a validating agent, which this release does not have yet"
            raise InvalidInput("output.validation", rule)
        case Validation.NONE:
            pass


def objection(definition: Definition, output: Json) -> str | None:
    """Why the output is not what was asked for; None where it is."""
    match definition.validation:
        case Validation.JSON_SCHEMA:
            return _schema_objection(definition.validation_schema or "", output)
        case Validation.REGEX:
            text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
            found = _expression(definition.validation_schema or "").search(text)
            return None if found else f"does not match {definition.validation_schema}"[:SHOWN]
        case _:
            return None


def _schema_objection(text: str, output: Json) -> str | None:
    for error in _schema(text).iter_errors(output):
        where = "/".join(str(part) for part in error.instance_path)
        return f"{where or 'output'}: {error.message}"[:SHOWN]
    return None


@lru_cache(maxsize=256)
def _schema(text: str) -> Any:
    schema = json.loads(text)
    if (remote := _remote_reference(schema)) is not None:
        raise InvalidInput(FIELD, f"may refer only to itself, not to {remote[:SHOWN]}")
    try:
        return jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions())
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise InvalidInput(FIELD, f"must be a JSON Schema: {str(error)[:SHOWN]}") from None


@lru_cache(maxsize=256)
def _expression(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False  # the caller is told; stderr is not ours
    try:
        return re2.compile(text, options)
    except re2.error as error:
        why = error.args[0].decode("utf-8", "replace")[:SHOWN]
        raise InvalidInput(FIELD, f"must be a regular expression that RE2 accepts: {why}") from None


def _remote_reference(schema: Json) -> str | None:
    waiting: list[Json] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, dict):
            waiting.extend(part.values())
            for word in ("$ref", "$dynamicRef"):
                target = part.get(word)
                if isinstance(target, str) and not target.startswith("#"):
                    return target
    return None
