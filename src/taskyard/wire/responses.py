"""What the server answers, as the OpenAPI document shows it. Nothing is checked against these while serving.

That answers are as the document says is shown by tests that generate requests from it.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from taskyard.api.openapi import answer, model
from taskyard.definition.error_view import ErrorView
from taskyard.definition.view import About
from taskyard.features.attempts.views import Receipt
from taskyard.features.tasks.rows import TaskRow
from taskyard.wire.shapes import (
    AttemptTask,
    HeldAttemptTask,
    HeldTask,
    Response,
    Task,
    TaskDetails,
    TaskInShort,
)

_ROW: Any = model(TaskRow)
_RECEIPT: Any = model(Receipt)
_REFUSAL: Any = answer("Refusal", error=ErrorView)


class Created(Response):
    task: Task | AttemptTask
    created: bool = Field(description="False: a live task had the key or the id, and is the answer.")


class CreatedMany(Response):
    tasks: list[Created]


TaskPage = answer(
    "TaskPage",
    tasks=list[Task] | list[_ROW] | list[AttemptTask],
    cursor=Annotated[int | None, About("Of the next page; null on the last.")],
    total=Annotated[int | None, About("How many tasks match, counted up to 1,000; null where `short` is asked for.")],
    more=Annotated[bool | None, About("Whether there are more than `total`; null where `short` is asked for.")],
)


class Claimed(Response):
    tasks: list[HeldTask] | list[HeldAttemptTask]


Outcomes = answer(
    "Outcomes",
    results=list[_RECEIPT | _REFUSAL],
    tasks=Annotated[list[HeldTask], About("What the claim in the same call took.")],
)


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
