"""The question of a task that waits, as a form of MCP: an object of plain values is all that such a form can hold.

An answer that is no object is asked for under a name of its own, and one with nested parts as text in JSON. Tasks that
wait for a signal without a question are asked about by the name of the signal.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.features.approvals.rules import DECISION
from taskyard.features.approvals.views import Approval

PLAIN = frozenset({"string", "number", "integer", "boolean"})
ANSWER = "answer"  # the name of the value where the answer itself is no object
_OF_FORMS = ("type", "properties", "required")
_TITLED = ("title", "description")


class Form(NamedTuple):
    """What an MCP client shows, and how what it sends is read."""

    message: str
    schema: dict[str, Any]
    is_wrapped: bool = False  # the answer is the value named `answer`
    is_text: bool = False  # and is written there as JSON

    def read(self, content: Json) -> Json:
        """The answer in what a client sent."""
        given = content if isinstance(content, dict) else {}
        if not self.is_wrapped:
            return given
        value = given.get(ANSWER)
        if not self.is_text:
            return value
        try:
            return json.loads(str(value))
        except ValueError:
            raise InvalidInput(ANSWER, "must be JSON") from None


def form_of(approval: Approval) -> Form:
    question = approval.question
    if question is None:
        title = approval.task.title or approval.task.type
        return Form(f"{title} waits for {approval.signal}.", DECISION)
    schema = question.answer_schema
    if not isinstance(schema, dict):
        return _as_text(question.text, {})
    if schema.get("type") == "object":
        properties = _plain_members(schema.get("properties"))
        fits = bool(properties) and all(map(_is_plain, properties.values()))
        shown = {name: schema[name] for name in _OF_FORMS if name in schema} | {"properties": properties}
        return Form(question.text, shown) if fits else _as_text(question.text, schema)
    return (
        Form(question.text, _wrapped(_plain(schema)), is_wrapped=True)
        if _is_plain(_plain(schema))
        else _as_text(question.text, schema)
    )


def _plain_members(properties: Json) -> dict[str, Any]:
    members = properties if isinstance(properties, dict) else {}
    return {name: _plain(each) if isinstance(each, dict) else each for name, each in members.items()}


def _plain(schema: dict[str, Json]) -> dict[str, Json]:
    """A list of choices, with titles or without, with the type that a form wants to be named."""
    if "type" in schema:
        return schema
    choices = schema.get("enum")
    options = schema.get("oneOf")
    if isinstance(options, list):
        choices = [each.get("const") if isinstance(each, dict) else None for each in options]
    is_text = isinstance(choices, list) and bool(choices) and all(isinstance(each, str) for each in choices)
    return {"type": "string", **schema} if is_text else schema


def _wrapped(schema: dict[str, Json]) -> dict[str, Any]:
    return {"type": "object", "properties": {ANSWER: schema}, "required": [ANSWER]}


def _as_text(text: str, schema: dict[str, Json]) -> Form:
    """For what no form of MCP can hold; the yard checks the answer all the same."""
    titled = {name: schema[name] for name in _TITLED if name in schema}
    message = f"{text}\n\nAnswer in JSON that fits this schema: {json.dumps(schema, ensure_ascii=False)}"
    return Form(message, _wrapped({"type": "string", **titled}), is_wrapped=True, is_text=True)


def _is_plain(of: Json) -> bool:
    return isinstance(of, dict) and of.get("type") in PLAIN
