"""What is answered about memory."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from taskyard.core.task import AgentId, Status, TaskId
from taskyard.definition.view import CLOSED, About, Time, view


@view
class MemoryHit:
    """A finished task that is like what was asked about, and how it ended."""

    task_id: TaskId
    type: str
    title: str
    score: Annotated[float, About("How near it is, at most 1: the cosine of the angle between the two vectors.")]
    status: Annotated[Status, About("completed or dead_lettered; another where somebody has taken it up again.")]
    ended_at: Time
    agent: Annotated[AgentId | None, About("Whose attempt was the last.")]
    reason: Annotated[str | None, About("Of a task that died: why its last attempt failed.")]
    error: Annotated[str | None, About("Of a task that died: what went wrong, in words.")]
    summary: Annotated[str | None, About("Of a completed task: the beginning of its output, or its own summary.")]


@view
class MemoryPolicyView:
    """What a workspace remembers, where a task does not say so itself."""

    SCHEMA = "MemoryPolicy"

    remember: Annotated[bool | None, About("Whether finished tasks are remembered; null: as the preset has it.")]
    types: Annotated[dict[str, bool], About("By type of task, where it differs.")]


@view
class MemoryState:
    """How far the embedding worker is."""

    embedder: Annotated[str | None, About("The name of the embedder; null: none is configured, nothing is embedded.")]
    vectors: Annotated[int, About("Tasks of this workspace that can be found.")]
    other_vectors: Annotated[int, About("Vectors of other embedders, which are not searched.")]
    waiting_since: Annotated[Time | None, About("Of the first end of a task that it has not looked at; null: none.")]
    problem: Annotated[str | None, About("Why the embedder failed the last time.")]
    refused: Annotated[tuple[TaskId, ...], About("The latest tasks whose texts the embedder never takes.")]


@view
class AgentEvent:
    """The end of a task, as it stands in the log."""

    id: Annotated[int, About("The number of the event in the log.")]
    task_id: TaskId
    event: str
    agent_name: Annotated[AgentId | None, About("Whose attempt it was.")]
    attempt: int | None
    created_at: Time


class EmbeddingStatus(StrEnum):
    PENDING = "pending"  # the embedding worker has not come to it yet
    COMPLETED = "completed"
    FAILED = "failed"  # the embedder never takes its text


@view
class EmbeddingJob:
    """What the embedding worker has to do, or has done, about the end of a task."""

    id: Annotated[int, About("The number of the event in the log.")]
    task_id: TaskId
    embedder: str
    status: Annotated[EmbeddingStatus, CLOSED]
    error: str | None
    created_at: Time
