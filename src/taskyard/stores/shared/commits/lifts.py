"""Which lift of a batch removes which blocker, and which tasks become ready then, as `transitions.ready` says.

A store removes the rows and reads which tasks have no blocker left. This module does not access a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from taskyard.core import transitions
from taskyard.core.changes import Change, ChangeSet, Lift, Record
from taskyard.core.task import Hot, TaskId
from taskyard.core.units import Micros, MicroUsd


class PlacedLift(NamedTuple):
    """A lift, and the change set that it is part of."""

    place: int  # of the set in the batch
    at: Micros
    lift: Lift


class TaskLift(NamedTuple):
    """A lift that removes blockers of one task."""

    number: int
    task_id: TaskId
    name: str
    ends_wait: bool


class _RemovedBlocker(NamedTuple):
    number: int  # of the lift that removed the blocker
    wait: int


def collect_lifts(passed: Mapping[int, ChangeSet]) -> list[PlacedLift]:
    return [PlacedLift(place, each.at, lift) for place, each in passed.items() for lift in each.lifts]


class LiftBatch:
    """The lifts of one batch, and the blockers that the store found and removed."""

    def __init__(self, lifts: Sequence[PlacedLift]) -> None:
        self._lifts = lifts
        self._removed: dict[TaskId, list[_RemovedBlocker]] = {}
        self._number_by_name: dict[str, int] = {}
        self.of_tasks: list[TaskLift] = []
        for number, (_, _, (name, task_id, ends_wait)) in enumerate(lifts):
            if task_id is None:
                self._number_by_name.setdefault(name, number)  # the first lift of a name removes all its blockers
            else:
                self.of_tasks.append(TaskLift(number, task_id, name, ends_wait))

    @property
    def names(self) -> list[str]:
        """The names whose blockers are removed from every task."""
        return list(self._number_by_name)

    @property
    def task_ids(self) -> list[TaskId]:
        """The tasks that lost a blocker."""
        return list(self._removed)

    def removed_of_task(self, number: int, task_id: TaskId, wait: int, name: str) -> None:
        """The store removed a blocker for the lift of this number, unless an earlier lift names it too."""
        self._note(min(number, self._number_by_name.get(name, number)), task_id, wait)

    def removed_by_name(self, name: str, task_id: TaskId, wait: int) -> None:
        """The store removed a blocker of this name, which a lift removes from every task."""
        self._note(self._number_by_name[name], task_id, wait)

    def _note(self, number: int, task_id: TaskId, wait: int) -> None:
        self._removed.setdefault(task_id, []).append(_RemovedBlocker(number, wait))

    def make_ready(self, tasks: Iterable[Hot]) -> dict[int, list[Change]]:
        """The changes that make these tasks ready, which have no blocker left.

        They are grouped by the place of the set that removed the last blocker.
        """
        changes: dict[int, list[Change]] = {}
        for number, hot in sorted(((self._last(hot), hot) for hot in tasks), key=lambda each: (each[0], each[1].id)):
            by = self._lifts[number]
            changes.setdefault(by.place, []).append(transitions.ready(hot, now=by.at))
        return changes

    def _last(self, hot: Hot) -> int:
        """The number of the lift that removed the last blocker of the task's current wait."""
        removed = self._removed[hot.id]
        return max((each.number for each in removed if each.wait == hot.wait), default=min(e.number for e in removed))


def make_unparked(chosen: Iterable[TaskId], unblocked: Iterable[Hot], at: Micros) -> list[Change]:
    """The changes that make the chosen tasks ready, as far as they have no blocker left, in the order of the choice."""
    by_id = {hot.id: hot for hot in unblocked}
    return [transitions.ready(by_id[task_id], now=at) for task_id in chosen if task_id in by_id]


def default_reserve_of(workspace: Record | None) -> MicroUsd:
    """What a task of the workspace reserves if its definition names no reserve."""
    reserve = None if workspace is None else workspace.body.get("default_reserve")
    return MicroUsd(reserve if isinstance(reserve, int) else 0)
