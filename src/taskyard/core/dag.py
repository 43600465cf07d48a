"""Graphs of tasks: no cycles, how much hangs below each task, and how a graph ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from taskyard.core.changes import Count, Edge
from taskyard.core.errors import CycleFound
from taskyard.core.identifiers import blocker_name, dag_counter
from taskyard.core.task import DagId, Status, TaskId


class DagStatus(StrEnum):
    PENDING = "pending"  # nothing was claimed yet
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"  # nothing in it can proceed, and not all ended well
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in (DagStatus.COMPLETED, DagStatus.FAILED, DagStatus.CANCELLED)


def status_of(stored: DagStatus, *, has_begun: bool) -> DagStatus:
    """The state of a graph. What is stored does not say whether a task was claimed: no claim writes it."""
    return stored if stored.is_final or has_begun else DagStatus.PENDING


NEEDED = "needed"
_ENDS = {Status.COMPLETED: "completed", Status.CANCELLED: "cancelled", Status.DEAD_LETTERED: "dead"}


def counted(workspace: str, dag_id: DagId | None, before: Status, after: Status) -> tuple[Count, ...]:
    """How one task's move moves its graph's counters. A lone task has none."""
    if dag_id is None:
        return ()
    was, now = count_word(before), count_word(after)
    if was == now:
        return ()
    # Those that do not move are named too: the store answers with their values, which say how the graph stands.
    return tuple(Count(workspace, name, (word == now) - (word == was)) for word, name in count_names(dag_id).items())


def count_word(status: Status) -> str:
    """The counter that a task in this state stands in."""
    return _ENDS.get(status, "live")


def count_names(dag_id: DagId) -> dict[str, str]:
    return {word: dag_counter(dag_id, word) for word in ("live", "completed", "cancelled", "dead")}


def needed_name(dag_id: DagId) -> str:
    """The counter of the edges that lead from the graph to tasks of others. It never goes down."""
    return dag_counter(dag_id, NEEDED)


def conclusion(*, live: int, completed: int, dead: int, stuck: bool, first_death_fails: bool) -> DagStatus | None:
    """How the graph ended; None while it goes on."""
    if dead and (live == 0 or first_death_fails):
        return DagStatus.FAILED
    if live == 0:
        return DagStatus.COMPLETED if completed else DagStatus.CANCELLED
    # What is left waits for tasks that died or were cancelled, here or in other graphs.
    return DagStatus.FAILED if stuck else None


def topological(parents: Mapping[TaskId, Collection[TaskId]]) -> list[TaskId]:
    """Every task after all it depends on; `CycleFound` names the tasks of one cycle."""
    children = _inverted(parents)
    missing = {task: sum(parent in parents for parent in ups) for task, ups in parents.items()}
    free = deque(task for task, count in missing.items() if count == 0)
    order: list[TaskId] = []
    while free:
        task = free.popleft()
        order.append(task)
        for child in children.get(task, ()):
            missing[child] -= 1
            if missing[child] == 0:
                free.append(child)
    if len(order) < len(parents):
        raise CycleFound(_cycle(parents, {task for task, count in missing.items() if count}))
    return order


def heights(parents: Mapping[TaskId, Collection[TaskId]], finished: Collection[TaskId] = ()) -> dict[TaskId, int]:
    """The levels of the longest chain of unfinished dependents below each task."""
    children = _inverted(parents)
    height: dict[TaskId, int] = {}
    for task in reversed(topological(parents)):
        below = (height[child] + 1 for child in children.get(task, ()) if child not in finished)
        height[task] = max(below, default=0)
    return height


def waits_for(edges: Iterable[Edge]) -> dict[TaskId, set[TaskId]]:
    """For each task what must end before it: what it depends on, and the children a suspended parent waits for."""
    waits: dict[TaskId, set[TaskId]] = {}
    for edge in edges:
        if edge.kind == "depends":
            waits.setdefault(edge.child, set()).add(edge.parent)
        elif edge.kind == "awaited":
            waits.setdefault(edge.parent, set()).add(edge.child)
    return waits


def within(edges: Iterable[Edge], tasks: Collection[TaskId]) -> list[Edge]:
    """The edges that stay among these tasks: the others lead to tasks of other graphs."""
    return [edge for edge in edges if edge.parent in tasks and edge.child in tasks]


def waited_for(blocker: str) -> TaskId | None:
    """The task whose end takes the blocker off; None where it is something else that does."""
    return blocker_name(blocker).task_id


def doomed(waits: Mapping[TaskId, Collection[TaskId]], ended: Collection[TaskId]) -> set[TaskId]:
    """The tasks that wait, directly or not, for one of those that ended without success."""
    dependents = _inverted(waits)
    found: set[TaskId] = set()
    frontier = list(ended)
    while frontier:
        new = [task for task in dependents.get(frontier.pop(), ()) if task not in found]
        found.update(new)
        frontier += new
    return found


def _inverted(parents: Mapping[TaskId, Collection[TaskId]]) -> dict[TaskId, list[TaskId]]:
    children: dict[TaskId, list[TaskId]] = {}
    for task, ups in parents.items():
        for parent in ups:
            children.setdefault(parent, []).append(task)
    return children


def _cycle(parents: Mapping[TaskId, Collection[TaskId]], left: set[TaskId]) -> list[TaskId]:
    # Every task that is left over has a parent that is left over, so walking up must come round.
    above, path = min(left), dict[TaskId, None]()  # a dict, as a cycle may have every task of a large graph in it
    while above not in path:
        path[above] = None
        above = min(parent for parent in parents[above] if parent in left)
    walked = list(path)
    loop = walked[walked.index(above) :]
    return [*reversed(loop), loop[-1]]
