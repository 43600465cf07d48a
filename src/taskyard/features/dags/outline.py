"""A graph as a tree: where each task stands, for whoever draws one."""

from __future__ import annotations

from typing import NamedTuple

from taskyard.core.task import TaskId
from taskyard.features.dags.views import DagView
from taskyard.features.tasks.task_rows import TaskInShort

DEEPEST_DRAWN = 6  # levels of a tree, each four columns wide; what is deeper stands beside what it comes after


class OutlinedTask(NamedTuple):
    """A task, and what it depends on or was spawned by: it stands under the last of them."""

    task: TaskInShort
    parents: tuple[TaskId, ...]


def outline(dag: DagView) -> list[OutlinedTask]:
    """Every task of a graph, each after all that it stands under."""
    tasks = {task.id: task for task in sorted(dag.tasks, key=lambda task: task.seq)}
    places = {task_id: place for place, task_id in enumerate(tasks)}
    above: dict[TaskId, list[TaskId]] = {task_id: [] for task_id in tasks}
    below: dict[TaskId, list[TaskId]] = {}
    for edge in sorted(dag.edges, key=lambda edge: places[edge.parent]):
        if edge.parent not in above[edge.child]:
            above[edge.child].append(edge.parent)
            below.setdefault(edge.parent, []).append(edge.child)
    missing = {task_id: len(parents) for task_id, parents in above.items()}
    level = [task_id for task_id, count in missing.items() if not count]
    placed: list[OutlinedTask] = []
    while level:  # one after the other: a graph may have ten thousand of them
        placed += [OutlinedTask(tasks[task_id], tuple(above[task_id])) for task_id in level]
        free: list[TaskId] = []
        for child in (child for task_id in level for child in below.get(task_id, ())):
            missing[child] -= 1
            if not missing[child]:
                free.append(child)
        level = sorted(free, key=places.__getitem__)
    return placed
