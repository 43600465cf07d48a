"""Forms are made of any schema: references and fields that may be null are no reason to ask for JSON."""

from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel, Field

from taskyard.core.json_value import Json, compact
from taskyard.features.approvals.form_schema import MOST_PARTS, form_schema
from taskyard.features.approvals.rules import DECISION
from taskyard.features.attempts.validation.output_checks import schema_objections

NAME: dict[str, Any] = {"type": "string", "title": "Name"}


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str
    floor: int | None = None


class Order(BaseModel):
    colour: Colour
    home: Address = Field(description="where you live")
    work: Address | None = None
    more: list[Address] = []
    note: str | None = Field(default=None, max_length=5)


class Tree(BaseModel):
    name: str
    branches: list["Tree"] = []


def fits(answer: Json, schema: Json) -> bool:
    return not schema_objections(compact(schema), answer, most=1)


def test_a_class_of_pydantic_has_a_field_for_everything():
    made: Any = form_schema(Order.model_json_schema())
    address = {
        "type": "object",
        "properties": {"street": {"type": "string", "title": "Street"}, "floor": {"type": "integer", "title": "Floor"}},
        "required": ["street"],
    }

    assert made["properties"] == {
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "home": {**address, "description": "where you live"},
        "work": address,
        "more": {"type": "array", "title": "More", "default": [], "items": address},
        "note": {"type": "string", "title": "Note", "maxLength": 5},
    }
    assert "$defs" not in made


@pytest.mark.parametrize(
    "answer",
    [
        {"colour": "red", "home": {"street": "Elm"}},
        {"colour": "blue", "home": {"street": "Elm", "floor": 3}, "work": {"street": "Oak"}, "note": "short"},
        {"colour": "green", "home": {"street": "Elm"}},
        {"colour": "red", "home": {"street": "Elm", "floor": "x"}, "more": [{"floor": 1}]},
        {"colour": "red"},
    ],
)
def test_what_fits_the_form_fits_the_schema_and_what_does_not_does_not(answer: dict[str, Any]):
    given = Order.model_json_schema()

    assert fits(answer, form_schema(given)) == fits(answer, given)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"type": ["string", "null"], "default": None}, {"type": "string"}),
        ({"type": ["string", "integer", "null"]}, {"type": ["string", "integer"]}),
        ({"oneOf": [{"type": "null"}, NAME], "description": "of a person"}, {**NAME, "description": "of a person"}),
        ({"anyOf": [{"type": "null"}, NAME, {"type": "integer"}]}, {"anyOf": [NAME, {"type": "integer"}]}),
        ({"type": "null"}, {"type": "null"}),
        ({"type": ["null"]}, {"type": ["null"]}),
        ({"anyOf": [{"type": "null"}]}, {"anyOf": [{"type": "null"}]}),
        ({"anyOf": [NAME, {"type": "null"}], "maxLength": 3}, {"anyOf": [NAME, {"type": "null"}], "maxLength": 3}),
        ({"type": ["string", "null"], "enum": ["a", None]}, {"type": "string", "enum": ["a"]}),
        (True, True),
    ],
)
def test_what_may_be_null_may_be_left_out_where_it_need_not_be_there(given: Any, made: Any):
    optional: Any = {"type": "object", "properties": {"part": given}}
    needed: Any = {**optional, "required": ["part"]}

    assert form_schema(optional) == {"type": "object", "properties": {"part": made}}
    assert form_schema(needed) == needed
    assert form_schema({"type": "array", "items": given}) == {"type": "array", "items": given}


@pytest.mark.parametrize(
    "schema",
    [
        DECISION,
        True,
        {"enum": ["a", "b"]},
        {"$ref": "#/$defs/gone"},
        {"$ref": "#/$defs/Name", "maxLength": 3, "$defs": {"Name": NAME}},  # both count
        {"$ref": "https://example.com/schema"},
        {"$ref": "#"},
        {"type": "object", "properties": {"a": {"$ref": "#/properties/b/items"}, "b": {"items": NAME}}},
        {"type": "object", "properties": []},
        {"$ref": "#/$defs/Name", "$defs": [NAME]},
    ],
)
def test_what_cannot_be_put_in_place_is_shown_as_it_was_given(schema: Any):
    assert form_schema(schema) == schema


def test_what_refers_to_itself_is_put_in_place_once():
    given: Any = Tree.model_json_schema()
    made: Any = form_schema(given)
    branches = made["properties"]["branches"]

    assert branches["items"] == {"$ref": "#/$defs/Tree"}
    assert made["$defs"] == given["$defs"]
    answers: list[Json] = [{"name": "oak", "branches": [{"name": "twig", "branches": [{"name": "leaf"}]}]}, {"name": 3}]
    assert [fits(answer, made) for answer in answers] == [fits(answer, given) for answer in answers] == [True, False]


def test_a_small_schema_does_not_become_a_large_one():
    doubling: dict[str, Any] = {
        str(number): {"properties": {side: {"$ref": f"#/$defs/{number + 1}"} for side in ("left", "right")}}
        for number in range(30)
    }
    doubling["30"] = NAME
    given: Any = {"$ref": "#/$defs/0", "$defs": doubling}

    assert form_schema(given) == given


def test_a_deep_schema_is_shown_as_it_was_given():
    chain: dict[str, Any] = {
        str(number): {"properties": {"next": {"$ref": f"#/$defs/{number + 1}"}}} for number in range(MOST_PARTS - 100)
    }
    given: Any = {"$ref": "#/$defs/0", "$defs": chain}

    assert form_schema(given) == given


A: dict[str, Any] = {"type": "string", "const": "a"}
B: dict[str, Any] = {"type": "string", "const": "b"}
ONLY_A = {"type": "string", "enum": ["a"], "default": "a"}


def given_by(kind: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"kind": kind}, "required": ["kind"]}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"anyOf": [A, B], "default": "a"}, {"oneOf": [A, B], "default": "a"}),
        ({"anyOf": [A, {"type": "null"}, B]}, {"oneOf": [A, B]}),
        ({"anyOf": [A, NAME]}, {"anyOf": [A, NAME]}),
        ({"anyOf": [A, A]}, {"anyOf": [A, A]}),  # of two that are the same, one would be none
        ({"allOf": [NAME], "title": "Whose"}, {**NAME, "title": "Whose"}),
        ({"allOf": [NAME, {"maxLength": 3}]}, {"allOf": [NAME, {"maxLength": 3}]}),
        ({"allOf": [NAME], "maxLength": 3}, {"allOf": [NAME], "maxLength": 3}),
        (A, {"type": "string", "enum": ["a"]}),
        ({"type": "array", "items": A}, {"type": "array", "items": ONLY_A}),
        (given_by(A), given_by(ONLY_A)),
        (
            {"oneOf": [{**A, "title": "Same"}, {**B, "title": "Same"}, {"const": 3, "title": "Other"}, {"const": 4}]},
            {
                "oneOf": [
                    {**A, "title": 'Same ("a")'}, {**B, "title": 'Same ("b")'}, {"const": 3, "title": "Other"},
                    {"const": 4},
                ]
            },
        ),
    ],
)  # fmt: skip
def test_choices_are_choices_however_they_are_written(given: Any, made: Any):
    whole: Any = form_schema({"type": "object", "properties": {"it": given}})

    assert whole["properties"]["it"] == made
