"""What callers send, as the OpenAPI document shows it. Unknown fields are refused, and nothing is converted.

These models check shapes. What a task's fields may hold is decided in `definition.fields`, once, for every way in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from taskyard.core.agent import Slots
from taskyard.core.runtime import INCARNATION
from taskyard.definition.document import unnoted
from taskyard.definition.task_fields import TaskFields, TaskRequest
from taskyard.definition.view import About
from taskyard.features.tasks.creation import growth_limits
from taskyard.features.tasks.multica import task_of

Money = Annotated[str | int | float, Field(description="Dollars, exactly: a decimal text, or a number.")]
Seconds = Annotated[int | float, Field(ge=0)]
Tokens = Annotated[int, Field(ge=0)]
Lease = Annotated[str, Field(description="The lease that the claim gave.", max_length=255)]
Name = Annotated[str, Field(min_length=1, max_length=255)]
Incarnation = Annotated[
    str, Field(pattern=f"^{INCARNATION}$", description="One process of a runtime that has several.")
]
Words = Annotated[str, Field(max_length=10_000)]
TaskId = Annotated[str, AfterValidator(task_of), Field(description="A task's id, or that of an attempt at it.")]


class RequestBody(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _sent(hint: Any) -> Any:
    """A type as JSON can send it: a caller in this process may also give a moment or a decimal."""
    kind: Any
    kind, notes = unnoted(hint)
    if get_origin(kind) in (Union, UnionType):
        kinds = [_sent(each) for each in get_args(kind) if each not in (datetime, Decimal)]
        kind = cast(Any, Union[*kinds])
    elif get_origin(kind) is Sequence:
        kind = list[get_args(kind)[0]]
    elif get_origin(kind) is Mapping:
        kind = dict[str, Any]
    abouts = [Field(description=note.text) for note in notes if isinstance(note, About)]
    return Annotated[kind, *abouts] if abouts else kind


class _Draft(BaseModel):
    model_config = ConfigDict(
        extra="allow",
        strict=True,
        json_schema_extra={
            "additionalProperties": False,
            "examples": [{"type": "code", "prompt": "Fix the failing test", "max_cost_usd": "0.50"}],
        },
    )

    def fields(self) -> dict[str, Any]:
        """What the caller said, and nothing else."""
        given_names, given = self.model_fields_set, {**self.__dict__, **(self.__pydantic_extra__ or {})}
        return {name: value for name, value in given.items() if name in given_names}


_TRACE = Field(
    None,
    description="A W3C traceparent, in place of that of the header; one that is malformed is ignored.",
    json_schema_extra={"type": "string"},
)
_BOUNDS: dict[str, Any] = {"type": Field(None, min_length=1, max_length=255), "trace": _TRACE}
_HINTS = get_type_hints(TaskRequest, include_extras=True)

if TYPE_CHECKING:

    class TaskDraft(_Draft):
        """A task as it is put in: each field of `TaskRequest` as JSON can send it."""

else:
    TaskDraft = create_model(
        "TaskDraft",
        __base__=_Draft,
        __doc__=TaskFields.__doc__,
        **{name: (_sent(hint), _BOUNDS.get(name)) for name, hint in _HINTS.items()},
    )


class EnqueueMany(RequestBody):
    tasks: list[TaskDraft] = Field(max_length=growth_limits.MOST_IN_A_BATCH)


class AddTasks(RequestBody):
    tasks: list[TaskDraft] = Field(max_length=growth_limits.MOST_TASKS)


class DagInboxDraft(RequestBody):
    """The inbox that gets items about what becomes of a graph."""

    agent: Name
    conversation: Name
    about: list[Literal["ended", "completed", "dead_lettered", "cancelled", "escalated"]] = [
        *("ended", "dead_lettered", "escalated"),
    ]


class DagDraft(RequestBody):
    """A whole graph. Its tasks name each other by `name`, or by ids they mint."""

    id: str | None = None
    title: str = ""
    tasks: list[TaskDraft] = Field(min_length=1, max_length=growth_limits.MOST_TASKS)
    budget_ceiling_usd: Money | None = None
    tags: list[str] = []
    inbox: DagInboxDraft | None = None

    def fields(self, tasks: list[dict[str, Any]]) -> dict[str, Any]:
        """What the caller said, with the fields of the tasks."""
        given = {name: value for name, value in self if name in self.model_fields_set}
        inbox = {} if self.inbox is None else {"inbox": self.inbox.model_dump(exclude_unset=True)}
        return {**given, **inbox, "tasks": tasks}


class ClaimTasks(RequestBody):
    """Who asks, and for how much. Either an agent, or a runtime for any of its agents."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"agent_id": "coder-1", "count": 1, "wait_sec": 20}]})

    agent_id: Name | None = None
    runtime_id: Name | None = None
    count: int = Field(1, ge=1, le=1000)
    wait_sec: Annotated[int | float, Field(ge=0, le=60)] = 0
    queues: list[str] | None = None
    types: list[str] | None = None
    start: bool = False
    request_id: Name | None = Field(None, description="The same again gets the same tasks, where an answer was lost.")


class Leased(RequestBody):
    lease: Lease


class SpentSoFar(RequestBody):
    """What the attempt has cost so far, in all. Cost is rounded up to a micro-dollar."""

    cost_usd: Money | None = None
    tokens_input: Tokens | None = Field(None, description="Every token read, cached ones among them.")
    tokens_output: Tokens | None = None
    tokens_cache_read: Tokens | None = None
    tokens_cache_write: Tokens | None = None
    model: Name | None = Field(None, description="Where no cost is given, its price is looked up.")


class SendHeartbeat(Leased, SpentSoFar):
    progress: Any = None
    rate_limited_sec: float | None = Field(
        None, ge=0, le=3600, description="A provider wants no more calls for so long: like tasks wait, too."
    )


class HeartbeatOf(SendHeartbeat):
    task_id: TaskId


class Heartbeats(RequestBody):
    heartbeats: list[HeartbeatOf] = Field(max_length=10_000)


class LeaseOf(Leased):
    task_id: TaskId


class Leases(RequestBody):
    leases: list[LeaseOf] = Field(max_length=10_000)


class Progress(Leased):
    progress: Any
    request_id: Name | None = Field(None, description="The same again: it is not announced twice.")


class AddMessage(Leased):
    message: Any
    request_id: Name | None = Field(None, description="The same again: it is not announced twice.")


class PinSession(Leased):
    """At least one of the two; what is not given stays as it was pinned before."""

    session_id: Name | None = None
    work_dir: Annotated[str, Field(max_length=4096)] | None = None


class Complete(Leased, SpentSoFar):
    output: Any = None
    artifacts: list[str] = []
    decision_report: Any = None


class CompleteOf(Complete):
    task_id: TaskId


class CompleteMany(RequestBody):
    """Many results; with `claim`, finish and claim in one call."""

    results: list[CompleteOf] = Field(min_length=1, max_length=1000)
    claim: ClaimTasks | None = None


class FailAttempt(Leased, SpentSoFar):
    reason: Name = "agent_error"
    error: str = ""
    details: Any = None
    retry_after_sec: Seconds | None = None


class FailOf(FailAttempt):
    task_id: TaskId


class FailMany(RequestBody):
    results: list[FailOf] = Field(min_length=1, max_length=1000)


class Spawn(Leased):
    name: Name
    tasks: list[TaskDraft] = Field(min_length=1, max_length=growth_limits.MOST_TASKS)
    wait: bool = False


class ReportedStep(SpentSoFar):
    took_sec: Seconds | None = Field(None, description="From its beginning until its result was there.")


class SaveCheckpoint(Leased, SpentSoFar):
    name: Name
    data: Any = None
    step: ReportedStep | None = Field(None, description="Of this step alone; the other figures are of the attempt.")


class Sleep(Leased):
    kind: Literal["sleep"]
    name: Name
    duration_sec: Seconds


class WaitFor(Leased):
    kind: Literal["signal"]
    name: Name
    signal: Name
    timeout_sec: Seconds | None = None


class SnoozeTask(Leased):
    kind: Literal["snooze"]
    duration_sec: Seconds


class AskPerson(Leased):
    kind: Literal["question"]
    name: Name
    question: Annotated[str, Field(min_length=1, max_length=4_000)]
    answer_schema: Annotated[dict[str, Any] | None, Field(description="JSON Schema of the answer.")] = None
    choices: Annotated[list[Any] | None, Field(description="In place of a schema: one of these.", max_length=100)] = (
        None
    )
    who: Annotated[list[Name], Field(description="Names, groups and roles that may answer.", max_length=50)] = []
    timeout_sec: Seconds | None = None
    default: Annotated[Any, Field(description="The answer when the time is over; left out: there is none.")] = None
    context: Annotated[Any, Field(description="What is shown beside the question.")] = None
    login: Annotated[bool, Field(description="Only for people who have signed in: no link answers it.")] = False


Suspend = Annotated[Sleep | WaitFor | AskPerson | SnoozeTask, Field(discriminator="kind")]


class CancelTask(RequestBody):
    reason: Annotated[str, Field(max_length=1000)] = "cancelled"
    cascade: bool | None = None
    dry_run: Annotated[bool, Field(description="Only say what would be cancelled.")] = False


class CancelDag(RequestBody):
    reason: Annotated[str, Field(max_length=1000)] = "cancelled"
    dry_run: Annotated[bool, Field(description="Only say what would be cancelled.")] = False


class RerunIssue(RequestBody):
    task_id: TaskId | None = None


class SendSignal(RequestBody):
    name: Name
    data: Any = None
    wait: int | None = Field(None, ge=0, description="Only for this wait of the task, as the approvals number it.")


class AnswerQuestion(RequestBody):
    name: Name
    data: Any
    wait: int | None = Field(None, ge=0, description="Only this wait of the task, as the approvals number it.")


class AnswerByLink(RequestBody):
    data: Any


class Priority(RequestBody):
    priority: int


class Resolve(RequestBody):
    resolution: Literal["retry", "modify_and_retry", "cancel", "escalate"]
    reason: Words = ""
    spec: dict[str, Any] | None = None


class BulkFilter(RequestBody):
    ids: Annotated[list[str], Field(max_length=1000, description="Exactly these, and nothing else beside it.")] = []
    status: list[str] = []
    type: list[str] = []
    queue: str | None = None
    agent: str | None = None
    subject: str | None = None
    dag_id: str | None = None
    parent_id: str | None = None
    tag: str | None = None
    text: str | None = None
    reason: str | None = None
    since: str | None = None
    until: str | None = None


class BulkAction(RequestBody):
    """What to do with every task that matches the filter."""

    action: Literal["cancel", "retry", "rerun", "priority"]
    filter: BulkFilter
    dry_run: bool = False
    priority: int | None = None
    note: Annotated[str, Field(max_length=1000)] = ""


Per = Literal["ever", "day", "month"]


class RegisterAgent(RequestBody):
    id: Annotated[Name | None, Field(description="Without it, a new one is made for the type.")] = None
    type: Name | None = None
    capabilities: list[str] = []
    models_available: list[str] = []
    types: list[str] | None = None
    max_concurrent_tasks: int = 1
    budget_usd: Annotated[
        Money | None, Field(description="Of all agents of the type, until an operator sets one; null changes nothing.")
    ] = None
    budget_per: Per | None = None
    runtime_id: Name | None = None
    incarnation: Incarnation | None = None
    poll_interval_sec: int | float = 5
    claim_ttl_sec: int | None = None
    orchestrator: bool = False
    keep: Annotated[bool, Field(description="Keep what is known of the agent, and add the capabilities to it.")] = False


class RegisterRuntime(RequestBody):
    id: Name
    incarnation: Incarnation | None = None
    hostname: Annotated[str, Field(max_length=1000)] = ""
    pid: int | None = None
    version: Annotated[str, Field(max_length=1000)] = ""


class RuntimeHeartbeat(RequestBody):
    incarnation: Incarnation | None = None
    keep_leases: Annotated[
        bool, Field(description="Extend what it holds where the preset says so; false: heartbeats of tasks do.")
    ] = True


class Orphaned(RequestBody):
    incarnation: Incarnation | None = None


class AgentBudget(RequestBody):
    budget_usd: Annotated[Money | None, Field(description="null: no limit")] = None
    budget_per: Per | None = None
    take_back: Annotated[bool, Field(description="Let what is said in code count again.")] = False


class GrantAgent(RequestBody):
    """What is left out may be had as much as is asked for; but capabilities that judge are had only where named."""

    agent_id: Annotated[Name | None, Field(description="For one id of the type alone.")] = None
    types: Annotated[list[str] | None, Field(description="Task types.")] = None
    capabilities: list[str] | None = None
    queues: list[str] | None = None
    slots: Annotated[Slots | None, Field(description="The sum over all ids of the type; null: 10.")] = None


class DagBudget(RequestBody):
    budget_ceiling_usd: Money | None


class DagLimit(RequestBody):
    max_tasks: Annotated[int | None, Field(description="Null: as many as any DAG may have.")]


class DayBudget(RequestBody):
    daily_budget_usd: Money | None = None
    default_reserve_usd: Money = 0


class Preset(RequestBody):
    preset: Name


class QueuePreset(RequestBody):
    preset: Name | None


class MoveBreaker(RequestBody):
    why: Annotated[str, Field(max_length=1000)] = "by hand"


class ReportPolicy(RequestBody):
    required: bool
    queue: Name | None = Field(None, description="Of this queue alone; left out: of all.")


class SetMemoryPolicy(RequestBody):
    remember: Annotated[bool | None, Field(description="Left out or null: as the preset has it.")] = None
    types: Annotated[dict[Name, bool] | None, Field(description="By type of task, where it differs.")] = None


class OverrideBreaker(RequestBody):
    """What differs for a type. The camelCase names are those of preset loki."""

    failure_threshold: int | None = None
    failureThreshold: int | None = None  # noqa: N815
    half_open_after_sec: Seconds | None = None
    halfOpenAfter: Seconds | None = None  # noqa: N815
    cooldownSeconds: Seconds | None = None  # noqa: N815


class SetBreakers(RequestBody):
    failure_threshold: int | None = None
    half_open_after_sec: Seconds | None = None
    overrides: dict[str, int | OverrideBreaker] | None = None
    cooldownSeconds: Seconds | None = None  # noqa: N815 - so the preset loki has it


class CreateToken(RequestBody):
    name: Name
    role: Literal["admin", "operator", "orchestrator", "agent", "viewer"]
    agent: Annotated[Name | None, Field(description="For the role agent: its type.")] = None
    agent_id: Annotated[Name | None, Field(description="For one id of the type alone.")] = None
    types: Annotated[list[str] | None, Field(description="Granted task types; null: all.")] = None
    capabilities: Annotated[
        list[str] | None, Field(description="Granted; null: all but those that judge (llm-judge, test-runner).")
    ] = None
    queues: Annotated[list[str] | None, Field(description="Granted; null: all.")] = None
    slots: Annotated[Slots | None, Field(description="Granted: tasks at a time, the sum over all ids; null: 10.")] = (
        None
    )
    budget_usd: Annotated[Money | None, Field(description="Of the type, as an operator sets it.")] = None
    budget_per: Per | None = None
    expires_in_sec: Annotated[int | float, Field(gt=0)] | None = None
    groups: Annotated[list[Name], Field(description="Of the person: questions may be for a group.")] = []
