"""Whether an answer is what a question asks for. What is wrong with it is said field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from taskyard.core.errors import InvalidAnswer, InvalidInput
from taskyard.core.json_value import Json, compact
from taskyard.features.approvals.answer_words import words_of
from taskyard.features.approvals.rules import AskedQuestion
from taskyard.features.artifacts.rules import referred
from taskyard.features.attempts.validation import output_checks
from taskyard.features.attempts.validation.output_checks import Objection

MOST_PROBLEMS = 20  # that are reported of one answer
_WHOLE = "data"  # the field that is wrong where no part of it is
_MISSING = "must be the reference of a file that is stored, and that the task may read"
_ASK_FOR_A_FILE = ("format", "anyOf", "oneOf")  # the keywords that any other text breaks there


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


def files_named(data: Json) -> list[str]:
    """The references to artifacts in an answer, each once."""
    if isinstance(data, str):
        return [data] if referred(data) is not None else []
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return list(dict.fromkeys(each for part in inner for each in files_named(part)))


def check_files(question: AskedQuestion, data: Json, missing: Sequence[str]) -> None:
    """Refuse an answer with one of the missing files where the question asks for a file. Other texts may name it."""
    found = _objections(question, _without(data, frozenset(missing)))
    where = ["/".join(map(str, each.where)) for each in found if each.keyword in _ASK_FOR_A_FILE]
    if where:
        raise InvalidAnswer([{"field": each or _WHOLE, "rule": _MISSING} for each in where])


def _without(data: Json, missing: frozenset[str]) -> Json:
    """The answer with a text as long, which is no file, in the place of each missing one."""
    if isinstance(data, dict):
        return {name: _without(each, missing) for name, each in data.items()}
    if isinstance(data, list):
        return [_without(each, missing) for each in data]
    return data.replace(":", "-", 1) if isinstance(data, str) and data in missing else data


class _AnswerProblem(NamedTuple):
    where: tuple[str, ...]  # as people find it again: `address/street`, `items/0`
    words: str


def _problems(question: AskedQuestion, data: Json) -> Sequence[_AnswerProblem]:
    return [_problem(each) for each in _objections(question, data)]


def _objections(question: AskedQuestion, data: Json) -> Sequence[Objection]:
    schema = compact(question.answer_schema)
    return output_checks.schema_objections(schema, data, most=MOST_PROBLEMS, has_formats=True)


def _problem(objection: Objection) -> _AnswerProblem:
    where = tuple(map(str, objection.where))
    if objection.keyword == "required":  # the field that lacks is the one to fill in, not the object around it
        where = (*where, str(objection.expected))
    return _AnswerProblem(where, words_of(objection))
