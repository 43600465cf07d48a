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
    waiting = sorted(dag.tasks, key=lambda task: task.seq)
    places = {task.id: place for place, task in enumerate(waiting)}
    above: dict[TaskId, list[TaskId]] = {}
    for edge in sorted(dag.edges, key=lambda edge: places.get(edge.parent, -1)):
        above.setdefault(edge.child, []).append(edge.parent)
    placed: dict[TaskId, OutlinedTask] = {}
    while waiting:
        ready = [each for each in waiting if all(id_ in placed for id_ in above.get(each.id, ()) if id_ in places)]
        for task in ready or waiting[:1]:
            placed[task.id] = OutlinedTask(task, tuple(id_ for id_ in above.get(task.id, ()) if id_ in placed))
            waiting.remove(task)
    return list(placed.values())
