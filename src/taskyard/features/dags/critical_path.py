"""The chain of tasks that decides how long a graph takes, and what it took and cost. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low

from taskyard.core import dag as dags
from taskyard.core.changes import Edge
from taskyard.core.task import TaskId
from taskyard.core.units import SECOND, Micros, MicroUsd
from taskyard.features.dags.views import CriticalPath
from taskyard.features.tasks.task_rows import TaskInShort

UNKNOWN = SECOND  # of a task of which nothing is known: so the longest chain of such tasks is the path
AWAITED = "awaited"  # the kind of an edge to a child whose parent waits: the parent's time has the child's in it


def critical_path(tasks: Sequence[TaskInShort], edges: Sequence[Edge], now: Micros) -> CriticalPath:
    """The longest chain, first to last. A task that has not ended counts as long as others of its type took."""
    by_id = {task.id: task for task in tasks}
    before: dict[TaskId, list[TaskId]] = {task.id: [] for task in tasks}
    for edge in edges:
        before[edge.child].append(edge.parent)
    worked = {task.id: _worked(task, now) for task in tasks}
    expected = _expected(tasks, worked)
    waited = _waited_for_children(edges, worked)
    until: dict[TaskId, int] = {}  # when each would end, had everything begun at 0 and waited for nothing else
    last_before: dict[TaskId, TaskId | None] = {}
    for task_id in dags.topological(before):
        latest = max(before[task_id], key=until.__getitem__, default=None)
        last_before[task_id] = latest
        own = max(expected[task_id] - waited.get(task_id, 0), 0)
        until[task_id] = own + (0 if latest is None else until[latest])
    path = _chain(max(until, key=until.__getitem__, default=None), last_before)
    return CriticalPath(
        task_ids=path,
        worked=Micros(sum(max(worked[each] - waited.get(each, 0), 0) for each in path)),
        expected=Micros(until[path[-1]] if path else 0),
        cost=MicroUsd(sum(by_id[each].cost for each in path)),
    )


def _worked(task: TaskInShort, now: Micros) -> int:
    return 0 if task.started_at is None else max((task.ended_at or now) - task.started_at, 0)


def _expected(tasks: Sequence[TaskInShort], worked: Mapping[TaskId, int]) -> dict[TaskId, int]:
    ended: dict[str, list[int]] = {}
    for task in tasks:
        if task.ended_at is not None and task.started_at is not None:
            ended.setdefault(task.type, []).append(worked[task.id])
    usual = {type_: median_low(times) for type_, times in ended.items()}
    return {
        task.id: worked[task.id] if task.ended_at is not None else max(usual.get(task.type, UNKNOWN), worked[task.id])
        for task in tasks
    }


def _waited_for_children(edges: Sequence[Edge], worked: Mapping[TaskId, int]) -> dict[TaskId, int]:
    """How much of a parent's time was its longest child's, which stands on the path itself."""
    waited: dict[TaskId, int] = {}
    for edge in edges:
        if edge.kind == AWAITED:
            waited[edge.parent] = max(waited.get(edge.parent, 0), worked[edge.child])
    return waited


def _chain(last: TaskId | None, last_before: Mapping[TaskId, TaskId | None]) -> tuple[TaskId, ...]:
    path: list[TaskId] = []
    while last is not None:
        path.append(last)
        last = last_before[last]
    return tuple(reversed(path))
