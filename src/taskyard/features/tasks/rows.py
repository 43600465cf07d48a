"""A task as one line of a list: nothing in it is long."""

from __future__ import annotations

import json
from typing import Annotated, NamedTuple

from taskyard.core.json_value import Json
from taskyard.core.task import FINAL
from taskyard.core.units import Micros, MicroUsd, to_iso, to_usd
from taskyard.definition.view import About
from taskyard.features.tasks.views import Task

LONGEST_SUMMARY = 120


class TaskRow(NamedTuple):
    """A task as one line of a list: nothing in it is long."""

    id: str
    type: str
    title: str
    summary: Annotated[str, About("How its prompt begins.")]
    status: str
    state: Annotated[str, About("The status in the words of the task's preset.")]
    queue: str
    agent: Annotated[str | None, About("Who holds it or had it last when it ended; else whom it is for.")]
    priority: int
    attempt: int
    attempts: int
    max_attempts: int
    subject: str | None
    dag_id: str
    parent_id: str | None
    tags: list[str]
    created_at: str
    started_at: str | None
    ended_at: str | None
    updated_at: str
    wake_at: str | None
    deadline: str | None
    progress: Json
    cost_usd: str
    version: int
    seq: int


def row_of(task: Task, cost: MicroUsd) -> TaskRow:
    hot, spec = task.hot, task.definition
    is_held = hot.status.is_held
    return TaskRow(
        id=hot.id,
        type=spec.type,
        title=spec.title,
        summary=_summary(spec.prompt),
        status=hot.status.value,
        state=task.policy.words[hot.status],
        queue=spec.queue,
        agent=task.agent,
        priority=task.policy.priority.outward(spec.priority),
        attempt=hot.attempt,
        attempts=hot.failures,
        max_attempts=hot.max_attempts,
        subject=spec.subject,
        dag_id=task.dag_id,
        parent_id=spec.parent_id,
        tags=list(spec.tags),
        created_at=to_iso(spec.created_at),
        started_at=_time(hot.started_at),
        ended_at=to_iso(hot.updated_at) if hot.status in FINAL else None,
        updated_at=to_iso(hot.updated_at),
        wake_at=_time(hot.wake_at),
        deadline=_time(spec.deadline),
        progress=json.loads(hot.progress) if hot.progress and is_held else None,
        cost_usd=to_usd(cost),
        version=hot.version,
        seq=hot.seq,
    )


def _summary(prompt: str) -> str:
    first = prompt.strip().partition("\n")[0]
    return first if len(first) <= LONGEST_SUMMARY else first[: LONGEST_SUMMARY - 1] + "…"


def _time(at: Micros | None) -> str | None:
    return None if at is None else to_iso(at)
