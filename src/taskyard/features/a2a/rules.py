"""What a task is to an agent that asked for it over A2A: its handle, its state, and whom to push changes to.

A state of A2A that is an end cannot be left. A dead letter can be: so each life of a task has a handle of its own, and
a life ends with the death that a person reviewed. Nothing here touches a store or needs a library of the
protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypedDict

from taskyard.core.changes import Record
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import DEAD, RecordKind
from taskyard.core.task import Reason, Status, TaskId
from taskyard.core.units import Micros, to_iso
from taskyard.features.handles.rules import REVIVED, Death

PUBLISHED = "a2a_type"  # of records: a type that may be asked for
ASKED = "a2a_task"  # of records: a task that was asked for
LONGEST_DESCRIPTION, LONGEST_EXAMPLE, MOST_EXAMPLES = 2000, 1000, 20
MOST_PUBLISHED = 200  # types of a workspace
MOST_PUSHES = 10  # of a task
MOST_MESSAGES = 50  # of a task, that are known again
LONGEST_SECRET = 2000  # characters of a token or of credentials
SCHEMES = ("Basic", "Bearer", "Digest", "HOBA", "Mutual", "Negotiate", "VAPID")  # of an Authorization header
_LIFE = "."


class AgentTaskState(StrEnum):
    """The states of A2A, as its JSON spells them."""

    SUBMITTED = "TASK_STATE_SUBMITTED"
    WORKING = "TASK_STATE_WORKING"
    INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
    AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"
    COMPLETED = "TASK_STATE_COMPLETED"
    FAILED = "TASK_STATE_FAILED"
    CANCELED = "TASK_STATE_CANCELED"
    REJECTED = "TASK_STATE_REJECTED"  # of no task here: what is refused is answered with an error, and not stored

    @property
    def is_final(self) -> bool:
        return self in (AgentTaskState.COMPLETED, AgentTaskState.FAILED, AgentTaskState.CANCELED)

    @property
    def is_interrupted(self) -> bool:
        return self in (AgentTaskState.INPUT_REQUIRED, AgentTaskState.AUTH_REQUIRED)


class HandleOfLife(NamedTuple):
    """A handle of A2A: the random handle of the task, and which of its lives is meant."""

    handle: str
    life: int

    @property
    def text(self) -> str:
        return self.handle if self.life == 1 else f"{self.handle}{_LIFE}{self.life}"


def handle_of_life(text: str) -> HandleOfLife | None:
    """What a handle means; None where it can be none."""
    handle, dot, number = text.partition(_LIFE)
    if not dot:
        return HandleOfLife(handle, 1)
    is_life = number.isascii() and number.isdigit() and len(number) < 6 and number[0] != "0" and number != "1"
    return HandleOfLife(handle, int(number)) if is_life else None


def deaths_of(dead: Iterable[Record]) -> list[Death]:
    """The deaths that ended a life, in their order: those after which a person let the task be tried again.

    Who must sign in first has not failed: A2A waits for that, so such a death ends nothing.
    """
    bodies = [DEAD.of(record) for record in dead]
    return sorted(
        Death(each["at"], each["reason"])
        for each in bodies
        if each["resolution"] in REVIVED and each["reason"] != Reason.AUTH_FAILURE
    )


class TaskStanding(NamedTuple):
    """What the state of a task follows from."""

    status: Status
    has_started: bool
    is_asking: bool  # it waits for a signal
    death: Death | None  # the last one, where nobody has let the task be tried again since
    updated_at: Micros


def state_of(now: TaskStanding) -> tuple[AgentTaskState, Micros]:
    """The state of the life that goes on, and since when it is so."""
    if now.death is not None and now.death.reason != Reason.AUTH_FAILURE:
        return AgentTaskState.FAILED, now.death.at  # also where it was cancelled afterwards: what has failed stays so
    match now.status:
        case Status.COMPLETED:
            return AgentTaskState.COMPLETED, now.updated_at
        case Status.CANCELLED:
            return AgentTaskState.CANCELED, now.updated_at
        case Status.DEAD_LETTERED:
            return AgentTaskState.AUTH_REQUIRED, now.updated_at
        case Status.PENDING if now.is_asking:
            return AgentTaskState.INPUT_REQUIRED, now.updated_at
        case _:
            return (AgentTaskState.WORKING if now.has_started else AgentTaskState.SUBMITTED), now.updated_at


class PublishedBody(TypedDict):
    description: str
    examples: list[str]
    is_default: bool
    created_at: Micros
    created_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedType:
    """A type of tasks that may be asked for over A2A: a skill of the card."""

    type: str
    description: str
    examples: tuple[str, ...]
    is_default: bool  # taken where a message names no skill
    created_at: Micros
    created_by: str

    def body(self) -> dict[str, Json]:
        return {
            "description": self.description,
            "examples": list[Json](self.examples),
            "is_default": self.is_default,
            "created_at": self.created_at,
            "created_by": self.created_by,
        }


class PushBody(TypedDict):
    id: str
    url: str
    token: str
    scheme: str
    credentials: str


class AskedBody(TypedDict):
    workspace: str
    task_id: TaskId
    handle: str
    context_id: str
    at: Micros
    pushes: list[PushBody]
    pushed: str
    message_ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """Whom to tell about a task."""

    id: str
    url: str
    token: str = field(default="", repr=False)
    scheme: str = ""
    credentials: str = field(default="", repr=False)

    def body(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "url": self.url,
            "token": self.token,
            "scheme": self.scheme,
            "credentials": self.credentials,
        }

    def headers(self) -> dict[str, str]:
        """What a push shows to prove whom it is from."""
        shown = {"Content-Type": "application/json"}
        if self.token:
            shown["X-A2A-Notification-Token"] = self.token
        if self.credentials:
            shown["Authorization"] = f"{self.scheme} {self.credentials}"
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTask:
    """A task that was asked for over A2A."""

    workspace: str
    task_id: TaskId
    handle: str
    context_id: str
    at: Micros
    pushes: tuple[Push, ...] = ()
    pushed: str = ""  # the handle and the state that were pushed last
    message_ids: tuple[str, ...] = ()  # of the latest messages that answered a question of the task

    def body(self) -> dict[str, Json]:
        return {
            "workspace": self.workspace,
            "task_id": self.task_id,
            "handle": self.handle,
            "context_id": self.context_id,
            "at": self.at,
            "pushes": [push.body() for push in self.pushes],
            "pushed": self.pushed,
            "message_ids": list[Json](self.message_ids),
        }


PUBLISHED_TYPE = RecordKind(PUBLISHED, PublishedBody)
ASKED_TASK = RecordKind(ASKED, AskedBody)


def record_id(workspace: str, task_id: str) -> str:
    """Of all workspaces in one place, so that what was pruned is found by pages."""
    return f"{workspace}/{task_id}"


def published_type(record: Record) -> PublishedType:
    body = PUBLISHED_TYPE.of(record)
    return PublishedType(
        type=record.id,
        description=body["description"],
        examples=tuple(body["examples"]),
        is_default=body["is_default"],
        created_at=body["created_at"],
        created_by=body["created_by"],
    )


def asked_task(record: Record) -> AskedTask:
    body = ASKED_TASK.of(record)
    return AskedTask(
        workspace=body["workspace"],
        task_id=body["task_id"],
        handle=body["handle"],
        context_id=body["context_id"],
        at=body["at"],
        pushes=tuple(Push(**push) for push in body["pushes"]),
        pushed=body["pushed"],
        message_ids=tuple(body["message_ids"]),
    )


def status_update(handle: str, context_id: str, state: AgentTaskState, at: Micros) -> dict[str, Json]:
    """What is pushed: a StreamResponse of A2A with the state of a task."""
    status: dict[str, Json] = {"state": state.value, "timestamp": to_iso(at)}
    return {"statusUpdate": {"taskId": handle, "contextId": context_id, "status": status}}
