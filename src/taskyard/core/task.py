"""What a task is: its states, the row that moves, the definition that does not, and what an attempt leaves behind.

Nothing here changes a task; that is `transitions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntFlag, StrEnum
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple, NewType

from taskyard.core.json_value import Json
from taskyard.core.named_rows import new_row
from taskyard.core.retry import RetryPolicy
from taskyard.core.units import SECOND, Micros, MicroUsd

TaskId = NewType("TaskId", str)
DagId = NewType("DagId", str)
LaneId = NewType("LaneId", int)
AgentId = NewType("AgentId", str)
RuntimeId = NewType("RuntimeId", str)


class Status(StrEnum):
    """Where a task stands; what each of them means is in `MEANING`."""

    CREATED = "created"
    PENDING = "pending"
    READY = "ready"
    CLAIMED = "claimed"
    RUNNING = "running"
    VALIDATING = "validating"
    COMPLETED = "completed"
    FAILED = "failed"
    RETRYING = "retrying"
    DEAD_LETTERED = "dead_lettered"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in FINAL

    @property
    def is_held(self) -> bool:
        """Whether an agent has it under a lease."""
        return self in HELD


# Published as it stands, in docs/state-machine.md.
MEANING: Mapping[Status, str] = {
    Status.CREATED: "passed through within one stored change: no task rests here",
    Status.PENDING: "waits for at least one blocker",
    Status.READY: "may be claimed",
    Status.CLAIMED: "leased, not yet started: its claim time runs",
    Status.RUNNING: "leased, and heartbeats extend the lease",
    Status.VALIDATING: "its output is handed in, the verdict outstanding; no lease, but key and money stay taken",
    Status.COMPLETED: "its output is accepted",
    Status.FAILED: "passed through within one stored change: no task rests here",
    Status.RETRYING: "waits for its delay",
    Status.DEAD_LETTERED: "out of attempts, waits for a person",
    Status.CANCELLED: "taken out of the yard",
}

FINAL = frozenset({Status.COMPLETED, Status.CANCELLED, Status.DEAD_LETTERED})
HELD = frozenset({Status.CLAIMED, Status.RUNNING})
WAITING = frozenset({Status.PENDING, Status.READY, Status.RETRYING})
KEY_HELD = HELD | {Status.VALIDATING}  # a concurrency key and the money stay taken until the verdict
KEY_DEAD = frozenset({Status.CANCELLED, Status.DEAD_LETTERED})  # such a task no longer owns its idempotency key


class Reason(StrEnum):
    """Why an attempt failed, in the yard's words; an agent may use its own."""

    TIMEOUT = "timeout"
    CRASH = "crash"
    RATE_LIMIT = "rate_limit"
    INVALID_OUTPUT = "invalid_output"
    HEARTBEAT_TIMEOUT = "heartbeat_timeout"
    CLAIM_EXPIRED = "claim_expired"
    RUNTIME_OFFLINE = "runtime_offline"
    RUNTIME_RECOVERY = "runtime_recovery"
    AGENT_ERROR = "agent_error"
    AUTH_FAILURE = "auth_failure"
    BUDGET_EXCEEDED = "budget_exceeded"
    CANCELLED = "cancelled"
    CONTEXT_LENGTH = "context_length"  # more than the model can read: the next attempt would say the same
    REFUSED = "refused"  # the yard does not take what the agent made, and never will
    VALIDATION_UNAVAILABLE = "validation_unavailable"
    POISONED_SESSION = "poisoned_session"  # the agent's conversation is beyond use: the next attempt begins a new one


class Trait(IntFlag):
    """What makes a task more than plain. A finish of a task without traits never needs to read its definition."""

    NONE = 0
    VALIDATED = 1  # its output is checked
    REPORTED = 2  # completing needs a decision report
    # 4 was set by release 0.1.0 where the preset keeps a memory; nothing reads it
    KEY_WHILE_WAITING = 8  # its idempotency key is let go when it starts (preset multica)
    RUNTIME_KEPT = 16  # its runtime's heartbeat extends its lease (preset multica)
    COALESCABLE = 32  # may be handed out in one batch with its neighbours
    FILED = 64  # an attempt at it has put artifacts
    JUDGED = 128  # its output is put before a validator
    JUDGES = 256  # it is such a validator: its output is a verdict on another task's
    WATCHED = 512  # an inbox gets items about what becomes of it
    RESUMES = 1024  # it begins with the session of the last task of its subject and agent (preset multica)
    NEEDED = 2048  # a task of another DAG depends on it: its end is looked at though it may be in no DAG itself
    ASKED = 4096  # it has asked a person: a question is stored beside it
    CALLS_BACK = 8192  # a webhook is called when it has ended
    GATHERS = 16384  # it sends a provider batch: tasks wait for its answers


class Lane(NamedTuple):
    """What makes tasks alike to a claimer. Tasks of one lane age alike, so their order never changes with time."""

    workspace: str
    queue: str
    type: str
    agent: str | None  # addressed to one agent, by id or by type
    capabilities: tuple[str, ...]  # required, sorted
    boost: int  # hundredths of a priority step per minute
    cost_class: int  # power of two of the reserve in micro-dollars; 0: no maximum given
    model: str | None  # the first preferred
    barred: tuple[str, ...] = ()  # who may not have it: type:TYPE, token:ID


class Hot(NamedTuple):
    """The moving row of a task.

    A tuple, because copying a frozen dataclass at every step was measured as the slow path (decision 0002).
    What stands before `rank` and after `idempotency_key` seldom moves: the graph when a lone task is adopted, the lane
    when its models change, the terms from `key` on when a person modifies a dead letter.
    Heartbeats and sweeps write what is unversioned; a change writes it only where it changed it itself.
    """

    id: TaskId
    seq: int  # given by the store when inserted; first come, first served
    workspace: str
    dag_id: DagId | None  # None: a lone task, which has no DAG row
    lane: LaneId
    rank: int  # unversioned; see priority
    height: int  # unversioned: levels of the longest chain of dependents below it
    status: Status
    version: int
    attempt: int  # number of the latest claim
    failures: int  # counted ones since creation or the last resolution
    losses: int  # lost leases that did not count (preset loki)
    parks: int  # rate limits that did not count
    wait: int  # number of the latest wait; blockers belong to one
    agent: AgentId | None
    runtime: RuntimeId | None
    lease: str | None  # sealed: the token itself is never stored
    claimed_at: Micros | None
    started_at: Micros | None
    heartbeat_at: Micros | None  # unversioned
    lease_expires_at: Micros | None  # unversioned
    limit_at: Micros | None  # when the attempt's time is over
    wake_at: Micros | None  # retrying: its delay ends; pending: the wait's time comes
    due_at: Micros | None  # unversioned: when the sweep must look at it; may be too early, never too late
    rescore_at: Micros | None  # unversioned; None once the task is final
    circuit: int  # generation of its type's breaker at the claim; odd: this attempt is the probe
    reserved: MicroUsd  # by the attempt under way, against agent, DAG and day
    spent: MicroUsd  # unversioned: reported by the attempt under way
    tokens_in: int  # unversioned
    tokens_out: int  # unversioned
    tokens_cached: str | None  # unversioned; JSON [read, written], as `CachedTokens`
    progress: str | None  # unversioned; JSON
    session: str | None  # JSON {session_id, work_dir}: outlives the attempt
    ran: Micros  # time used by this try before it was suspended; counts against run_sec
    why: str | None  # the reason it was cancelled for
    updated_at: Micros
    idempotency_key: str | None
    key: str | None  # concurrency key
    reserve: MicroUsd | None  # max_cost_usd
    claim_ttl: int  # seconds; 0: a claim goes straight to running
    lease_sec: int
    run_sec: int | None
    max_attempts: int
    expires_at: Micros | None
    created_at: Micros
    traits: int
    agent_type: str | None  # of the agent of the attempt under way: what it costs is charged to that type
    type_slot: int  # 1: the attempt under way took one of the slots that its agent's type was granted

    def altered(self, fields: Mapping[str, Any]) -> Hot:
        """A copy with these fields changed: `_replace` in a fourth of the time, because every step makes one."""
        return new_row(Hot, chooser(tuple(fields))((*self, *fields.values())))


# A row of which nothing is known yet.
BLANK = Hot(
    id=TaskId(""),
    seq=0,
    workspace="",
    dag_id=None,
    lane=LaneId(0),
    rank=0,
    height=0,
    status=Status.CREATED,
    version=0,
    attempt=0,
    failures=0,
    losses=0,
    parks=0,
    wait=0,
    agent=None,
    runtime=None,
    lease=None,
    claimed_at=None,
    started_at=None,
    heartbeat_at=None,
    lease_expires_at=None,
    limit_at=None,
    wake_at=None,
    due_at=None,
    rescore_at=None,
    circuit=0,
    reserved=MicroUsd(0),
    spent=MicroUsd(0),
    tokens_in=0,
    tokens_out=0,
    tokens_cached=None,
    progress=None,
    session=None,
    ran=Micros(0),
    why=None,
    updated_at=Micros(0),
    idempotency_key=None,
    key=None,
    reserve=None,
    claim_ttl=0,
    lease_sec=0,
    run_sec=None,
    max_attempts=0,
    expires_at=None,
    created_at=Micros(0),
    traits=0,
    agent_type=None,
    type_slot=0,
)


# A step always changes the same fields, and there are few kinds of steps.
@cache
def chooser(names: tuple[str, ...]) -> itemgetter[Any]:
    """What picks a row from the one before with the values of these fields behind it."""
    placed = {name: len(Hot._fields) + place for place, name in enumerate(names)}
    return itemgetter(*(placed.get(name, place) for place, name in enumerate(Hot._fields)))


# The fields that the end of an attempt clears. Its agent, its runtime and its start stay, for lists.
LET_GO: dict[str, Any] = {
    "lease": None,
    "claimed_at": None,
    "heartbeat_at": None,
    "agent_type": None,
    "type_slot": 0,
    "lease_expires_at": None,
    "limit_at": None,
    "reserved": MicroUsd(0),
    "circuit": 0,
    "spent": MicroUsd(0),
    "tokens_in": 0,
    "tokens_out": 0,
    "tokens_cached": None,
    "progress": None,
}


# The rows of the two steps of every task are made by place: naming the fields takes as long as all the rest of a step.
_PLACES = {name: place for place, name in enumerate(Hot._fields)}
_STATUS, _VERSION, _ATTEMPT, _UPDATED = itemgetter("status", "version", "attempt", "updated_at")(_PLACES)
_AGENT, _RUNTIME, _LEASE, _TYPE = itemgetter("agent", "runtime", "lease", "agent_type")(_PLACES)
_CLAIMED, _STARTED, _HEARD, _PROGRESS = itemgetter("claimed_at", "started_at", "heartbeat_at", "progress")(_PLACES)
_EXPIRES, _LIMIT, _DUE, _RESCORE = itemgetter("lease_expires_at", "limit_at", "due_at", "rescore_at")(_PLACES)
_CIRCUIT, _RESERVED, _SLOT, _KEY = itemgetter("circuit", "reserved", "type_slot", "idempotency_key")(_PLACES)
_SPENT, _TOKENS_IN, _TOKENS_OUT, _CACHED = itemgetter("spent", "tokens_in", "tokens_out", "tokens_cached")(_PLACES)


def claimed(  # noqa: PLR0917 - naming them takes longer than making the row
    hot: Hot,
    status: Status,
    agent: AgentId,
    agent_type: str | None,
    type_slot: int,
    runtime: RuntimeId | None,
    lease: str,
    now: Micros,
    started_at: Micros | None,
    expires: Micros,
    limit: Micros | None,
    due_at: Micros | None,
    circuit: int,
    reserved: MicroUsd,
    idempotency_key: str | None,
) -> Hot:
    row = [*hot]
    row[_STATUS], row[_VERSION], row[_ATTEMPT] = status, hot.version + 1, hot.attempt + 1
    row[_AGENT], row[_RUNTIME], row[_LEASE], row[_TYPE] = agent, runtime, lease, agent_type
    row[_CLAIMED] = row[_HEARD] = row[_UPDATED] = now
    row[_STARTED], row[_EXPIRES], row[_LIMIT], row[_DUE] = started_at, expires, limit, due_at
    row[_CIRCUIT], row[_RESERVED], row[_SLOT], row[_KEY] = circuit, reserved, type_slot, idempotency_key
    # A heartbeat may have reported something after the end of the attempt before was decided.
    row[_SPENT] = row[_TOKENS_IN] = row[_TOKENS_OUT] = 0
    row[_CACHED] = row[_PROGRESS] = None
    return new_row(Hot, row)


def ended(hot: Hot, status: Status, now: Micros) -> Hot:
    """Without what `LET_GO` names."""
    row = [*hot]
    row[_STATUS], row[_VERSION], row[_UPDATED] = status, hot.version + 1, now
    row[_LEASE] = row[_CLAIMED] = row[_HEARD] = row[_TYPE] = row[_EXPIRES] = row[_LIMIT] = None
    row[_DUE] = row[_RESCORE] = row[_CACHED] = row[_PROGRESS] = None
    row[_SLOT] = row[_RESERVED] = row[_CIRCUIT] = row[_SPENT] = row[_TOKENS_IN] = row[_TOKENS_OUT] = 0
    return new_row(Hot, row)


def time_limit(hot: Hot, now: Micros) -> Micros | None:
    """When the time of an attempt that starts now is over."""
    return None if hot.run_sec is None else Micros(now + hot.run_sec * SECOND - hot.ran)


def key_once_started(hot: Hot) -> str | None:
    return None if hot.traits and hot.traits & Trait.KEY_WHILE_WAITING else hot.idempotency_key


def session_after(hot: Hot, reason: str) -> str | None:
    return None if reason == Reason.POISONED_SESSION else hot.session


def dag_of(hot: Hot) -> DagId:
    """The graph a task belongs to: its own, for a lone one."""
    return hot.dag_id or lone_dag(hot.id)


def lone_dag(task_id: TaskId) -> DagId:
    return DagId("dag_" + task_id.removeprefix("task_"))


def lone_task(dag_id: DagId) -> TaskId:
    """The task that such a graph is the graph of, where it is a lone task's."""
    return TaskId("task_" + dag_id.removeprefix("dag_"))


def next_due(hot: Hot) -> Micros | None:
    """When the sweep must look at the task next."""
    return due_by(hot.status, hot.lease_expires_at, hot.limit_at, hot.wake_at, hot.expires_at)


def due_by(
    status: Status,
    lease_expires_at: Micros | None,
    limit_at: Micros | None,
    wake_at: Micros | None,
    expires_at: Micros | None,
) -> Micros | None:
    if status is Status.RUNNING or status is Status.CLAIMED:
        return earlier(lease_expires_at, limit_at)
    if status is Status.RETRYING or status is Status.PENDING:
        return earlier(wake_at, expires_at)
    return expires_at if status is Status.READY else None


def earlier(one: Micros | None, other: Micros | None) -> Micros | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


class Validation(StrEnum):
    NONE = "none"
    JSON_SCHEMA = "json-schema"
    REGEX = "regex"
    TEST_PASS = "test-pass"
    LLM_JUDGE = "llm-judge"


class ServiceTier(StrEnum):
    """How a task's model calls are made."""

    STANDARD = "standard"
    BATCH = "batch"  # gathered into batches of a provider: cheaper, and later


class Definition(NamedTuple):
    """What was asked for. It changes only when a person modifies a dead letter or a priority.

    Made by naming its fields. A tuple for the reason that a row is one (decision 0002).
    """

    id: TaskId
    workspace: str
    dag_id: DagId | None
    type: str
    created_at: Micros
    created_by: str
    preset: str = "standard"
    queue: str = "default"
    parent_id: TaskId | None = None
    rerun_of: TaskId | None = None
    idempotency_key: str | None = None
    title: str = ""
    agent: str | None = None
    subject: str | None = None
    prompt: str = ""
    payload: str = "{}"  # JSON text: decoded only when asked for
    context_refs: tuple[str, ...] = ()
    max_cost: MicroUsd | None = None
    max_duration_sec: int | None = None
    required_capabilities: tuple[str, ...] = ()
    model_preferences: tuple[str, ...] = ()
    fallback_models: tuple[str, ...] = ()
    priority: int = 50
    boost: int = 10
    deadline: Micros | None = None
    run_after: Micros | None = None
    expires_at: Micros | None = None
    depends_on: tuple[TaskId, ...] = ()
    concurrency_key: str | None = None
    coalescable: bool = False
    max_attempts: int = 3
    retry: RetryPolicy = RetryPolicy()
    claim_ttl_sec: int = 60
    heartbeat_sec: int = 30
    lease_sec: int = 90
    output_type: str = "json"
    validation: Validation = Validation.NONE
    validation_schema: str | None = None  # JSON text of a schema, or a regular expression
    session_id: str | None = None
    work_dir: str | None = None
    fresh: bool = False
    trigger_type: str | None = None
    trigger_ref: str | None = None
    trigger_summary: str | None = None
    tags: tuple[str, ...] = ()
    spec_version: int = 1
    barred: tuple[str, ...] = ()  # who may not have it: type:TYPE, token:ID; set by the yard alone
    trace: str | None = None  # the traceparent of the span that put it in
    remember: bool | None = None  # whether similar work finds it later; None: as its type, workspace or preset says
    callback: str | None = None  # the URL of a webhook that is called when it has ended
    variant: str | None = None  # of its type, which decided its models, prompt or payload
    service: ServiceTier = ServiceTier.STANDARD


# Of many tasks that come in, most differ in nothing but these.
OWN = ("id", "created_at", "prompt", "payload", "depends_on", "trace")
common_fields = itemgetter(*(place for place, name in enumerate(Definition._fields) if name not in OWN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    reason: str
    error: str = ""
    details: Json = None


class Outcome(StrEnum):
    """How an attempt ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    RELEASED = "released"  # given back; not counted
    SUSPENDED = "suspended"  # waits for a signal, a time or children; not counted
    CANCELLED = "cancelled"
    SUBMITTED = "submitted"  # handed in for validation


class Attempt(NamedTuple):
    """One try at a task by one agent, written when it ends. It answers a repeated call, until the task is pruned."""

    task_id: TaskId
    number: int
    agent: AgentId
    runtime: RuntimeId | None
    lease: str  # sealed
    claimed_at: Micros
    started_at: Micros | None
    ended_at: Micros
    outcome: Outcome
    counted: bool  # whether it used up one of max_attempts
    reason: str | None
    error: str | None
    details: str | None  # JSON
    model: str | None
    cost: MicroUsd
    tokens_in: int
    tokens_out: int
    session: str | None  # JSON
    verb: str  # the call that ended it
    digest: str  # of that call's arguments: another digest under the same lease is lease_lost
    status: Status  # the answer that was given: the task's state, version, failures and time of waking after the call
    version: int
    failures: int
    wake_at: Micros | None
    agent_type: str | None = None  # None: of a release that knew only ids
    tokens_cached: str | None = None  # JSON, as `CachedTokens`
