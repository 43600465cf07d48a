"""The question of a task that waits, as a form of MCP: an object of plain values is all that such a form can hold.

An answer that is no object is asked for under a name of its own, and what is nested as text in JSON. Tasks that wait
for a signal without a question are asked about by the name of the signal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, decode
from taskyard.features.approvals.answer_words import formatted, one_of
from taskyard.features.approvals.rules import DECISION
from taskyard.features.approvals.views import Approval

ANSWER = "answer"  # the name of the value where the answer itself is no object
FORMATS = frozenset({"date", "date-time", "email", "uri"})  # that clients know: they refuse a form with another
_PLAIN: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
}
_ABOUT = ("title", "description")


class Form(NamedTuple):
    """What an MCP client shows, and how what it sends is read."""

    message: str
    schema: dict[str, Any]
    in_json: frozenset[str] = frozenset()  # the values that are written there as JSON
    is_wrapped: bool = False  # the answer is the value named `answer`

    def read(self, content: Json) -> Json:
        """The answer in what a client sent."""
        given = content if isinstance(content, dict) else {}
        needed = self.schema.get("required", ())
        answer = {
            name: _from_json(name, value) if name in self.in_json else value
            for name, value in given.items()
            if value != "" or name in needed or name not in self.in_json  # an empty text is no JSON: it is left out
        }
        return answer.get(ANSWER) if self.is_wrapped else answer


def form_of(approval: Approval) -> Form:
    question = approval.question
    if question is None:
        title = approval.task.title or approval.task.type
        return Form(f"{title} waits for {approval.signal}.", DECISION)
    schema = question.answer_schema
    members = _members(schema)
    asked = {ANSWER: schema} if members is None else members
    plain = {name: _plain(each) for name, each in asked.items()}
    shown: dict[str, Any] = {name: _as_json(asked[name]) if each is None else each for name, each in plain.items()}
    form: dict[str, Any] = {"type": "object", "properties": shown}
    required = [ANSWER] if members is None else schema.get("required") if isinstance(schema, dict) else None
    return Form(
        question.text,
        form if required is None else {**form, "required": required},
        in_json=frozenset(name for name, each in plain.items() if each is None),
        is_wrapped=members is None,
    )


def _from_json(name: str, text: Json) -> Json:
    """The value of a text in JSON. What was not meant as JSON stays a text, which the yard takes if one will do."""
    if not isinstance(text, str):
        return text
    try:
        return decode(text, field=name)
    except InvalidInput:
        if text.lstrip().startswith(("{", "[", '"')):
            raise
        return text


def _members(schema: Json) -> dict[str, Json] | None:
    """The members of an answer that is an object; None where it is none, or an object of any members."""
    members = schema.get("properties") if isinstance(schema, dict) and schema.get("type") == "object" else None
    return members if isinstance(members, dict) and members else None


def _plain(schema: Json) -> dict[str, Json] | None:
    """The schema as a form may have it; None where no form can hold such a value."""
    if not isinstance(schema, dict):
        return None
    kind, choices = schema.get("type"), _choices(schema)
    if choices is not None and kind in (None, "string"):
        return {"type": "string", **_with_sound_default(schema, str), **choices}
    if kind == "array":
        items = schema.get("items")
        chosen = _choices(items) if isinstance(items, dict) else None
        return None if chosen is None else {**schema, "items": _as_items(chosen)}
    if not isinstance(kind, str) or kind not in _PLAIN:
        return None
    return _described(_with_sound_default(schema, _PLAIN[kind]))


def _choices(schema: Mapping[str, Json]) -> dict[str, Json] | None:
    """The texts to choose from, each with its title where they have any."""
    listed, options = schema.get("enum"), schema.get("oneOf")
    if isinstance(listed, list):
        return {"enum": listed} if listed and _are_texts(listed) else None
    named = [each for each in options if isinstance(each, dict)] if isinstance(options, list) else []
    if not named or named != options or not _are_texts([each.get("const") for each in named]):
        return None
    return {"oneOf": [{"const": each["const"], "title": each.get("title") or each["const"]} for each in named]}


def _are_texts(values: Sequence[Json]) -> bool:
    return all(isinstance(each, str) for each in values)


def _as_items(choices: Mapping[str, Json]) -> dict[str, Json]:
    """Several of the choices: forms of MCP have another word for that."""
    return {"anyOf": choices["oneOf"]} if "oneOf" in choices else {"type": "string", **choices}


def _with_sound_default(schema: Mapping[str, Json], kind: type | tuple[type, ...]) -> dict[str, Json]:
    default = schema.get("default")
    is_sound = isinstance(default, kind) and isinstance(default, bool) == (kind is bool)
    return {name: each for name, each in schema.items() if name != "default" or is_sound}


def _described(schema: dict[str, Json]) -> dict[str, Json]:
    """What a form has no word for, said in its description."""
    listed, format_ = schema.get("enum"), schema.get("format")
    words = [str(schema["description"])] if "description" in schema else []
    dropped = {"enum", "oneOf"}
    if isinstance(listed, list):
        words.append(f"The answer {one_of(listed)}.")
    if isinstance(format_, str) and format_ not in FORMATS:
        dropped.add("format")
        words.append(f"The answer {formatted(format_)}.")
    about: dict[str, Json] = {"description": "\n\n".join(words)} if words else {}
    return {**{name: each for name, each in schema.items() if name not in dropped}, **about}


def _as_json(schema: Json) -> dict[str, Json]:
    """For what no form of MCP can hold; the yard checks the answer all the same."""
    rules = schema if isinstance(schema, dict) else {}
    titled = {name: rules[name] for name in _ABOUT if name in rules}
    rest: Json = {name: each for name, each in rules.items() if name not in _ABOUT} if rules else schema
    wanted = f"JSON that fits this schema: {json.dumps(rest, ensure_ascii=False)}" if rest not in ({}, True) else "JSON"
    words = [str(rules["description"])] if "description" in rules else []
    return {"type": "string", **titled, "description": "\n\n".join([*words, wanted])}
