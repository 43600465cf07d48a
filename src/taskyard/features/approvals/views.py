"""What is answered about tasks that wait for somebody's word."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.core.json_value import Json
from taskyard.definition.view import About, Time, view
from taskyard.features.tasks.views import Task


@view
class AnsweredView:
    """How a question was answered."""

    SCHEMA = "AnsweredQuestion"

    by: Annotated[str, About("`human:NAME`, `link:RECIPIENT`, or `timeout` where nobody answered in time.")]
    at: Time
    is_default: Annotated[bool, About("The time was over, and the default was taken.")]
    data: Annotated[Json, About("The answer.")]


@view
class QuestionView:
    """What a task asks a person."""

    SCHEMA = "Question"

    text: str
    answer_schema: Annotated[
        Json, About("The JSON Schema that the answer fits, as forms show it: what it refers to is in place.")
    ]
    who: Annotated[tuple[str, ...], About("Who may answer: names, groups and roles; empty: whoever may steer.")]
    has_default: Annotated[bool, About("Whether the default is taken when the time is over.")]
    default: Json
    context: Annotated[Json, About("What is shown beside the question.")]
    login: Annotated[bool, About("Only for people who have signed in: no link answers it.")]
    asked_by: Annotated[str, About("The agent that asked.")]
    answered: AnsweredView | None


@view
class LinkedQuestion:
    """A question as the recipient of a link sees it: nothing else of the yard."""

    task_type: str
    task_title: str
    question: QuestionView
    since: Time
    until: Time | None
    is_open: Annotated[bool, About("Whether an answer is still taken.")]
    recipient: Annotated[str, About("The notifier that the link was sent by: an answer is recorded as `link:NAME`.")]


class Approval(NamedTuple):
    """A task that waits for a signal: an approval, an answer."""

    task: Task
    signal: str
    since: Time
    until: Time | None
    wait: Annotated[int, About("The number of the wait: no other wait of the task has it.")] = 0
    question: Annotated[QuestionView | None, About("What is asked; null: the task waits for a signal alone.")] = None
    is_open: Annotated[bool, About("Whether an answer is still taken.")] = True
