"""What retention removes: whole DAGs and lone tasks that ended long ago and that no live task still needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from math import isfinite
from typing import NamedTuple

from taskyard.core.changes import Edge
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Hot, Status, TaskId, dag_of

DEFAULT_DAYS = 7.0  # where nobody has given another number
MOST_DAYS = 36_500
SMALL_PIECE = 250  # tasks, where others work meanwhile: each of their commits may have to wait for a piece
BESIDE_OTHERS = 2_100.0  # finished tasks removed a second, where others work meanwhile: somewhat above what is promised
KEPT_COUNTS = 0.25  # of a removed task: one that is looked at and kept takes about so much of the time
MOST_CREDIT = BESIDE_OTHERS  # tasks that pruning may be behind its rate and make up for: a second of it
LEAST_REST = 0.5  # of the time that a piece took: others have a third of the time for themselves


def checked_days(days: float) -> float:
    if not isfinite(days) or not 0 <= days <= MOST_DAYS:
        raise InvalidInput("retention_days", f"must be from 0 to {MOST_DAYS}")
    return float(days)


def piece_size(most: int, *, others_work: bool, is_behind: bool) -> int:
    """How many finished tasks the next piece looks at.

    Pruning that is behind its rate waits for others at each step of a piece, and a larger piece has no more steps.
    """
    return min(most, SMALL_PIECE) if others_work and not is_behind else most


def debt_after(debt: float, *, removed: int, kept: int, passed: float) -> float:
    """How many tasks pruning is ahead of its rate beside others, after a piece; below 0: behind it.

    `debt` is that of the piece before, `passed` the seconds since it was counted. A second of what is behind is made
    up for, so that the rate holds over time and not only within a piece.
    """
    return max(debt - passed * BESIDE_OTHERS, -MOST_CREDIT) + removed + kept * KEPT_COUNTS


def rest_after(debt: float, took: float) -> float:
    """Seconds that pruning rests beside others after a piece that took so long.

    Until its debt is worked off, however quick it is, and half as long as the piece took, however slow.
    """
    return max(debt / BESIDE_OTHERS, LEAST_REST * took)


def is_plain(hot: Hot) -> bool:
    """Whether nothing but the task and its history is removed with it, and nobody waits for a decision about it."""
    return hot.dag_id is None and not hot.traits and hot.status is not Status.DEAD_LETTERED


class Doomed(NamedTuple):
    plain: list[Hot]  # tasks that nothing else is removed with
    groups: list[list[Hot]]


def groups(tasks: Iterable[Hot]) -> dict[str, list[Hot]]:
    """The tasks by what is removed together: a DAG whole, a lone task by itself."""
    found: dict[str, list[Hot]] = {}
    for hot in tasks:
        found.setdefault(dag_of(hot), []).append(hot)
    return found


def dependents(tasks: Mapping[TaskId, Hot], edges: Iterable[Edge]) -> set[TaskId]:
    """The tasks that depend on one of these and are not among them."""
    return {edge.child for edge in edges if edge.kind == "depends" and edge.child not in tasks}


def needed(edges: Iterable[Edge], others: Mapping[TaskId, Hot]) -> set[TaskId]:
    """The tasks that a live task of another DAG depends on.

    `edges` are those that leave the tasks, `others` the tasks found by `dependents`.
    """
    live = {task_id for task_id, hot in others.items() if not hot.status.is_final}
    return {edge.parent for edge in edges if edge.kind == "depends" and edge.child in live}


def unneeded(tasks: Iterable[Hot], kept: AbstractSet[TaskId]) -> Doomed:
    """What may go: a task that is to be kept keeps all that would go with it."""
    plain, others = list[Hot](), list[Hot]()
    for hot in tasks:
        (plain if is_plain(hot) else others).append(hot)
    return Doomed(
        [hot for hot in plain if hot.id not in kept] if kept else plain,
        [group for group in groups(others).values() if not any(hot.id in kept for hot in group)],
    )
