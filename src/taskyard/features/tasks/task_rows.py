"""Tasks in lists and graphs: as one line, or in outline. Nothing in either is long."""

from __future__ import annotations

from typing import Annotated

from taskyard.core.json_value import Json
from taskyard.core.task import Status, TaskId
from taskyard.core.units import MicroUsd
from taskyard.definition.view import About, Money, Named, Time, view
from taskyard.features.tasks.views import Task

LONGEST_SUMMARY = 120


@view
class TaskRow:
    """A task as one line of a list: nothing in it is long."""

    id: TaskId
    type: str
    title: str
    summary: Annotated[str, About("How its prompt begins.")]
    status: Status
    state: Annotated[str, About("The status in the words of the task's preset.")]
    queue: str
    agent: Annotated[str | None, About("Who holds it or had it last when it ended; else whom it is for.")]
    priority: int
    attempt: int
    failures: Annotated[int, Named("attempts")]
    max_attempts: int
    subject: str | None
    dag_id: str
    parent_id: str | None
    tags: tuple[str, ...]
    created_at: Time
    started_at: Time | None
    ended_at: Time | None
    updated_at: Time
    wake_at: Time | None
    deadline: Time | None
    progress: Json
    cost: Money
    version: int
    seq: int


@view
class TaskInShort:
    """A task of a graph in outline: its whole document is a call of its own."""

    id: TaskId
    type: str
    title: str
    status: Status
    state: str
    agent: str | None
    priority: int
    attempt: int
    failures: Annotated[int, Named("attempts")]
    cost: Money
    created_at: Time
    started_at: Time | None
    ended_at: Time | None
    wake_at: Time | None
    updated_at: Time
    version: int
    seq: int


def row_of(task: Task, cost: MicroUsd) -> TaskRow:
    return TaskRow(
        id=task.id,
        type=task.type,
        title=task.title,
        summary=_summary(task.prompt),
        status=task.status,
        state=task.state,
        queue=task.queue,
        agent=task.agent,
        priority=task.priority,
        attempt=task.attempt,
        failures=task.failures,
        max_attempts=task.max_attempts,
        subject=task.subject,
        dag_id=task.dag_id,
        parent_id=task.parent_id,
        tags=task.tags,
        created_at=task.created_at,
        started_at=task.started_at,
        ended_at=task.updated_at if task.status.is_final else None,
        updated_at=task.updated_at,
        wake_at=task.wake_at,
        deadline=task.deadline,
        progress=None if task.claim is None else task.claim.progress,
        cost=cost,
        version=task.version,
        seq=task.seq,
    )


def in_short(task: Task, cost: MicroUsd) -> TaskInShort:
    return TaskInShort(
        id=task.id,
        type=task.type,
        title=task.title,
        status=task.status,
        state=task.state,
        agent=task.agent,
        priority=task.priority,
        attempt=task.attempt,
        failures=task.failures,
        cost=cost,
        created_at=task.created_at,
        started_at=task.started_at,
        ended_at=task.updated_at if task.status.is_final else None,
        wake_at=task.wake_at,
        updated_at=task.updated_at,
        version=task.version,
        seq=task.seq,
    )


def _summary(prompt: str) -> str:
    first = prompt.strip().partition("\n")[0]
    return first if len(first) <= LONGEST_SUMMARY else first[: LONGEST_SUMMARY - 1] + "…"
