"""The view of preset multica: each attempt at a task is a task of its own, in that preset's words.

The first attempt has the task's id, the second that id and `.2`, and so on. A task that waits shows the attempt that is
to come. Nothing is stored for this view, and any task can be looked at in it, whatever its preset.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Annotated, Any, NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact, object_of
from taskyard.core.policy import PRESETS
from taskyard.core.runtime import runtime_of
from taskyard.core.task import WAITING, Attempt, Hot, Outcome, Status
from taskyard.core.units import Micros
from taskyard.definition.view import FLAT, About, Time, view
from taskyard.features.attempts.conversation import resumable
from taskyard.features.tasks.views import Details, stored_history, stored_task

VIEW = "multica"
_WORDS = PRESETS[VIEW].words
_REASONS = PRESETS[VIEW].shown_reasons
_ISSUE = "issue:"
_NUMBERED = re.compile(r"([^.]+)\.([0-9]{1,9})")
# An attempt that gives the task back unfinished is over, and the preset has no better word for that.
_ENDED: dict[Outcome, Status] = {
    Outcome.COMPLETED: Status.COMPLETED,
    Outcome.FAILED: Status.FAILED,
    Outcome.SUBMITTED: Status.FAILED,
    Outcome.RELEASED: Status.CANCELLED,
    Outcome.SUSPENDED: Status.CANCELLED,
    Outcome.CANCELLED: Status.CANCELLED,
}
# Steps that end an attempt and begin to wait for the next: the view tells of both.
_ENDS_ATTEMPT = {
    "task.retrying": Status.FAILED,
    "task.released": Status.CANCELLED,
    "task.suspended": Status.CANCELLED,
}
_FAILURES = ("task.retrying", "task.dead_lettered")
_REVIVED = ("retry", "modify_and_retry")

Document = dict[str, Json]


# Ids


def task_of(id_: str) -> str:
    """The task that this is the id of, or the id of an attempt at."""
    numbered = _NUMBERED.fullmatch(id_)
    return id_ if numbered is None else numbered[1]


def attempt_of(id_: str) -> int:
    """The number of the attempt that this is the id of."""
    numbered = _NUMBERED.fullmatch(id_)
    return 1 if numbered is None else int(numbered[2])


def attempt_id(task_id: str, number: int) -> str:
    return task_id if number == 1 else f"{task_id}.{number}"


def subject_of(issue_id: str) -> str:
    """What a task is about that is about this issue."""
    return _ISSUE + issue_id


# Tasks


def statuses_of(words: Collection[str]) -> list[Status]:
    """The states in which a task can show an attempt in one of these; none: in any."""
    for word in words:
        if word not in _WORDS.values():
            raise InvalidInput("status", f"must be one of {', '.join(dict.fromkeys(_WORDS.values()))}")
    if "failed" in words or "cancelled" in words:
        return []  # the task may have gone on since
    return [status for status, word in _WORDS.items() if word in words]


@view
class AttemptTask:
    """An attempt at a task, as a task of its own: the view of preset multica."""

    id: Annotated[str, About("The task's id for the first attempt, with .2 for the second, and so on.")]
    task_id: str
    parent_task_id: Annotated[str | None, About("The attempt before.")]
    workspace_id: str
    agent_id: str | None
    runtime_id: str | None
    issue_id: str | None
    type: str
    title: str
    prompt: str
    payload: Any
    priority: int
    status: Annotated[str, About("queued, dispatched, running, completed, failed or cancelled.")]
    trigger_type: str | None
    trigger_comment_id: str | None
    trigger_summary: str | None
    session_id: str | None
    work_dir: str | None
    output: Any
    attempt: int
    max_attempts: int
    failure_reason: str | None
    error: str | None
    claimed_at: Time | None
    started_at: Time | None
    completed_at: Time | None
    created_at: Time
    updated_at: Time


@view
class HeldAttemptTask:
    attempt: Annotated[AttemptTask, FLAT]
    lease: str


class _Tried(NamedTuple):
    """What one attempt has for itself; the rest is its task's."""

    number: int
    status: Status
    agent: str | None
    runtime: str | None = None
    session: str | None = None
    reason: str | None = None
    error: str | None = None
    claimed_at: Micros | None = None
    started_at: Micros | None = None
    ended_at: Micros | None = None


def attempt_tasks(details: Details) -> list[AttemptTask]:
    """The attempts at a task, first to last; where it waits, the last is the one that is to come."""
    hot, _ = stored_task(details)
    ended = {attempt.number: attempt for attempt in stored_history(details).attempts}
    last = hot.attempt + _is_to_come(details)
    tried = [
        _ended(ended[number], hot, is_last=number == last) if number in ended else _latest(details, number)
        for number in range(1, last + 1)
    ]
    begun = [details.created_at, *(each.ended_at or hot.updated_at for each in tried)]
    return [_attempt_task(details, each, since) for each, since in zip(tried, begun, strict=False)]


def _is_to_come(details: Details) -> bool:
    """Whether the last attempt is one that nobody has claimed."""
    if details.status is not Status.CANCELLED:
        return details.status in WAITING
    attempts, _, _, dead = stored_history(details)
    if not attempts or attempts[-1].status in WAITING:
        return True
    # Dead and then cancelled: by the decision on the dead letter, which is shown, or after it was revived.
    died = attempts[-1].status is Status.DEAD_LETTERED
    return died and (dead is None or dead.body["resolution"] in _REVIVED)


def _ended(attempt: Attempt, hot: Hot, *, is_last: bool) -> _Tried:
    # Of what was handed in, the verdict decides; and a person may take a failed task out.
    decided_later = is_last and (attempt.outcome is Outcome.SUBMITTED or hot.status is Status.CANCELLED)
    given_back = attempt.outcome in (Outcome.RELEASED, Outcome.SUSPENDED)
    return _Tried(
        attempt.number,
        hot.status if decided_later else _ENDED[attempt.outcome],
        attempt.agent,
        attempt.runtime,
        attempt.session,
        attempt.outcome.value if given_back else attempt.reason,
        attempt.error,
        attempt.claimed_at,
        attempt.started_at,
        attempt.ended_at,
    )


def _latest(details: Details, number: int) -> _Tried:
    """The attempt that is under way, or that nobody has claimed."""
    hot, spec = stored_task(details)
    if number > hot.attempt:
        cancelled = hot.status is Status.CANCELLED
        return _Tried(
            number,
            hot.status,
            spec.agent,
            session=hot.session,
            reason="cancelled" if cancelled else None,
            error=hot.why if cancelled else None,
            ended_at=hot.updated_at if cancelled else None,
        )
    return _Tried(
        number,
        hot.status,
        hot.agent,
        hot.runtime,
        compact(resumable(hot.session, hot.runtime)),
        claimed_at=hot.claimed_at,
        started_at=hot.started_at,
    )


def _attempt_task(details: Details, tried: _Tried, since: Micros) -> AttemptTask:
    hot, spec = stored_task(details)
    session: dict[str, Any] = json.loads(tried.session) if tried.session else {}
    subject = spec.subject or ""
    return AttemptTask(
        id=attempt_id(details.id, tried.number),
        task_id=details.id,
        parent_task_id=None if tried.number == 1 else attempt_id(details.id, tried.number - 1),
        workspace_id=hot.workspace,
        agent_id=tried.agent,
        runtime_id=runtime_of(tried.runtime),
        issue_id=subject.removeprefix(_ISSUE) if subject.startswith(_ISSUE) else None,
        type=spec.type,
        title=spec.title,
        prompt=spec.prompt,
        payload=details.payload,
        priority=PRESETS[VIEW].priority.outward(spec.priority),
        status=_WORDS[tried.status],
        trigger_type=spec.trigger_type,
        trigger_comment_id=spec.trigger_ref,
        trigger_summary=spec.trigger_summary,
        session_id=session.get("session_id"),
        work_dir=session.get("work_dir"),
        output=details.result if details.output.attempt == tried.number else None,
        attempt=tried.number,
        max_attempts=hot.max_attempts,
        failure_reason=_reason(tried.reason),
        error=tried.error,
        claimed_at=tried.claimed_at,
        started_at=tried.started_at,
        completed_at=tried.ended_at,
        created_at=since,
        updated_at=tried.ended_at or hot.updated_at,
    )


# Events


def event_views(document: Document) -> list[Document]:
    """An event as those who watch attempts see it: where one ends and another is to follow, of both."""
    payload = object_of(document["payload"])
    number, word = payload["attempt"], payload["status"]
    if document["task_id"] is None or not isinstance(number, int):
        return [document]
    status = None if word is None else Status(word)
    if (ended := _ENDS_ATTEMPT.get(str(document["event"]))) is not None:
        return [
            _of_attempt(document, number, ended, type_=f"task:{ended.value}"),
            _of_attempt(document, number + 1, status, type_="task:queued"),
        ]
    # Whoever cancels, cancels what is under way, or else the attempt that was to come.
    waits = (payload["from"] if status is Status.CANCELLED else status) in WAITING
    return [_of_attempt(document, number + waits, status)]


def _of_attempt(document: Document, number: int, status: Status | None, *, type_: str | None = None) -> Document:
    payload = dict(object_of(document["payload"]))
    if document["event"] in _FAILURES:  # a reason to cancel is a person's own
        payload["reason"] = _reason(str(payload["reason"]))
    payload |= {"attempt": number, "status": None if status is None else _WORDS[status]}
    id_ = attempt_id(str(document["task_id"]), number)
    return {**document, "type": type_ or document["type"], "task_id": id_, "payload": payload}


def _reason(reason: str | None) -> str | None:
    return None if reason is None else _REASONS.get(reason, reason)
