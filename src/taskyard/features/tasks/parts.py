"""What a task's view is made of: each part, and how it follows from what is stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

from taskyard.core.cached_tokens import CachedTokens
from taskyard.core.changes import Blocker, Output, Record
from taskyard.core.identifiers import BlockerKind, blocker_name, task_blocker
from taskyard.core.json_value import Json, value_of
from taskyard.core.record_kinds import DEAD
from taskyard.core.retry import RetryPolicy, Strategy
from taskyard.core.runtime import incarnation_of, process_named, runtime_of
from taskyard.core.task import Attempt, Definition, Hot, Outcome, RuntimeId, Validation
from taskyard.core.units import Micros
from taskyard.definition.definition import models_for
from taskyard.definition.view import About, Length, Money, Named, Time, view

Incarnation = Annotated[str | None, About("Which process of its runtime, where that has several.")]


@view
class Constraints:
    max_cost: Money | None
    max_duration_sec: int | None
    required_capabilities: tuple[str, ...]
    model_preferences: tuple[str, ...]  # the fallbacks, from the second failure on
    fallback_models: tuple[str, ...]


@view
class Spec:
    prompt: str
    payload: Any
    context_refs: tuple[str, ...]
    version: int
    constraints: Constraints


@view
class Claim:
    """Who holds a task."""

    SCHEMA = "ClaimOf"

    agent_id: str | None
    runtime_id: str | None
    incarnation: Incarnation
    claimed_at: Time | None
    heartbeat_at: Time | None
    lease_expires_at: Time | None
    limit_at: Annotated[Time | None, About("When the attempt's time is over.")]
    reserved: Money
    progress: Json

    @property
    def runtime(self) -> RuntimeId | None:
        """What its holder runs on: its runtime, or one process of that."""
        return process_named(self.runtime_id, self.incarnation)


@view
class RetryView:
    strategy: Strategy
    initial_delay: Length
    backoff_multiplier: float
    max_delay: Length | None
    jitter: float
    retry_on: frozenset[str]
    no_retry_on: frozenset[str]


@view
class Timeouts:
    claim_ttl_sec: int
    heartbeat_sec: int
    lease_sec: int


@view
class SessionView:
    session_id: str | None
    work_dir: str | None
    runtime: Annotated[str | None, About("Where the conversation lives: no other can resume it.")]
    fresh: bool


@view
class TaskTrigger:
    """What a task came from."""

    type: str | None
    ref: str | None
    summary: str | None


@view
class CancelledAt:
    at: Time
    reason: str | None


@view
class TokensUsed:
    """Input counts every token that a model read; those from and into a provider's cache are among them."""

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0


@view
class AttemptView:
    """How an attempt at a task ended."""

    number: Annotated[int, Named("attempt")]
    agent: str
    runtime: str | None
    incarnation: Incarnation
    claimed_at: Time
    started_at: Time | None
    ended_at: Time
    duration: Length
    outcome: Outcome
    counted: bool
    reason: str | None
    error: str | None
    model: str | None
    cost: Money
    tokens: TokensUsed
    session: Json


@view
class OutputView:
    """What a task is to hand in, and what it has handed in."""

    type: str
    validation: Validation
    validation_schema: str | None
    data: Json
    attempt: Annotated[int | None, About("The one that handed it in; null: none has.")]
    artifacts: tuple[str, ...]
    decision_report: Json


@view
class LastFailure:
    SCHEMA = "Failure"

    reason: str | None
    error: str | None
    details: Json
    at: Time


@view
class Dead:
    """Why a task is dead, and what was decided about it."""

    at: Time
    reason: str
    poison_pill: bool
    reviewed: bool
    resolution: str | None
    reviewed_by: str | None
    reviewed_at: Time | None
    note: str | None


def spec_of(spec: Definition, failures: int) -> Spec:
    """What was asked for, with the models to use by now."""
    constraints = Constraints(
        spec.max_cost,
        spec.max_duration_sec,
        spec.required_capabilities,
        models_for(spec, failures),
        spec.fallback_models,
    )
    return Spec(spec.prompt, value_of(spec.payload), spec.context_refs, spec.spec_version, constraints)


@lru_cache(maxsize=256)  # nearly all tasks have it from their preset
def retry_view(policy: RetryPolicy) -> RetryView:
    return RetryView(
        policy.strategy,
        policy.initial_delay,
        policy.multiplier,
        policy.max_delay,
        policy.jitter,
        policy.retry_on,
        policy.no_retry_on,
    )


def claim_view(hot: Hot) -> Claim:
    return Claim(
        hot.agent,
        runtime_of(hot.runtime),
        incarnation_of(hot.runtime),
        hot.claimed_at,
        hot.heartbeat_at,
        hot.lease_expires_at,
        hot.limit_at,
        hot.reserved,
        json.loads(hot.progress) if hot.progress else None,
    )


def session_view(pinned: str | None, fresh: bool) -> SessionView:
    known: dict[str, Any] = json.loads(pinned) if pinned else {}
    return SessionView(known.get("session_id"), known.get("work_dir"), known.get("runtime"), fresh)


def attempt_view(attempt: Attempt) -> AttemptView:
    return AttemptView(
        attempt.number,
        attempt.agent,
        runtime_of(attempt.runtime),
        incarnation_of(attempt.runtime),
        attempt.claimed_at,
        attempt.started_at,
        attempt.ended_at,
        Micros(attempt.ended_at - (attempt.started_at or attempt.claimed_at)),
        attempt.outcome,
        attempt.counted,
        attempt.reason,
        attempt.error,
        attempt.model,
        attempt.cost,
        TokensUsed(attempt.tokens_in, attempt.tokens_out, *CachedTokens.of(attempt.tokens_cached)),
        json.loads(attempt.session) if attempt.session else None,
    )


def output_view(spec: Definition, output: Output | None) -> OutputView:
    if output is None:
        return OutputView(spec.output_type, spec.validation, spec.validation_schema, None, None, (), None)
    report = json.loads(output.decision_report) if output.decision_report else None
    data, artifacts = json.loads(output.data), output.artifacts
    return OutputView(
        spec.output_type, spec.validation, spec.validation_schema, data, output.attempt, artifacts, report
    )


def failure_view(attempts: Sequence[Attempt]) -> LastFailure | None:
    failed = [attempt for attempt in attempts if attempt.outcome is Outcome.FAILED]
    if not failed:
        return None
    last = failed[-1]
    return LastFailure(last.reason, last.error, json.loads(last.details) if last.details else None, last.ended_at)


def dead_view(record: Record) -> Dead:
    body = DEAD.of(record)
    return Dead(
        at=body["at"],
        reason=body["reason"],
        poison_pill=body["poison_pill"],
        reviewed=body["reviewed"],
        resolution=body["resolution"],
        reviewed_by=body["reviewed_by"],
        reviewed_at=body["reviewed_at"],
        note=body["note"],
    )


def blocked_by(blocker: Blocker) -> str:
    """A child that is waited for is a task like any other to the reader."""
    kind, rest = blocker_name(blocker.name)
    return task_blocker(rest) if kind is BlockerKind.CHILD else blocker.name
