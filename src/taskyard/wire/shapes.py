"""A task as the server shows it, in the OpenAPI document: alone, held, with its history, in short."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Response(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Constraints(Response):
    max_cost_usd: str | None
    max_duration_sec: int | None
    required_capabilities: list[str]
    model_preferences: list[str]
    fallback_models: list[str]


class Spec(Response):
    prompt: str
    payload: Any
    context_refs: list[str]
    version: int
    constraints: Constraints


class ClaimOf(Response):
    agent_id: str | None
    runtime_id: str | None
    incarnation: str | None = Field(description="Which process of its runtime, where that has several.")
    claimed_at: str | None
    heartbeat_at: str | None
    lease_expires_at: str | None
    limit_at: str | None = Field(description="When the attempt's time is over.")
    reserved_usd: str
    progress: Any


class Retry(Response):
    strategy: str
    initial_delay_sec: float
    backoff_multiplier: float
    max_delay_sec: float | None
    jitter: float
    retry_on: list[str]
    no_retry_on: list[str]


class Timeouts(Response):
    claim_ttl_sec: int
    heartbeat_sec: int
    lease_sec: int


class Session(Response):
    session_id: str | None
    work_dir: str | None
    runtime: str | None = Field(description="Where the conversation lives: no other can resume it.")
    fresh: bool


class Trigger(Response):
    type: str | None
    ref: str | None
    summary: str | None


class CancelledAt(Response):
    at: str
    reason: str | None


class Task(Response):
    """A task without its history."""

    id: str
    workspace: str
    dag_id: str
    parent_id: str | None
    rerun_of: str | None
    idempotency_key: str | None
    queue: str
    preset: str
    type: str
    title: str
    agent: str | None
    subject: str | None
    spec: Spec
    priority: int
    priority_boost_per_minute: float
    deadline: str | None
    run_after: str | None
    expires_at: str | None
    depends_on: list[str]
    concurrency_key: str | None
    coalescable: bool
    status: str
    state: str = Field(description="The status in the words of the task's preset.")
    attempt: int = Field(description="The number of the latest claim.")
    claim: ClaimOf | None
    attempts: int = Field(description="Counted failures since creation or the last resolution.")
    max_attempts: int
    retry: Retry
    retry_at: str | None
    wake_at: str | None = Field(description="When its delay, its sleep or its patience ends.")
    timeouts: Timeouts
    session: Session
    trigger: Trigger
    cancelled: CancelledAt | None
    tags: list[str]
    trace: str | None = Field(description="The W3C traceparent of the span that put it in.")
    created_at: str
    created_by: str
    started_at: str | None
    completed_at: str | None
    updated_at: str
    version: int
    seq: int


class HeldTask(Task):
    lease: str = Field(description="The right to finish this attempt. Keep it secret.")


class Output(Response):
    type: str
    validation: str
    validation_schema: Any
    data: Any
    attempt: int | None = Field(description="The one that handed it in; null: none has.")
    artifacts: list[str]
    decision_report: Any


class Failure(Response):
    reason: str | None
    error: str | None
    details: Any
    at: str


class Dead(Response):
    at: str
    reason: str
    poison_pill: bool
    reviewed: bool
    resolution: str | None
    reviewed_by: str | None
    reviewed_at: str | None
    note: str | None


class TokensUsed(Response):
    input: int
    output: int


class Attempt(Response):
    attempt: int
    agent: str
    runtime: str | None
    incarnation: str | None = Field(description="Which process of its runtime, where that has several.")
    claimed_at: str
    started_at: str | None
    ended_at: str
    duration_sec: float
    outcome: str
    counted: bool
    reason: str | None
    error: str | None
    model: str | None
    cost_usd: str
    tokens: TokensUsed
    session: Any


class TaskDetails(Task):
    """A task with everything that is known of it."""

    blocked_by: list[str]
    output: Output
    failure: Failure | None
    dead: Dead | None
    cost_usd: str
    tokens_used: TokensUsed
    history: list[Attempt]


class TaskInShort(Response):
    id: str
    type: str
    title: str
    status: str
    state: str
    agent: str | None
    priority: int
    attempt: int
    attempts: int
    cost_usd: str
    created_at: str
    started_at: str | None
    ended_at: str | None
    wake_at: str | None
    updated_at: str
    version: int
    seq: int


class AttemptTask(Response):
    """An attempt at a task, as a task of its own: the view of preset multica."""

    id: str = Field(description="The task's id for the first attempt, with .2 for the second, and so on.")
    task_id: str
    parent_task_id: str | None = Field(description="The attempt before.")
    workspace_id: str
    agent_id: str | None
    runtime_id: str | None
    issue_id: str | None
    type: str
    title: str
    prompt: str
    payload: Any
    priority: int
    status: str = Field(description="queued, dispatched, running, completed, failed or cancelled.")
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
    claimed_at: str | None
    started_at: str | None
    completed_at: str | None
    created_at: str
    updated_at: str


class HeldAttemptTask(AttemptTask):
    lease: str
