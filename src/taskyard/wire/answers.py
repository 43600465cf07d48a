"""What the yard answers with, beside its tasks: plain values, the same in this process and beyond a wire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, cast

from taskyard.core.agent import NO_BUDGET, Agent, Budget
from taskyard.core.breaker import BreakerState
from taskyard.core.changes import Edge, Record, StoredEvent
from taskyard.core.dag import DagStatus
from taskyard.core.errors import TaskyardError
from taskyard.core.json_value import Json
from taskyard.core.task import DagId, Hot, RuntimeId, Status, TaskId
from taskyard.core.units import Micros, MicroUsd, to_iso
from taskyard.features.budgets.views import Spent
from taskyard.features.events.rules import wire_type
from taskyard.features.tasks.views import Details, Task
from taskyard.features.tokens.rules import Session, Token


@dataclass(frozen=True, slots=True, kw_only=True)
class Dag:
    """A graph that was submitted: its id, and its tasks by the names they were submitted under."""

    id: DagId
    tasks: Mapping[str, Task]


@dataclass(frozen=True, slots=True, kw_only=True)
class DagView:
    """A graph, as it was when it was read."""

    id: DagId
    title: str
    status: DagStatus
    counts: Mapping[Status, int]
    tasks: tuple[Hot, ...]
    edges: tuple[Edge, ...]
    roots: tuple[TaskId, ...]
    leaves: tuple[TaskId, ...]
    budget_ceiling: MicroUsd | None
    spent: MicroUsd
    reserved: MicroUsd
    created_by: str
    tags: tuple[str, ...]


class Input(NamedTuple):
    """What a task builds on: an output of another, inlined, or left by reference where it is too big."""

    ref: str
    data: Json
    inlined: bool


class BreakerView(NamedTuple):
    type: str
    state: BreakerState
    open_until: str | None
    why: str
    opened_at: str | None = None
    failures: int = 0  # one after the other, so far
    failure_threshold: int = 0


class DeadLetter(NamedTuple):
    task: Details
    record: Record


def event_view(stored: StoredEvent) -> dict[str, Json]:
    """An event as it goes over a wire, in both vocabularies."""
    event = stored.event
    own = {
        "status": None if event.status is None else event.status.value,
        "attempt": event.attempt,
        "version": event.version,
    }
    return {
        "seq": stored.seq,
        "at": to_iso(event.at),
        "type": wire_type(event),
        "event": event.event,
        "task_id": event.task_id,
        "dag_id": event.dag_id,
        "workspace": event.workspace,
        "task_type": stored.labels.type,
        "agent": stored.labels.agent,
        "subject": stored.labels.subject,
        # An event that is of no task may have a status among its data: how a graph ended.
        "payload": {
            **own,
            **(cast(dict[str, Json], json.loads(event.data)) if event.data else {}),
            **{name: value for name, value in own.items() if value is not None},
        },
    }


class Heartbeat(NamedTuple):
    """One task's heartbeat: what its agent reports, and under which lease."""

    task_id: str
    lease: str
    progress: Json = None
    cost_usd: str | float | int | Decimal | None = None
    tokens_input: int | None = None
    tokens_output: int | None = None
    tokens_cache_read: int | None = None
    tokens_cache_write: int | None = None
    model: str | None = None

    @property
    def spent(self) -> Spent:
        return {
            "cost_usd": self.cost_usd,
            "tokens_input": self.tokens_input,
            "tokens_output": self.tokens_output,
            "tokens_cache_read": self.tokens_cache_read,
            "tokens_cache_write": self.tokens_cache_write,
            "model": self.model,
        }


class Told(NamedTuple):
    """What an agent must know after a heartbeat."""

    task_id: TaskId
    words: tuple[str, ...]  # cancelled, lease_lost, budget_exceeded, slowdown, draining; none: go on
    lease_expires_at: Micros | None

    @property
    def must_stop(self) -> bool:
        return any(word in ("cancelled", "lease_lost", "budget_exceeded") for word in self.words)


class Waited(NamedTuple):
    """How a wait stands. Not over: the task is suspended, its lease is gone, and its handler must stop here."""

    over: bool
    data: Json = None
    timed_out: bool = False


class Child(NamedTuple):
    """How a spawned task ended, as its parent sees it."""

    task_id: TaskId
    status: Status
    output: Json


class Cancelled(NamedTuple):
    task_ids: tuple[TaskId, ...]  # the task itself first; empty where it was cancelled already


class AgentView(NamedTuple):
    agent: Agent
    current_tasks: int
    budget_left: MicroUsd | None  # the least that it, or its type, has left
    last_heartbeat: Micros | None
    budget: Budget = NO_BUDGET  # of its type
    budget_set_by: str | None = None  # "code" or "operator"
    silent: bool = False  # it is shown as offline because it is not heard of; what is stored of it says otherwise


class RuntimeView(NamedTuple):
    """A machine that hosts agents, or one process of it."""

    id: RuntimeId
    hostname: str
    pid: int | None
    version: str
    started_at: Micros
    last_heartbeat: Micros | None
    incarnation: str | None  # None: the only process of its runtime


class QueueView(NamedTuple):
    queue: str
    paused: bool
    preset: str
    ready: int = 0  # tasks that may be claimed
    report_required: bool = False  # its new tasks are completed only with a decision report


class ThrottleView(NamedTuple):
    """A scope that is slowed down after a provider's rate limit."""

    type: str
    model: str | None
    until: Micros


class Approval(NamedTuple):
    """A task that waits for a signal: an approval, an answer."""

    task: Task
    signal: str
    since: Micros
    until: Micros | None


class Orphans(NamedTuple):
    orphaned: int
    retried: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One thing that keeps the task from running."""

    kind: str
    words: str
    facts: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    task_id: TaskId
    status: Status
    causes: tuple[Cause, ...]

    @property
    def words(self) -> str:
        return "; ".join(cause.words for cause in self.causes)

    def to_dict(self) -> dict[str, Json]:
        return {
            "task_id": self.task_id,
            "status": self.status.value,
            "words": self.words,
            "causes": [{"kind": cause.kind, "words": cause.words, **cause.facts} for cause in self.causes],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was looked at, and what is wrong with it."""

    tasks: int
    events: int
    attempts: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        seen = f"{self.tasks} tasks, {self.attempts} attempts, {self.events} events"
        return (
            f"verify: ok ({seen})" if self.ok else "\n".join([f"verify: {len(self.problems)} problems", *self.problems])
        )


class Swept(NamedTuple):
    """What one sweep did."""

    expired: int = 0
    woken: int = 0
    rescored: int = 0
    pruned: int = 0
    finished: int = 0  # cascades and graphs that a crash had left half done
    fired: int = 0  # schedules whose time had come


class Issued(NamedTuple):
    """A token that was just made. Its text is shown this once."""

    token: Token
    text: str


class Begun(NamedTuple):
    """A session that was just begun. Its text is for the browser alone."""

    session: Session
    text: str


class Acted(NamedTuple):
    """What became of everything that matched."""

    task_ids: tuple[TaskId, ...]
    refused: Mapping[TaskId, TaskyardError]
    more: bool  # there may be others that match: call again


class Total(NamedTuple):
    """How long a list is."""

    number: int
    more: bool  # there are more than that
