"""A task as its readers see it: the names of docs/reference/task.md, worked out only when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self, TypeVar, dataclass_transform

from taskyard.core.cached_tokens import CachedTokens
from taskyard.core.changes import Blocker, Output, Record
from taskyard.core.json_value import Json, value_of
from taskyard.core.lease import Lease
from taskyard.core.outcomes import is_current
from taskyard.core.policy import PRESETS, Policy, policy_of
from taskyard.core.task import (
    BLANK,
    Attempt,
    DagId,
    Definition,
    Hot,
    ServiceTier,
    Status,
    TaskId,
    dag_of,
)
from taskyard.core.units import MicroUsd
from taskyard.definition import document
from taskyard.definition.definition import models_for
from taskyard.definition.view import About, Hidden, Money, Named, Time
from taskyard.features.tasks.parts import (
    AttemptView,
    CancelledAt,
    Claim,
    Dead,
    LastFailure,
    OutputView,
    RetryView,
    SessionView,
    Spec,
    TaskTrigger,
    Timeouts,
    TokensUsed,
    attempt_view,
    blocked_by,
    claim_view,
    dead_view,
    failure_view,
    output_view,
    retry_view,
    session_view,
    spec_of,
)

T = TypeVar("T")
Row = tuple[Hot, Definition]


@dataclass_transform(eq_default=False)
def lazy(cls: type[T]) -> type[T]:
    """A view that is filled in when somebody asks for more than its row's own words. It is equal to itself alone."""
    return dataclass(slots=True, eq=False, repr=False)(cls)


@lazy
class Task:
    """A task, as it was when it was read."""

    id: TaskId  # `task_` and a ULID
    workspace: str
    dag_id: DagId  # of a lone task, one of its own
    parent_id: TaskId | None
    rerun_of: TaskId | None
    idempotency_key: str | None
    queue: str
    preset: str
    type: str
    title: str
    addressed_to: Annotated[str | None, Named("agent")]  # the agent that it is for, by id or by type
    worker: Annotated[str | None, About("Who holds it, or had it last when it ended.")]
    subject: str | None
    spec: Spec
    priority: int
    priority_boost_per_minute: float
    deadline: Time | None
    run_after: Time | None
    expires_at: Time | None
    depends_on: tuple[TaskId, ...]
    concurrency_key: str | None
    coalescable: bool
    status: Status
    state: Annotated[str, About("The status in the words of the task's preset.")]
    attempt: Annotated[int, About("The number of the latest claim.")]
    claim: Claim | None
    failures: Annotated[int, Named("attempts"), About("Counted failures since creation or the last resolution.")]
    max_attempts: int
    retry: RetryView
    retry_at: Time | None
    wake_at: Annotated[Time | None, About("When its delay, its sleep or its patience ends.")]
    timeouts: Timeouts
    session: SessionView
    trigger: TaskTrigger
    cancelled: CancelledAt | None
    tags: tuple[str, ...]
    remember: bool | None
    callback: Annotated[str | None, About("The webhook that is called when it has ended.")]
    variant: Annotated[str | None, About("Which variant of its type it is.")]
    service: Annotated[ServiceTier, About("`batch`: its model calls are gathered into batches of the provider.")]
    trace: Annotated[str | None, About("The W3C traceparent of the span that put it in.")]
    created_at: Time
    created_by: str
    started_at: Time | None
    completed_at: Time | None
    updated_at: Time
    version: int
    seq: int
    created: Annotated[bool, Hidden()]  # whether this very call made it
    _row: Annotated[Row | None, Hidden()]  # None: it was read from a document

    def __init__(self, hot: Hot, definition: Definition, *, created: bool = False) -> None:
        # What nearly everybody asks for; the rest is worked out when somebody asks for any of it.
        self.id = hot.id
        self.type = definition.type
        self.status = hot.status
        self.created = created
        self._row = (hot, definition)

    @classmethod
    def of_fields(cls, **fields: Any) -> Self:
        """The task that a document shows."""
        task = cls.__new__(cls)
        task.created, task._row = False, None
        for name, value in fields.items():
            setattr(task, name, value)
        return task

    if not TYPE_CHECKING:  # or the type checker would take any name for one of a task's

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or self._row is None or name not in type(self).__dataclass_fields__:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}", name=name, obj=self)
            self._fill(*self._row)
            return object.__getattribute__(self, name)

    def _fill(self, hot: Hot, definition: Definition) -> None:
        fill(self, hot, definition, policy_of(definition))

    @property
    def policy(self) -> Policy:
        """The preset in whose words and numbers the task is shown: the one that it was put in under."""
        return PRESETS[self.preset]

    @property
    def agent(self) -> str | None:
        """Who holds the task or had it last when it ended; else whom it is for."""
        return self.worker or self.addressed_to

    @property
    def prompt(self) -> str:
        """The text that was asked."""
        return self.spec.prompt if self._row is None else self._row[1].prompt

    @property
    def payload(self) -> Any:
        """The JSON value that was handed in."""
        return self.spec.payload if self._row is None else value_of(self._row[1].payload)

    @property
    def models(self) -> tuple[str, ...]:
        """The models to use, best first: the fallbacks from the second failure on."""
        if self._row is None:
            return self.spec.constraints.model_preferences
        hot, definition = self._row
        return models_for(definition, hot.failures)

    def to_dict(self) -> dict[str, Json]:
        """What is known of the task, under the names of the reference page of a task."""
        return document.writer(type(self))(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.type} {self.status.value}>"


_row_of = attrgetter("_row")


def stored_task(task: Task) -> Row:
    """What the store has of a task that was read in this process. One beyond a server is its view alone."""
    row: Row | None = _row_of(task)
    assert row is not None, "what is stored of it is beyond the server"
    return row


def fill(task: Task, hot: Hot, spec: Definition, policy: Policy) -> None:
    """Work out the whole view of a task, from what is stored of it."""
    status, held = hot.status, hot.status.is_held
    task.workspace = hot.workspace
    task.dag_id = dag_of(hot)
    task.parent_id = spec.parent_id
    task.rerun_of = spec.rerun_of
    task.idempotency_key = spec.idempotency_key
    task.queue = spec.queue
    task.preset = spec.preset
    task.title = spec.title
    task.addressed_to = spec.agent
    task.worker = hot.agent if held or status.is_final else None
    task.subject = spec.subject
    task.spec = spec_of(spec, hot.failures)
    task.priority = policy.priority.outward(spec.priority)
    task.priority_boost_per_minute = spec.boost / 100
    task.deadline = spec.deadline
    task.run_after = spec.run_after
    task.expires_at = spec.expires_at
    task.depends_on = spec.depends_on
    task.concurrency_key = spec.concurrency_key
    task.coalescable = spec.coalescable
    task.state = policy.words[status]
    task.attempt = hot.attempt
    task.claim = claim_view(hot) if held else None
    task.failures = hot.failures
    task.max_attempts = hot.max_attempts
    task.retry = retry_view(spec.retry)
    task.retry_at = hot.wake_at if status is Status.RETRYING else None
    task.wake_at = hot.wake_at
    task.timeouts = Timeouts(spec.claim_ttl_sec, spec.heartbeat_sec, spec.lease_sec)
    task.session = session_view(hot.session, spec.fresh)
    task.trigger = TaskTrigger(spec.trigger_type, spec.trigger_ref, spec.trigger_summary)
    task.cancelled = CancelledAt(hot.updated_at, hot.why) if status is Status.CANCELLED else None
    task.tags = spec.tags
    task.remember = spec.remember
    task.callback = spec.callback
    task.variant = spec.variant
    task.service = spec.service
    task.trace = spec.trace
    task.created_at = spec.created_at
    task.created_by = spec.created_by
    task.started_at = hot.started_at
    task.completed_at = hot.updated_at if status is Status.COMPLETED else None
    task.updated_at = hot.updated_at
    task.version = hot.version
    task.seq = hot.seq


@lazy
class Held(Task):
    """A task that was just claimed, with the lease to finish it."""

    SCHEMA = "HeldTask"

    lease: Annotated[Lease, About("The right to finish this attempt. Keep it secret.")]

    def __init__(self, hot: Hot, definition: Definition, lease: Lease) -> None:
        Task.__init__(self, hot, definition)
        self.lease = lease
        # What every worker asks for: a view that is worked out whole would be work for each attempt.
        self.attempt = hot.attempt
        self.timeouts = _timeouts(definition.claim_ttl_sec, definition.heartbeat_sec, definition.lease_sec)


class MarkedClaim(NamedTuple):
    """What a claim took, and how to wait for more."""

    tasks: list[Held]
    mark: str  # where the yard stood before
    took_all: bool  # nothing was left that more room under the agent's own limits would let it take


_timeouts = lru_cache(maxsize=64)(Timeouts)  # few are in use at a time


class History(NamedTuple):
    """What the store has beside a task's row."""

    attempts: Sequence[Attempt]
    blockers: Sequence[Blocker]
    output: Output | None
    dead: Record | None


@lazy
class Details(Task):
    """A task with everything that is known of it."""

    SCHEMA = "TaskDetails"

    blocked_by: tuple[str, ...]
    output: OutputView
    failure: LastFailure | None
    dead: Dead | None
    cost: Money  # of all attempts together, the one under way included
    tokens_used: TokensUsed
    attempts: Annotated[tuple[AttemptView, ...], Named("history")]
    _history: Annotated[History | None, Hidden()]

    def __init__(
        self,
        hot: Hot,
        definition: Definition,
        *,
        attempts: Sequence[Attempt],
        blockers: Sequence[Blocker],
        output: Output | None,
        dead: Record | None,
    ) -> None:
        Task.__init__(self, hot, definition)
        self._history = History(attempts, blockers, output, dead)

    def _fill(self, hot: Hot, definition: Definition) -> None:
        fill(self, hot, definition, policy_of(definition))
        attempts, blockers, output, dead = self._history or History((), (), None, None)
        under_way = hot if hot.status.is_held else BLANK
        self.blocked_by = tuple(blocked_by(blocker) for blocker in blockers)
        self.output = output_view(definition, output)
        self.failure = failure_view(attempts)
        self.dead = None if dead is None or not is_current(dead, hot) else dead_view(dead)
        self.cost = MicroUsd(sum(attempt.cost for attempt in attempts) + under_way.spent)
        self.tokens_used = TokensUsed(
            sum(attempt.tokens_in for attempt in attempts) + under_way.tokens_in,
            sum(attempt.tokens_out for attempt in attempts) + under_way.tokens_out,
            *CachedTokens.of(under_way.tokens_cached, *(attempt.tokens_cached for attempt in attempts)),
        )
        self.attempts = tuple(attempt_view(attempt) for attempt in attempts)

    @property
    def result(self) -> Any:
        """The output; None where there is none yet."""
        return self.output.data


_history_of = attrgetter("_history")


def stored_history(details: Details) -> History:
    """What the store has beside the row of a task that was read in this process."""
    return _history_of(details)
