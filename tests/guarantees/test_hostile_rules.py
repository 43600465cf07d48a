"""No rule for an output can do harm. Each is refused when the task is made, or applied, and soon."""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from time import thread_time
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact
from taskyard.core.task import Definition, TaskId, Validation
from taskyard.core.units import Micros
from taskyard.definition.json_schema import Patterns
from taskyard.features.attempts.validation import output_checks as validation
from taskyard.features.attempts.validation.output_checks import check_rule, objection
from tests.guarantees.hostile_rules import EXPRESSIONS, SCHEMAS, HostileSchema, nested

PATIENCE = 2.0  # seconds of this thread alone, garbage of other tests included; what is hostile here takes minutes


@contextmanager
def soon() -> Generator[None]:
    gc.disable()  # it would look through what all the tests before have left
    try:
        before = thread_time()
        yield
        assert thread_time() - before < PATIENCE
    finally:
        gc.enable()


def ruled(validation: Validation, rule: str) -> Definition:
    return Definition(
        id=TaskId("task_1"),
        workspace="default",
        dag_id=None,
        type="code",
        created_at=Micros(0),
        created_by="me",
        validation=validation,
        validation_schema=rule,
    )


def schema(rule: Any) -> Definition:
    return ruled(Validation.JSON_SCHEMA, compact(rule))


def judged_or_refused(definition: Definition, output: Json) -> str | None:
    """What comes of the rule, each step of it soon."""
    with soon():
        try:
            check_rule(definition)
        except InvalidInput as refused:
            return str(refused)
    with soon():
        return objection(definition, output)


def test_there_are_as_many_as_were_promised():
    assert len({rule for rule, _ in EXPRESSIONS}) >= 50
    assert len({each.name for each in SCHEMAS}) >= 20


@pytest.mark.parametrize(("rule", "output"), EXPRESSIONS, ids=range(len(EXPRESSIONS)))
def test_a_catastrophic_expression_is_refused_or_judged_soon(rule: str, output: str):
    judged_or_refused(ruled(Validation.REGEX, rule), output)


@pytest.mark.parametrize("hostile", SCHEMAS, ids=[each.name for each in SCHEMAS])
def test_a_hostile_schema_is_refused_or_judged_soon(hostile: HostileSchema):
    judged_or_refused(schema(hostile.schema), hostile.output)


@pytest.mark.parametrize(("rule", "output"), EXPRESSIONS[:12])
def test_an_expression_that_is_slow_for_others_is_still_answered_for_what_is_short(rule: str, output: str):
    assert judged_or_refused(ruled(Validation.REGEX, rule), output[-2_000:]) == f"does not match {rule}"


def test_an_output_too_long_for_its_expression_learns_how_long_it_may_be():
    answer = judged_or_refused(ruled(Validation.REGEX, "[ab]*a[ab]{500}c"), "a" * 1_000_000)

    assert answer is not None
    assert "has 1000000 characters" in answer
    assert "at most" in answer


# What must not be taken for hostile

RECORD = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "name": {"type": "string", "pattern": "^[A-Za-z ]+$"},
        "kind": {"enum": ["one", "other"]},
        "size": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
EXPRESSION = {
    "$ref": "#/$defs/expression",
    "$defs": {
        "expression": {"anyOf": [{"type": "number"}, *({"$ref": f"#/$defs/{name}"} for name in ("sum", "product"))]},
        "sum": {"properties": {"sum": {"items": {"$ref": "#/$defs/expression"}}}, "required": ["sum"]},
        "product": {"properties": {"product": {"items": {"$ref": "#/$defs/expression"}}}, "required": ["product"]},
    },
}


def test_many_records_are_checked_by_an_ordinary_schema():
    records: list[Json] = [{"id": n, "name": "a b", "kind": "one", "size": n / 3, "tags": ["x"]} for n in range(5_000)]
    rule = schema({"items": RECORD})

    assert judged_or_refused(rule, records) is None
    assert judged_or_refused(rule, [*records, {"id": -1, "name": "a"}]) == "5000/id: -1 is less than the minimum of 0"


def test_a_language_defined_by_itself_is_checked():
    value: Json = 1
    for _ in range(6):
        value = {"sum": [value, {"product": [2, value]}]}

    assert judged_or_refused(schema(EXPRESSION), value) is None


def test_what_is_as_deep_as_a_value_may_be_is_checked_where_each_level_is_looked_at_once():
    tree = {"type": ["object", "integer"], "additionalProperties": {"$ref": "#"}}

    assert judged_or_refused(schema(tree), nested(62)) is None
    assert judged_or_refused(schema(tree), nested(62, "leaf")) is not None


def test_a_part_is_found_by_its_anchor_and_by_an_escaped_pointer():
    rule = {
        "properties": {"a": {"$ref": "#word"}, "b": {"$ref": "#/$defs/x~1y%20z"}},
        "$defs": {"named": {"$anchor": "word", "type": "string"}, "x/y z": {"type": "integer"}},
    }

    assert judged_or_refused(schema(rule), {"a": "x", "b": 1}) is None
    assert judged_or_refused(schema(rule), {"a": 1}) is not None


def test_a_validator_fetches_nothing_even_where_an_address_were_let_through(monkeypatch: pytest.MonkeyPatch):
    def let_through(schema: Json, patterns: Patterns) -> None:
        """In the place of what refuses addresses before a validator sees them."""

    monkeypatch.setattr(validation, "Work", let_through)

    with pytest.raises(InvalidInput, match="is not fetched"):
        check_rule(schema({"$ref": "http://127.0.0.1:9/schema"}))
