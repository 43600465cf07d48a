"""What the server answers, as the OpenAPI document shows it. Nothing is checked against these while serving.

That answers are as the document says is shown by tests that generate requests from it.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from taskyard.wire.dashboard import TaskRow
from taskyard.wire.shapes import (
    AttemptTask,
    HeldAttemptTask,
    HeldTask,
    Response,
    Task,
    TaskDetails,
    TaskInShort,
)


class Problem(BaseModel):
    """RFC 9457, with the yard's code for the error and whether the same call may succeed later."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    facts: dict[str, Any] | None = None
    error_id: str | None = None


class Done(Response):
    ok: Literal[True]


class Healthy(Response):
    ok: Literal[True]
    problems: list[str]


class Receipt(Response):
    """What was reached. The same call again gets the same receipt."""

    task_id: str
    status: str
    version: int
    failures: int
    wake_at: str | None


class Error(Response):
    code: str
    detail: str
    retryable: bool
    facts: dict[str, Any]


class Refusal(Response):
    error: Error


class Created(Response):
    task: Task | AttemptTask
    created: bool = Field(description="False: a live task had the key or the id, and is the answer.")


class CreatedMany(Response):
    tasks: list[Created]


class TaskPage(Response):
    tasks: list[Task] | list[TaskRow] | list[AttemptTask]
    cursor: int | None = Field(description="Of the next page; null on the last.")
    total: int | None = Field(description="How many tasks match, counted up to 1,000; null where `short` is asked for.")
    more: bool | None = Field(description="Whether there are more than `total`; null where `short` is asked for.")


class Claimed(Response):
    tasks: list[HeldTask] | list[HeldAttemptTask]


class Outcomes(Response):
    results: list[Receipt | Refusal]
    tasks: list[HeldTask] = Field(description="What the claim in the same call took.")


class Told(Response):
    task_id: str
    words: list[str] = Field(description="cancelled, lease_lost, budget_exceeded, slowdown, draining; none: go on.")
    lease_expires_at: str | None


class ToldMany(Response):
    told: list[Told]


class Waited(Response):
    over: bool = Field(description="False: the task is suspended, and the lease is gone.")
    data: Any
    timed_out: bool
    receipt: Receipt | None


class Stored(Response):
    data: Any


class Spawned(Response):
    task_ids: list[str]


class Child(Response):
    task_id: str
    status: str
    output: Any


class Children(Response):
    children: list[Child] | None


class Input(Response):
    ref: str
    data: Any
    inlined: bool


class Inputs(Response):
    inputs: list[Input]


class Checkpoints(Response):
    checkpoints: dict[str, Any]


class Cause(BaseModel):
    kind: str
    words: str


class Why(Response):
    task_id: str
    status: str
    words: str
    causes: list[Cause]


class Cancelled(Response):
    task_ids: list[str]


class Event(Response):
    seq: int
    at: str
    type: str = Field(description="In the words of multica: task:queued, task:dispatch, …")
    event: str = Field(description="In the yard's own: task.ready, task.claimed, …")
    task_id: str | None
    dag_id: str | None
    workspace: str
    task_type: str | None = Field(description="Of the task; of a breaker, the type it stands for.")
    agent: str | None = Field(description="Who held the task when it happened, or else whom the task is addressed to.")
    subject: str | None
    payload: dict[str, Any]


class EventPage(Response):
    events: list[Event]


class EventsRead(EventPage):
    after: int = Field(description="Where to read on: every wanted event up to there is in this page or before it.")


class Acted(Response):
    task_ids: list[str]
    refused: dict[str, Error]
    more: bool


class DeadLetters(Response):
    tasks: list[TaskDetails]
    cursor: int | None = Field(description="Of the next page; null on the last.")


class Review(Response):
    task_id: str
    attempt: int = Field(description="The one that it died of.")
    reason: str
    at: str | None
    poison_pill: bool
    resolution: str | None
    reviewed_by: str | None
    reviewed_at: str | None
    note: str | None


class Reviews(Response):
    reviews: list[Review]


class Approval(Response):
    task: Task
    signal: str
    since: str
    until: str | None


class Approvals(Response):
    approvals: list[Approval]


class Submitted(Response):
    dag_id: str
    tasks: dict[str, Task] = Field(description="By the names they were submitted under.")


class Edge(Response):
    parent: str
    child: str
    kind: str


class Dag(Response):
    id: str
    title: str
    status: str
    counts: dict[str, int]
    tasks: list[TaskInShort]
    edges: list[Edge]
    roots: list[str]
    leaves: list[str]
    budget_ceiling_usd: str | None
    spent_usd: str
    reserved_usd: str
    created_by: str
    tags: list[str]


class DagInbox(Response):
    agent: str
    conversation: str
    about: list[str]


class DagInShort(Response):
    id: str
    title: str
    status: str
    preset: str
    created_by: str
    created_at: str | None
    ended_at: str | None
    tags: list[str]
    spent_usd: str
    budget_ceiling_usd: str | None
    inbox: DagInbox | None = Field(description="The inbox that is told of it.")


class DagList(Response):
    dags: list[DagInShort]
    cursor: str | None = Field(description="Of the next page; null on the last.")


class Agent(Response):
    id: str
    type: str
    runtime_id: str | None
    incarnation: str | None = Field(description="Which process of its runtime, where that has several.")
    capabilities: list[str]
    models_available: list[str]
    types: list[str] | None
    max_concurrent_tasks: int
    current_tasks: int
    budget_usd: str | None = Field(description="Of its type: all ids together, restarts included.")
    budget_per: str = Field(description="ever, day or month")
    budget_set_by: str | None = Field(description="code or operator")
    own_budget_usd: str | None = Field(description="Of this id alone.")
    budget_left_usd: str | None = Field(description="The least of what is left of both.")
    status: str
    last_heartbeat: str | None
    silent: bool = Field(description="It is offline because it is not heard of, and did not sign off.")
    poll_interval_sec: float
    claim_ttl_sec: int | None
    orchestrator: bool


class Agents(Response):
    agents: list[Agent]


class Granted(Response):
    types: list[str] | None
    capabilities: list[str] | None
    queues: list[str] | None
    slots: int | None = Field(description="null: unlimited")


class AgentState(Response):
    status: str


class Runtime(Response):
    id: str
    incarnation: str | None = Field(description="Which process of its runtime, where that has several.")
    hostname: str
    pid: int | None
    version: str
    started_at: str
    last_heartbeat: str | None


class Runtimes(Response):
    runtimes: list[Runtime]


class Orphans(Response):
    orphaned: int
    retried: int


class Queue(Response):
    queue: str
    paused: bool
    preset: str
    ready: int = Field(description="Tasks that may be claimed.")
    report_required: bool = Field(description="Its new tasks are completed only with a decision report.")


class Queues(Response):
    queues: list[Queue]


class Breaker(Response):
    type: str
    state: str
    open_until: str | None
    why: str
    opened_at: str | None
    failures: int = Field(description="One after the other, so far.")
    failure_threshold: int


class Breakers(Response):
    breakers: list[Breaker]


class Throttle(Response):
    type: str
    model: str | None
    until: str


class Throttles(Response):
    throttles: list[Throttle]


class Spend(Response):
    name: str = Field(description="agent:ID, type:TYPE, type-day:DATE:TYPE, type-month:MONTH:TYPE, dag:ID or day:DATE")
    ceiling_usd: str | None
    reserved_usd: str
    spent_usd: str


class Spending(Response):
    spend: list[Spend]


class BreakerOverride(Response):
    failure_threshold: int | None
    half_open_after_sec: float | None


class BreakerSettings(Response):
    """Where the workspace's breakers differ from the preset's; null: they do not."""

    failure_threshold: int | None
    half_open_after_sec: float | None
    overrides: dict[str, BreakerOverride] = Field(description="By type, where it differs.")


class Settings(Response):
    """What a workspace decides for all its tasks."""

    preset: str | None
    daily_budget_usd: str | None
    default_reserve_usd: str
    breakers: BreakerSettings | None


class Stats(Response):
    at: str
    tasks: dict[str, dict[str, int]] = Field(description="By status, then by type.")


class Verified(Response):
    ok: bool
    tasks: int
    attempts: int
    events: int
    problems: list[str]


class Mark(Response):
    mark: int
    workspace: str = Field(description="The one that the caller sees.")


class Token(Response):
    id: str
    name: str
    role: str
    workspace: str
    agent: str | None
    agent_id: str | None
    created_at: str
    created_by: str
    expires_at: str | None
    revoked_at: str | None


class IssuedToken(Token):
    token: str


class Tokens(Response):
    tokens: list[Token]
