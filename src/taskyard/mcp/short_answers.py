"""Answers for models: short rows, and long values cut. Context is money."""

from __future__ import annotations

from typing import Annotated

from taskyard.api.codec import write
from taskyard.core.json_value import Json, compact
from taskyard.core.task import Status, TaskId
from taskyard.definition.view import About, Money, Time, view
from taskyard.features.tasks.task_rows import TaskRow
from taskyard.features.tasks.views import Details, Task

LONGEST_VALUE = 32 << 10  # bytes of JSON that are shown whole
SHOWN_OF_LONGER = 2_000  # characters
LONGEST_ERROR = 1_000  # characters
MOST_ATTEMPTS = 10  # of a task, the latest
MOST_EVENTS = 50  # of a task, the latest


@view
class ShortTask:
    """A task as one short line."""

    id: TaskId
    type: str
    title: str
    status: Status
    agent: str | None
    priority: int
    attempts: Annotated[int, About("Failed ones that count.")]
    dag_id: str
    summary: Annotated[str, About("How its prompt begins.")]
    updated_at: Time
    cost: Money


@view
class AddedTask:
    """A task that was put in, or that was there already under its key."""

    id: TaskId
    type: str
    status: Status
    dag_id: str
    created: Annotated[bool, About("False: a live task with this idempotency key was there.")]


@view
class ShownTask:
    """What a model needs to know of a task. Long values are cut, and say where the whole is."""

    id: TaskId
    type: str
    title: str
    status: Status
    queue: str
    agent: str | None
    subject: str | None
    priority: int
    dag_id: str
    parent_id: str | None
    depends_on: tuple[str, ...]
    blocked_by: tuple[str, ...]
    tags: tuple[str, ...]
    prompt: str
    payload: Json
    output: Json
    artifacts: tuple[str, ...]
    failure: Json
    progress: Json
    attempts: Annotated[int, About("Failed ones that count.")]
    max_attempts: int
    created_at: Time
    updated_at: Time
    cost: Money


@view
class ShortAttempt:
    attempt: int
    agent: str
    outcome: str
    reason: str | None
    error: str | None
    ended_at: Time


def short_row(row: TaskRow) -> ShortTask:
    return ShortTask(
        id=row.id,
        type=row.type,
        title=row.title,
        status=row.status,
        agent=row.agent,
        priority=row.priority,
        attempts=row.failures,
        dag_id=row.dag_id,
        summary=row.summary,
        updated_at=row.updated_at,
        cost=row.cost,
    )


def added(task: Task, *, created: bool) -> AddedTask:
    return AddedTask(id=task.id, type=task.type, status=task.status, dag_id=task.dag_id, created=created)


def attempts_of(task: Details) -> list[ShortAttempt]:
    return [
        ShortAttempt(
            attempt=each.number,
            agent=each.agent,
            outcome=each.outcome.value,
            reason=each.reason,
            error=None if each.error is None else each.error[:LONGEST_ERROR],
            ended_at=each.ended_at,
        )
        for each in task.attempts[-MOST_ATTEMPTS:]
    ]


def cut(value: Json, where: str, most: int = LONGEST_VALUE) -> Json:
    """The value, or what it begins with and where the whole of it is."""
    text = compact(value)
    size = len(text.encode())
    if size <= most:
        return value
    return {"cut": True, "bytes": size, "begins": text[:SHOWN_OF_LONGER], "whole": where}


def long_text(text: str, where: str, most: int = LONGEST_VALUE) -> str:
    size = len(text.encode())
    return text if size <= most else f"{text[:SHOWN_OF_LONGER]}… ({size} bytes; the whole is {where})"


def task_uri(task_id: str) -> str:
    return f"yard://tasks/{task_id}"


def shown_task(task: Details) -> ShownTask:
    where = task_uri(task.id)
    failure = None if task.failure is None else write(task.failure)
    return ShownTask(
        id=task.id,
        type=task.type,
        title=task.title,
        status=task.status,
        queue=task.queue,
        agent=task.agent,
        subject=task.subject,
        priority=task.priority,
        dag_id=task.dag_id,
        parent_id=task.parent_id,
        depends_on=task.depends_on,
        blocked_by=task.blocked_by,
        tags=task.tags,
        prompt=long_text(task.prompt, where),
        payload=cut(task.payload, where),
        output=cut(task.result, where),
        artifacts=task.output.artifacts,
        failure=cut(failure, where, LONGEST_ERROR * 4),
        progress=None if task.claim is None else cut(task.claim.progress, where),
        attempts=task.failures,
        max_attempts=task.max_attempts,
        created_at=task.created_at,
        updated_at=task.updated_at,
        cost=task.cost,
    )
