"""What may be asked of a task, as callers name it: the one list of its fields that are put in.

`enqueue` takes these by name, a batch or a graph as mappings, and the server makes its request model from them. What a
field may hold is decided in `definition.fields`, once, for every way in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict

from taskyard.definition.view import About

Amount = Annotated[str | int | float | Decimal, About("Dollars, exactly: a decimal text, or a number.")]
Moment = str | datetime


class TaskConditions(TypedDict, total=False):
    """What a task must have to be listed. What is absent or None leaves nothing out."""

    queue: str | None
    agent: str | None
    subject: str | None
    dag_id: str | None
    parent_id: str | None
    tag: str | None
    text: str | None
    reason: Annotated[str | None, About("That an attempt at it failed for.")]


class TaskSelection(TaskConditions, total=False):
    """Which tasks a board or a report is about: those of one of the types."""

    type: str | Sequence[str]


class TaskFilter(TaskSelection, total=False):
    """Which tasks a list, a count or a bulk action is about: also those in one of the states, put in within a time."""

    status: str | Sequence[str]
    since: Annotated[str | None, About("Put in at this time or later: ISO 8601 with a zone.")]
    until: Annotated[str | None, About("Put in before this time.")]


class TaskFields(TypedDict, total=False):
    """A task as it is put in: the fields of a task, those of `spec` and `spec.constraints` also by their own names.

    A preset's own names for them are taken too, where the queue has that preset.
    """

    id: Annotated[str | None, About("Minted by the caller, it makes a repeated call harmless.")]
    idempotency_key: str | None
    dedup: Literal["payload", "explicit", "subject", "none"] | None
    queue: str | None
    dag_id: Annotated[str | None, About("An existing DAG that it is put into.")]
    parent_id: Annotated[str | None, About("The task that it was made for.")]
    rerun_of: Annotated[str | None, About("The ended task that it does again.")]
    title: str | None
    agent: Annotated[str | None, About("The agent it is for, by id or by type.")]
    subject: Annotated[str | None, About("What it is about, such as issue:42.")]
    spec: Mapping[str, Any] | None
    prompt: str | None
    payload: Any
    context_refs: Sequence[str] | None
    max_cost_usd: Amount | None
    max_duration_sec: int | None
    required_capabilities: Sequence[str] | None
    model_preferences: Sequence[str] | None
    fallback_models: Sequence[str] | None
    priority: int | None
    priority_boost_per_minute: Amount | None
    deadline: Annotated[Moment | None, About("ISO 8601 with a zone.")]
    run_after: Moment | None
    expires_at: Moment | None
    depends_on: Sequence[str] | None
    concurrency_key: str | None
    coalescable: bool | None
    max_attempts: int | None
    retry: Mapping[str, Any] | None
    timeouts: Mapping[str, Any] | None
    output: Mapping[str, Any] | None
    session: Mapping[str, Any] | None
    trigger: Mapping[str, Any] | None
    tags: Sequence[str] | None
    remember: bool | None
    callback: str | None
    variant: str | None
    service: Literal["standard", "batch"] | None
    trace: Any


class TaskRequest(TaskFields, total=False):
    """A task in a batch or in a graph, where its type and its name are fields too."""

    type: Annotated[str | None, About("code, research, …; a preset may have another name for it.")]
    name: Annotated[str | None, About("In a DAG: what others name it by in `depends_on`.")]
