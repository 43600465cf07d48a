"""What every store asks of a change set before it looks at a row, and answers when it has landed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from taskyard.core.changes import Change, ChangeSet, Committed, Conflict, Taken
from taskyard.core.task import KEY_DEAD, Hot, Status, TaskId

Answer = Committed | Conflict | Taken


def owned_key(hot: Hot) -> tuple[str, str] | None:
    """The idempotency key that is the task's own for as long as it lives."""
    if hot.idempotency_key is None or hot.status in KEY_DEAD:
        return None
    return hot.workspace, hot.idempotency_key


def refuse_nonsense(change_set: ChangeSet) -> None:
    """A set at odds with itself is a mistake of the program, not a conflict: nothing of its batch is written."""
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


def readied(change_set: ChangeSet, freed: Iterable[Change]) -> tuple[TaskId, ...]:
    """What the set made claimable: its new tasks, those it changed, and those that lifting freed."""
    new = [task.hot.id for task in change_set.tasks if task.hot.status is Status.READY]
    steps = chain(change_set.changes, freed)
    return (*new, *(after.id for before, after, *_ in steps if Status.READY is after.status is not before.status))


def counted(
    sets: Sequence[ChangeSet], answers: Sequence[Answer], values: Mapping[tuple[str, str], int]
) -> list[Answer]:
    """The answers with the counters that each set moved, as they are after the batch."""
    return [
        answer._replace(counts={count.name: values[count.workspace, count.name] for count in each.counts})
        if isinstance(answer, Committed)
        else answer
        for each, answer in zip(sets, answers, strict=True)
    ]


def rows_of(sets: Sequence[ChangeSet]) -> int:
    """About how many rows the sets write: how long that may take goes with it."""
    return sum(len(each.changes) + len(each.tasks) + len(each.removals) for each in sets)
