"""What every store checks in a change set before it reads a row, and what it answers after the commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from taskyard.core.changes import Change, ChangeSet, Committed, Conflict, Taken
from taskyard.core.task import KEY_DEAD, Hot, Status, TaskId

Answer = Committed | Conflict | Taken


def owned_key(hot: Hot) -> tuple[str, str] | None:
    """The idempotency key that the task owns as long as it lives."""
    if hot.idempotency_key is None or hot.status in KEY_DEAD:
        return None
    return hot.workspace, hot.idempotency_key


def parts_in(sets: Sequence[ChangeSet]) -> frozenset[str]:
    """The fields in which at least one of the sets has something: nothing is asked or written for the others."""
    return frozenset(
        name for name, column in zip(ChangeSet._fields, zip(*sets, strict=True), strict=True) if any(column)
    )


def check_consistency(change_set: ChangeSet) -> None:
    """Refuse a set that contradicts itself: a bug of the caller and no conflict, so nothing is written."""
    if len(change_set.changes) + len(change_set.tasks) + len(change_set.records) < 2:
        return
    for what, names in (
        ("changed twice", [change.before.id for change in change_set.changes]),
        ("written twice", [(record.kind, record.workspace, record.id) for record in change_set.records]),
        ("new twice", [task.hot.id for task in change_set.tasks]),
        ("taken twice", [key for task in change_set.tasks if (key := owned_key(task.hot)) is not None]),
    ):
        if len(names) != len(set(names)):
            raise ValueError(f"in one change set, something is {what}: {names}")


def newly_ready(change_set: ChangeSet, unblocked: Iterable[Change]) -> tuple[TaskId, ...]:
    """The tasks that the set made ready: new tasks, changed tasks, and tasks that its lifts unblocked."""
    new = [task.hot.id for task in change_set.tasks if task.hot.status is Status.READY]
    steps = chain(change_set.changes, unblocked)
    return (*new, *(after.id for before, after, *_ in steps if Status.READY is after.status is not before.status))


def add_counts(
    sets: Sequence[ChangeSet], answers: Sequence[Answer], values: Mapping[tuple[str, str], int]
) -> list[Answer]:
    """Add to each answer the counters that its set moved, with their values after the commit."""
    return [
        answer._replace(counts={count.name: values[count.workspace, count.name] for count in each.counts})
        if isinstance(answer, Committed)
        else answer
        for each, answer in zip(sets, answers, strict=True)
    ]


def count_rows(sets: Sequence[ChangeSet]) -> int:
    """About how many rows the sets write. The time limit of the commit grows with it."""
    return sum(len(each.changes) + len(each.tasks) + len(each.removals) for each in sets)
