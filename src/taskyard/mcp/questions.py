"""What a task that waits asks of a person: the question, and the form of the answer.

A question is stored as a checkpoint beside the wait. Tasks that wait for a signal without one are asked about by name.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from taskyard.core.json_value import Json
from taskyard.features.approvals.views import Approval
from taskyard.yard import Yard

# What a form of MCP may hold: an object of plain values.
PLAIN = frozenset({"string", "number", "integer", "boolean"})
DECISION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Approve?"},
        "comment": {"type": "string", "title": "Comment"},
    },
    "required": ["approved"],
}


class AskedQuestion(NamedTuple):
    text: str
    schema: dict[str, Any]

    @staticmethod
    def stored(text: str, schema: dict[str, Any] | None) -> Json:
        return {"question": text, "schema": schema}


def asked_under(signal: str) -> str:
    """The name of the checkpoint that holds the question which is answered by this signal."""
    return f"ask:{signal}"


async def question_of(yard: Yard, approval: Approval) -> AskedQuestion:
    stored = (await yard.attempts.checkpoints(approval.task.id)).get(asked_under(approval.signal))
    title = approval.task.title or approval.task.type
    if not isinstance(stored, dict) or not isinstance(stored.get("question"), str):
        return AskedQuestion(f"{title} waits for {approval.signal}.", DECISION)
    return AskedQuestion(str(stored["question"]), _form(stored.get("schema")))


def _form(schema: Json) -> dict[str, Any]:
    """The schema that was asked for, where a form can show it."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return DECISION
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not all(map(_is_plain, properties.values())):
        return DECISION
    return cast(dict[str, Any], {name: schema[name] for name in ("type", "properties", "required") if name in schema})


def _is_plain(of: Json) -> bool:
    return isinstance(of, dict) and of.get("type") in PLAIN
