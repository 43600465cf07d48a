"""What pages are made of, as the OpenAPI document shows it: figures, rows, and who is looking."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from taskyard.wire.shapes import Response


class May(Response):
    steer: bool = Field(description="Put work in, cancel, retry, approve.")
    operate: bool = Field(description="Drain agents, pause queues, move breakers, set budgets.")
    administer: bool = Field(description="Give out tokens.")


class Who(Response):
    role: str
    name: str
    by: str = Field(description="What they are named as the author of changes.")
    workspace: str
    preset: str
    version: str = Field(description="The server's.")
    needs_login: bool = Field(description="False: whoever reaches this server may do everything.")
    expires_at: str | None = Field(description="When the session ends; null: it is no session.")
    may: May


class TaskRow(Response):
    """A task as one line of a list: nothing in it is long."""

    id: str
    type: str
    title: str
    summary: str = Field(description="How its prompt begins.")
    status: str
    state: str = Field(description="The status in the words of the task's preset.")
    queue: str
    agent: str | None = Field(description="Who holds it or had it last when it ended; else whom it is for.")
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
    progress: Any
    cost_usd: str
    version: int
    seq: int


class Counted(Response):
    counts: dict[str, int] = Field(description="By status.")
    more: bool = Field(description="There may be others: only so many of the newest were counted.")


class Relations(Response):
    dependencies: list[TaskRow]
    dependents: list[TaskRow]
    children: list[TaskRow]
    parent: TaskRow | None
    rerun_of: TaskRow | None


class OldestReady(Response):
    id: str
    title: str
    type: str
    queue: str
    ready_since: str


class SilentAgent(Response):
    id: str
    type: str
    last_heartbeat: str | None
    current_tasks: int


class DayMoney(Response):
    date: str
    spent_usd: str
    reserved_usd: str
    budget_usd: str | None


class Overview(Response):
    at: str
    tasks: dict[str, dict[str, int]] = Field(description="By status, then by type.")
    ready_by_tier: dict[str, int]
    oldest_ready: OldestReady | None
    dead_unreviewed: int
    approvals: int
    open_breakers: int
    throttles: int
    paused_queues: int
    silent_agents: list[SilentAgent]
    day: DayMoney


class Percentiles(Response):
    p50: list[float | None]
    p95: list[float | None]
    p99: list[float | None]


class Series(Response):
    """Buckets of one length, oldest first. Each list has a value for each of them."""

    window: str
    bucket_sec: int
    at: list[str]
    created: list[int]
    completed: list[int]
    failed: list[int] = Field(description="Attempts that failed.")
    dead: list[int]
    wait_sec: Percentiles
    duration_sec: Percentiles
    spend_usd: list[str]
    depth: dict[str, list[int | None]] = Field(description="Tasks by status; null: not looked at yet.")


class Share(Response):
    name: str
    spent_usd: str


class DagShare(Share):
    title: str


class SpendReport(Response):
    since: str
    until: str
    total_usd: str
    by_day: list[Share]
    by_model: list[Share]
    by_type: list[Share]
    by_agent: list[Share] = Field(description="By type of agent.")
    by_dag: list[DagShare] = Field(description="By what they have spent in all.")
    dearest: list[TaskRow]
