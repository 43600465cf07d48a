"""Questions to people: what may be asked, who may answer, and how a question stands.

A question belongs to one wait of its task, and is stored with it as one record: the latest question of each task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple, NotRequired, TypedDict

from taskyard.core.changes import Record, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, canonical, encode, sound_object
from taskyard.core.record_kinds import RecordKind
from taskyard.core.task import Hot, Status
from taskyard.core.units import Micros
from taskyard.definition import arguments, fields

KIND = "question"  # of records: the id is that of the task
TIMEOUT = "timeout"  # who answered where nobody did
MOST_TEXT = 4_000  # characters of a question
MOST_SCHEMA = 64 * 1024  # bytes of JSON; of the context too
MOST_CHOICES = 100
MOST_WHO = 50
MOST_TOKENS = 100  # that asked one question; of more, the latest are kept
ROLES = ("viewer", "agent", "orchestrator", "operator", "admin")  # words of `who` that mean a role and no name
OWNER_ROLES = ("operator", "admin")  # of whoever has the yard itself in hand
DECISION: Final[dict[str, Json]] = {  # what is asked for where a question does not say
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Approve?"},
        "comment": {"type": "string", "title": "Comment"},
    },
    "required": ["approved"],
}


class NoDefault(Enum):
    """What stands for a default where there is none: null is an answer like any other."""

    NO_DEFAULT = "no default"


NO_DEFAULT: Final = NoDefault.NO_DEFAULT


class GivenAnswer(NamedTuple):
    """By whom and when a question was answered. The answer itself is a signal of its task."""

    by: str
    at: Micros
    is_default: bool = False


class Person(NamedTuple):
    """Whoever answers: a person, a link in a notification, or an agent."""

    by: str  # human:NAME, link:RECIPIENT, agent:ID: what is recorded
    roles: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    token: str | None = None  # the id of the token that was shown

    @property
    def kind(self) -> str:
        return self.by.partition(":")[0]

    @property
    def name(self) -> str:
        return self.by.partition(":")[2] or self.by


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """What a task asks a person."""

    name: str  # of the wait, and of the signal that answers it
    wait: int  # its number
    text: str
    answer_schema: Json
    who: tuple[str, ...]  # nobody named: whoever may steer the yard
    has_default: bool
    default: Json
    context: Json  # shown beside the question
    login: bool  # only for people who have signed in: no link is made
    asked_by: str  # the agent
    asked_at: Micros
    until: Micros | None
    asking_tokens: tuple[str, ...] = ()  # the ids of all tokens that asked it, the latest last
    answered: GivenAnswer | None = None

    def body(self) -> dict[str, Json]:
        given = self.answered
        return {
            "name": self.name,
            "wait": self.wait,
            "text": self.text,
            "answer_schema": self.answer_schema,
            "who": list[Json](self.who),
            "has_default": self.has_default,
            "default": self.default,
            "context": self.context,
            "login": self.login,
            "asked_by": self.asked_by,
            "asking_tokens": list[Json](self.asking_tokens),
            "asked_at": self.asked_at,
            "until": self.until,
            "answered": None if given is None else {"by": given.by, "at": given.at, "is_default": given.is_default},
        }

    def stored(self, hot: Hot, version: int) -> RecordChange:
        return RecordChange(KIND, hot.workspace, hot.id, version, self.body())


class AnsweredBody(TypedDict):
    by: str
    at: Micros
    is_default: bool


class QuestionBody(TypedDict):
    name: str
    wait: int
    text: str
    answer_schema: Json
    who: list[str]
    has_default: bool
    default: Json
    context: Json
    login: bool
    asked_by: str
    asking_tokens: NotRequired[list[str]]  # an older release did not keep them
    asked_at: Micros
    until: Micros | None
    answered: AnsweredBody | None


QUESTION = RecordKind(KIND, QuestionBody)


def question_of(record: Record) -> AskedQuestion:
    body = QUESTION.of(record)
    given = body["answered"]
    return AskedQuestion(
        name=body["name"],
        wait=body["wait"],
        text=body["text"],
        answer_schema=body["answer_schema"],
        who=tuple(body["who"]),
        has_default=body["has_default"],
        default=body["default"],
        context=body["context"],
        login=body["login"],
        asked_by=body["asked_by"],
        asking_tokens=tuple(body.get("asking_tokens", ())),
        asked_at=body["asked_at"],
        until=body["until"],
        answered=None if given is None else GivenAnswer(given["by"], given["at"], given["is_default"]),
    )


def asked(
    *,
    name: str,
    text: object,
    answer_schema: Mapping[str, object] | None,
    choices: Sequence[Json] | None,
    who: Sequence[str],
    default: Json | NoDefault,
    context: Json,
    login: object,
) -> AskedQuestion:
    """The question as it may be asked; its wait is not known yet. The schema is not looked into here."""
    if answer_schema is not None and choices is not None:
        raise InvalidInput("choices", "goes without answer_schema, which may have an enum of its own")
    if not isinstance(login, bool):
        raise InvalidInput("login", "must be true or false")
    schema = (
        _chosen(choices)
        if choices is not None
        else DECISION
        if answer_schema is None
        else sound_object(answer_schema, field="answer_schema", max_bytes=MOST_SCHEMA)
    )
    encode(schema, field="answer_schema", max_bytes=MOST_SCHEMA)
    encode(context, field="context", max_bytes=MOST_SCHEMA)
    has_default = not isinstance(default, NoDefault)
    return AskedQuestion(
        name=name,
        wait=0,
        text=fields.text(text, "question", most=MOST_TEXT),
        answer_schema=schema,
        who=arguments.names("who", who, most=MOST_WHO),
        has_default=has_default,
        default=None if isinstance(default, NoDefault) else default,
        context=context,
        login=login,
        asked_by="",
        asked_at=Micros(0),
        until=None,
    )


def _chosen(choices: Sequence[Json]) -> dict[str, Json]:
    if isinstance(choices, str | bytes) or not choices or len(choices) > MOST_CHOICES:
        raise InvalidInput("choices", f"must be a list of 1 to {MOST_CHOICES} values")
    if any(not isinstance(each, str | int | float) or each == "" for each in choices):
        raise InvalidInput("choices", "must be texts or numbers, none of them empty")
    if len({canonical(each) for each in choices}) < len(choices):
        raise InvalidInput("choices", "must not have the same value twice")
    return {"enum": list(choices)}


def posed(
    question: AskedQuestion, before: AskedQuestion | None, hot: Hot, *, until: Micros | None, now: Micros
) -> AskedQuestion:
    """The question, with the wait that begins now. One that comes again after a crash was asked when it was first."""
    first = before if before is not None and before.name == question.name else None
    return replace(
        question,
        wait=hot.wait + 1,
        asked_by=str(hot.agent),
        asked_at=now if first is None else first.asked_at,
        until=until,
        asking_tokens=() if first is None else first.asking_tokens,
    )


def asked_with(question: AskedQuestion, token: str | None) -> AskedQuestion:
    """The question, which this token asked too. Who asked it before stays among its askers."""
    if token is None:
        return question
    earlier = [each for each in question.asking_tokens if each != token]
    return replace(question, asking_tokens=(*earlier, token)[-MOST_TOKENS:])


def is_open(question: AskedQuestion, hot: Hot, now: Micros) -> bool:
    """Whether the wait goes on that the question belongs to."""
    in_time = question.until is None or now < question.until
    return question.answered is None and in_time and (hot.status, hot.wait) == (Status.PENDING, question.wait)


def outcome(question: AskedQuestion, now: Micros) -> GivenAnswer | None:
    """How the question ended; None where it has no answer, and its time is not over."""
    if question.answered is None and question.until is not None and question.until <= now:
        return GivenAnswer(TIMEOUT, question.until, question.has_default)
    return question.answered


def is_for(question: AskedQuestion, person: Person) -> bool:
    """Whether the question is this person's to answer.

    An entry of `who` is `role:ROLE`, `group:GROUP`, `human:NAME` or `link:NAME`. A bare word is the name of a role, if
    there is one of that name, and of a person or group otherwise.
    """
    return not question.who or any(_means(each, person) for each in question.who)


def _means(entry: str, person: Person) -> bool:
    kind, colon, rest = entry.partition(":")
    if entry == person.by:
        return True
    if colon and kind == "role":
        return rest in person.roles
    if colon and kind == "group":
        return rest in person.groups
    if entry in ROLES:
        return entry in person.roles
    return person.kind != "agent" and entry in (person.name, *person.groups)
