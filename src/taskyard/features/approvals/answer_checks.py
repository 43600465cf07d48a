"""Whether an answer is what a question asks for. What is wrong with it is said field by field."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.errors import InvalidAnswer, InvalidInput
from taskyard.core.json_value import Json, compact
from taskyard.features.approvals.rules import AskedQuestion
from taskyard.features.attempts.validation import output_checks
from taskyard.features.attempts.validation.output_checks import Objection

MOST_PROBLEMS = 20  # that are reported of one answer
_WHOLE = "data"  # the field that is wrong where no part of it is


def check_schema(question: AskedQuestion) -> None:
    """Refuse a schema that no answer could be checked by, while the question is asked."""
    try:
        output_checks.check_schema(compact(question.answer_schema))
    except InvalidInput as error:
        raise InvalidInput("answer_schema", str(error.facts["rule"])) from None


def check_default(question: AskedQuestion) -> None:
    """A default is an answer: one that does not fit would be found when it is too late."""
    if question.has_default and (problems := _problems(question, question.default)):
        where, rule = problems[0]
        raise InvalidInput("/".join(["default", *map(str, where)]), rule)


def check_answer(question: AskedQuestion, data: Json) -> None:
    """Refuse an answer that the question does not ask for."""
    if problems := _problems(question, data):
        raise InvalidAnswer([{"field": _named(where), "rule": rule} for where, rule in problems])


def _problems(question: AskedQuestion, data: Json) -> Sequence[Objection]:
    return output_checks.schema_objections(compact(question.answer_schema), data, most=MOST_PROBLEMS)


def _named(where: Sequence[str | int]) -> str:
    """The place of a problem, as people find it again: `address/street`, `items/0`."""
    return "/".join(map(str, where)) or _WHOLE
