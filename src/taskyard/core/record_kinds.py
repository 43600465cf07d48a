"""Kinds of records, each with the shape of its body: what reads a record says here, once, what it holds.

A feature declares the kinds that it stores beside its rules; those that several features read are declared here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, NotRequired, TypedDict, TypeVar, cast

from taskyard.core.changes import Record
from taskyard.core.json_value import Json
from taskyard.core.task import RuntimeId
from taskyard.core.units import Micros, MicroUsd

Body = TypeVar("Body")


class RecordKind(Generic[Body]):
    """A kind of record, or several whose bodies have one shape. Every change of one writes that shape."""

    def __init__(self, name: str, shape: type[Body], *others: str) -> None:
        self.names = (name, *others)
        self.shape = shape

    def of(self, record: Record) -> Body:
        """The body of a record of this kind; one of another kind is refused."""
        if record.kind not in self.names:
            raise ValueError(f"a record of kind {record.kind} was read as one of kind {self.names[0]}")
        return self.body(record.body)

    def body(self, stored: Mapping[str, Json]) -> Body:
        """The same, where only the body is at hand."""
        return cast(Body, stored)


class GrantBody(TypedDict):
    types: list[str] | None
    capabilities: list[str] | None
    queues: list[str] | None
    slots: int | None


class BudgetBody(TypedDict):
    amount: MicroUsd | None
    per: str


class AgentBody(TypedDict):
    type: str
    runtime: RuntimeId | None
    capabilities: list[str]
    models: list[str]
    types: list[str] | None
    max_concurrent_tasks: int
    budget: MicroUsd | None
    status: str
    poll_interval_sec: float
    claim_ttl_sec: int | None
    orchestrator: bool
    token: NotRequired[str | None]


class AgentTypeBody(TypedDict):
    in_code: BudgetBody | None
    by_operator: BudgetBody | None
    grant: GrantBody | None
    id_grants: dict[str, GrantBody]


class RuntimeBody(TypedDict):
    started_at: Micros
    hostname: str
    pid: int | None
    version: str


class BreakerBody(TypedDict):
    generation: int
    opened_at: Micros | None


class ThrottleBody(TypedDict):
    until: Micros
    wait: int


class QueueBody(TypedDict, total=False):
    paused: bool
    preset: str | None
    report_required: bool


class WorkspaceBody(TypedDict, total=False):
    preset: str | None
    daily_budget: MicroUsd | None
    default_reserve: MicroUsd
    breakers: dict[str, Any] | None  # the fields of `BreakerSettings`
    report_required: bool


class DagInboxBody(TypedDict):
    agent: str
    conversation: str
    about: list[str]


class DagBody(TypedDict):
    title: str
    status: str
    preset: str
    created_by: str
    created_at: Micros
    ended_at: Micros | None
    tags: list[str]
    inbox: NotRequired[DagInboxBody | None]  # graphs of earlier releases have none
    max_tasks: NotRequired[int | None]


class DeadDecision(TypedDict):
    resolution: str | None
    reviewed_by: str | None
    reviewed_at: Micros | None
    note: str | None


class DeadBody(DeadDecision):
    at: Micros
    reason: str
    poison_pill: bool
    reviewed: bool
    earlier: NotRequired[list[DeadDecision]]


class SubagentBody(TypedDict):
    subagent_id: str
    type: str
    description: str
    parent: str
    conversation: str
    tool_call_id: str | None
    model: str | None
    max_turns: int | None
    silent: bool
    output_file: str


AGENT = RecordKind("agent", AgentBody)
AGENT_TYPE = RecordKind("agent_type", AgentTypeBody)
RUNTIME = RecordKind("runtime", RuntimeBody)
BREAKER = RecordKind("breaker", BreakerBody)
THROTTLE = RecordKind("throttle", ThrottleBody)
QUEUE = RecordKind("queue", QueueBody)
WORKSPACE = RecordKind("workspace", WorkspaceBody)
DAG = RecordKind("dag", DagBody)
DEAD = RecordKind("dead", DeadBody)
SUBAGENT = RecordKind("subagent", SubagentBody)
