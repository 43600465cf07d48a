"""Whether an answer is what a question asks for. What is wrong with it is said field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from taskyard.core.errors import InvalidAnswer, InvalidInput
from taskyard.core.json_value import Json, compact
from taskyard.features.approvals.answer_words import words_of
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
        raise InvalidInput("/".join(["default", *problems[0].where]), problems[0].words)


def check_answer(question: AskedQuestion, data: Json) -> None:
    """Refuse an answer that the question does not ask for."""
    if problems := _problems(question, data):
        raise InvalidAnswer([{"field": "/".join(each.where) or _WHOLE, "rule": each.words} for each in problems])


class _AnswerProblem(NamedTuple):
    where: tuple[str, ...]  # as people find it again: `address/street`, `items/0`
    words: str


def _problems(question: AskedQuestion, data: Json) -> Sequence[_AnswerProblem]:
    schema = compact(question.answer_schema)
    found = output_checks.schema_objections(schema, data, most=MOST_PROBLEMS, has_formats=True)
    return [_problem(each) for each in found]


def _problem(objection: Objection) -> _AnswerProblem:
    where = tuple(map(str, objection.where))
    if objection.keyword == "required":  # the field that lacks is the one to fill in, not the object around it
        where = (*where, str(objection.expected))
    return _AnswerProblem(where, words_of(objection))
