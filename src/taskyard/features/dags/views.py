"""What is answered about graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from taskyard.core.changes import Edge
from taskyard.core.dag import DagStatus
from taskyard.core.task import DagId, Hot, Status, TaskId
from taskyard.core.units import MicroUsd
from taskyard.features.tasks.views import Task


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
