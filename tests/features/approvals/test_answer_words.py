"""What is wrong with an answer is said at its field, in words for whoever fills in the form."""

from __future__ import annotations

from typing import Any

import pytest

from taskyard import Yard
from taskyard.core.errors import InvalidAnswer, InvalidInput
from tests.yards import given_a_running_task


async def refusal(yard: Yard, schema: dict[str, Any], answer: Any) -> list[dict[str, str]]:
    held = await given_a_running_task(yard)
    await yard.attempts.ask(held.id, held.lease, "ask", "Which?", answer_schema=schema)
    with pytest.raises(InvalidAnswer) as refused:
        await yard.approvals.answer(held.id, "ask", answer)
    assert (await yard.approvals.get(held.id, "ask")).question.answered is None  # pyright: ignore[reportOptionalMemberAccess]
    return refused.value.facts["problems"]  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize(
    ("schema", "answer", "words"),
    [
        ({"type": "number"}, "x", "must be a number"),
        ({"type": "integer"}, 1.5, "must be a whole number"),
        ({"type": ["boolean", "null"]}, 1, "must be null or true or false"),
        ({"enum": ["a", "", 3]}, "b", 'must be one of a, "", 3'),
        ({"const": True}, False, "must be true"),
        ({"oneOf": [{"const": "eu", "title": "Europe"}, {"const": 2}]}, "x", "must be one of eu, 2"),
        ({"anyOf": [{"type": "number"}, {"minLength": 3}]}, "x", "must fit one of the forms that the schema allows"),
        ({"format": "email"}, "x", "must be a mail address"),
        ({"format": "binary"}, "/etc/passwd", "must be the reference of a stored file: artifact:ID"),
        ({"format": "date"}, "tomorrow", "must be a date, such as 2026-03-01"),
        ({"format": "ipv4"}, "x", "must be of the format ipv4"),
        ({"pattern": "^a$"}, "b", "must match ^a$"),
        ({"minLength": 1}, "", "must have at least 1 character"),
        ({"maxLength": 2}, "abc", "must have at most 2 characters"),
        ({"minItems": 2}, [1], "must have at least 2 entries"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 entry"),
        ({"uniqueItems": True}, [1, 1], "must not have the same entry twice"),
        ({"minimum": 3}, 2, "must be at least 3"),
        ({"maximum": 3}, 4, "must be at most 3"),
        ({"exclusiveMinimum": 3}, 3, "must be more than 3"),
        ({"exclusiveMaximum": 3}, 3, "must be less than 3"),
        ({"multipleOf": 5}, 7, "must be a multiple of 5"),
        ({"properties": {}, "additionalProperties": False}, {"q": 1}, "must not have q"),
        ({"not": {"type": "string"}}, "x", '{"type":"string"} is not allowed for "x"'),
    ],
)
async def test_each_rule_of_a_schema_has_its_words(yard: Yard, schema: Any, answer: Any, words: str):
    assert await refusal(yard, schema, answer) == [{"field": "data", "rule": words}]


async def test_what_lacks_is_named_by_the_field_that_is_to_be_filled_in(yard: Yard):
    member = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    schema = {"type": "object", "properties": {"people": {"type": "array", "items": member}}, "required": ["day"]}

    problems = await refusal(yard, schema, {"people": [{"name": "Ada"}, {}]})

    assert {each["field"]: each["rule"] for each in problems} == {"people/1/name": "is needed", "day": "is needed"}


async def test_a_default_is_refused_by_its_field_when_the_question_is_asked(yard: Yard):
    held = await given_a_running_task(yard)
    schema = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}

    with pytest.raises(InvalidInput, match="must be a date") as refused:
        await yard.attempts.ask(held.id, held.lease, "ask", "When?", answer_schema=schema, default={"day": "soon"})

    assert refused.value.facts["field"] == "default/day"
