"""What is answered about a workspace as a whole: how it stands, and figures over time."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.definition.view import About


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
    tasks: Annotated[dict[str, dict[str, int]], About("By status, then by type.")]
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
    """Of each bucket; null where nothing was measured."""

    p50: list[float | None]
    p95: list[float | None]
    p99: list[float | None]


class SeriesShare(NamedTuple):
    """What one type, agent or queue did of it."""

    completed: list[int]
    failed: Annotated[list[int], About("Attempts that failed; none are counted by the type of task.")]


class Series(NamedTuple):
    """Buckets of one length, oldest first. Each list has a value for each of them."""

    window: str
    bucket_sec: int
    at: list[str]
    created: list[int]
    completed: list[int]
    failed: Annotated[list[int], About("Attempts that failed.")]
    dead: list[int]
    wait_sec: Percentiles
    duration_sec: Percentiles
    spend_usd: list[str]
    depth: Annotated[dict[str, list[int | None]], About("Tasks by status; null: not looked at yet.")]
    shares: Annotated[dict[str, SeriesShare] | None, About("By what was asked for: type, agent or queue.")] = None
