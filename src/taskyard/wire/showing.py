"""What pages and tables are made of: plain values, as they are and as they cross HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from taskyard.core.json_value import Json
from taskyard.core.task import FINAL
from taskyard.core.units import Micros, MicroUsd, to_iso, to_usd
from taskyard.features.tasks.views import Task

LONGEST_SUMMARY = 120
Given = Mapping[str, Any]


class TaskRow(NamedTuple):
    """A task as one line of a list: nothing in it is long."""

    id: str
    type: str
    title: str
    summary: str  # how its prompt begins
    status: str
    state: str
    queue: str
    agent: str | None  # who holds it or had it last when it ended; else whom it is for
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


class Counted(NamedTuple):
    """Tasks that match, by status."""

    counts: dict[str, int]
    more: bool  # there may be others: only so many of the newest were counted


class Relations(NamedTuple):
    """What a task hangs together with."""

    dependencies: list[TaskRow]
    dependents: list[TaskRow]
    children: list[TaskRow]
    parent: TaskRow | None
    rerun_of: TaskRow | None


class OldestReady(NamedTuple):
    id: str
    title: str
    type: str
    queue: str
    ready_since: str


class SilentAgent(NamedTuple):
    id: str
    type: str
    last_heartbeat: str | None
    current_tasks: int


class DayMoney(NamedTuple):
    date: str
    spent_usd: str
    reserved_usd: str
    budget_usd: str | None


class Overview(NamedTuple):
    """How a workspace stands: what asks for somebody first."""

    at: str
    tasks: dict[str, dict[str, int]]  # by status and type
    ready_by_tier: dict[str, int]
    oldest_ready: OldestReady | None
    dead_unreviewed: int
    approvals: int
    open_breakers: int
    throttles: int
    paused_queues: int
    silent_agents: list[SilentAgent]
    day: DayMoney


class Percentiles(NamedTuple):
    """Of each bucket; None where nothing was measured."""

    p50: list[float | None]
    p95: list[float | None]
    p99: list[float | None]


class Series(NamedTuple):
    """Figures over a window of time, in buckets of one length, oldest first. Each list has a value for each bucket."""

    window: str
    bucket_sec: int
    at: list[str]
    created: list[int]
    completed: list[int]
    failed: list[int]  # attempts
    dead: list[int]
    wait_sec: Percentiles
    duration_sec: Percentiles
    spend_usd: list[str]
    depth: dict[str, list[int | None]]  # by status; None: not looked at yet


class Share(NamedTuple):
    name: str
    spent_usd: str


class DagShare(NamedTuple):
    name: str
    title: str
    spent_usd: str


class SpendReport(NamedTuple):
    """Where the money of some days went, most first. Graphs and agents by what they have spent in all."""

    since: str
    until: str
    total_usd: str
    by_day: list[Share]  # in order
    by_model: list[Share]
    by_type: list[Share]
    by_agent: list[Share]  # by type of agent
    by_dag: list[DagShare]
    dearest: list[TaskRow]


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


def plain(answer: object) -> Json:
    """An answer of this module as the document that crosses HTTP."""
    if isinstance(answer, tuple):
        return {name: plain(value) for name, value in cast(Any, answer)._asdict().items()}
    if isinstance(answer, list):
        return [plain(each) for each in cast(list[object], answer)]
    return cast(Json, answer)


# And back.


def rows(documents: Sequence[Given]) -> list[TaskRow]:
    return [TaskRow(**document) for document in documents]


def relations(document: Given) -> Relations:
    return Relations(
        rows(document["dependencies"]),
        rows(document["dependents"]),
        rows(document["children"]),
        next(iter(rows([document["parent"]] if document["parent"] else [])), None),
        next(iter(rows([document["rerun_of"]] if document["rerun_of"] else [])), None),
    )


def overview(document: Given) -> Overview:
    oldest: Given | None = document["oldest_ready"]
    read: dict[str, Any] = {
        "oldest_ready": None if oldest is None else OldestReady(**oldest),
        "silent_agents": [SilentAgent(**each) for each in document["silent_agents"]],
        "day": DayMoney(**document["day"]),
    }
    return Overview(**{**document, **read})


def series(document: Given) -> Series:
    read: dict[str, Any] = {name: Percentiles(**document[name]) for name in ("wait_sec", "duration_sec")}
    return Series(**{**document, **read})


def spend_report(document: Given) -> SpendReport:
    read: dict[str, Any] = {
        name: [Share(**each) for each in document[name]] for name in ("by_day", "by_model", "by_type", "by_agent")
    }
    read |= {"by_dag": [DagShare(**each) for each in document["by_dag"]], "dearest": rows(document["dearest"])}
    return SpendReport(**{**document, **read})


def _summary(prompt: str) -> str:
    first = prompt.strip().partition("\n")[0]
    return first if len(first) <= LONGEST_SUMMARY else first[: LONGEST_SUMMARY - 1] + "…"


def _time(at: Micros | None) -> str | None:
    return None if at is None else to_iso(at)
