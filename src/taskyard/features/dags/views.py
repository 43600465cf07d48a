"""What is answered about graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from taskyard.core.changes import Edge, Limit, Record
from taskyard.core.dag import DagStatus
from taskyard.core.record_kinds import DAG
from taskyard.core.task import DagId, Status, TaskId
from taskyard.core.units import MicroUsd
from taskyard.definition.view import About, Length, Money, Named, Time, view
from taskyard.features.tasks.task_rows import TaskInShort
from taskyard.features.tasks.views import Task


@view
class Dag:
    """A graph that was submitted: its id, and its tasks by the names they were submitted under."""

    SCHEMA = "Submitted"

    id: Annotated[DagId, Named("dag_id")]
    tasks: Annotated[Mapping[str, Task], About("By the names they were submitted under.")]


@view
class CriticalPath:
    """The chain of tasks that decides how long a graph takes."""

    task_ids: Annotated[tuple[TaskId, ...], About("First to last.")]
    worked: Annotated[Length, About("That its tasks have worked so far.")]
    expected: Annotated[Length, About("The same when all is done: as long as others of the same types took.")]
    cost: Money


@view
class DagView:
    """A graph, as it was when it was read: its tasks in short, whose whole documents are a call each."""

    id: DagId
    title: str
    status: DagStatus
    counts: Mapping[Status, int]
    tasks: tuple[TaskInShort, ...]
    edges: tuple[Edge, ...]
    roots: tuple[TaskId, ...]
    leaves: tuple[TaskId, ...]
    budget_ceiling: Money | None
    spent: Money
    reserved: Money
    created_by: str
    tags: tuple[str, ...]
    critical_path: CriticalPath


@view
class TypeEstimate:
    """What tasks of one type come to: means of the last 100 that ended."""

    type: str
    tasks: Annotated[int, About("How many of the graph are of this type.")]
    seen: Annotated[int, About("How many ended tasks the means are of; 0: there is no history.")]
    cost: Annotated[Money | None, About("Of one task.")]
    seconds: Annotated[float | None, About("From the start of its last attempt to its completion.")]


@view
class DagEstimate:
    """What a graph would come to by the history of its types. Nothing was stored."""

    tasks: int
    cost: Annotated[Money, About("Of all tasks whose types have a history.")]
    seconds: Annotated[float, About("Along the longest chain, where nothing waits for an agent.")]
    chain: Annotated[tuple[str, ...], About("The names of the tasks of the longest chain, in order.")]
    unknown: Annotated[tuple[str, ...], About("Types without a history.")]
    is_over_ceiling: Annotated[bool, About("Whether the cost is above the graph's `budget_ceiling_usd`.")]
    types: tuple[TypeEstimate, ...]


@view
class DagInbox:
    """The inbox that gets items about what becomes of a graph."""

    agent: str
    conversation: str
    about: tuple[str, ...]


@view
class DagInShort:
    """A graph in a list: what is stored of it and of its money, without its tasks."""

    id: DagId
    title: str
    status: DagStatus
    preset: str
    created_by: str
    created_at: Time | None
    ended_at: Time | None
    tags: tuple[str, ...]
    spent: Money
    budget_ceiling: Money | None
    inbox: Annotated[DagInbox | None, About("The inbox that gets items about it.")]


class DagPage(NamedTuple):
    """Graphs of a list, and where the next page begins."""

    dags: list[DagInShort]
    cursor: Annotated[str | None, About("Of the next page; null on the last.")]


def dag_in_short(record: Record, limit: Limit | None, status: DagStatus) -> DagInShort:
    body = DAG.of(record)
    inbox = body.get("inbox")
    return DagInShort(
        id=DagId(record.id),
        title=body["title"],
        status=status,
        preset=body["preset"],
        created_by=body["created_by"],
        created_at=body["created_at"],
        ended_at=body["ended_at"],
        tags=tuple(body["tags"]),
        spent=MicroUsd(limit.spent if limit else 0),
        budget_ceiling=None if limit is None or limit.ceiling is None else MicroUsd(limit.ceiling),
        inbox=None if inbox is None else DagInbox(inbox["agent"], inbox["conversation"], tuple(inbox["about"])),
    )
