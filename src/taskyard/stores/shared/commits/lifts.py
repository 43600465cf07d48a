"""Taking blockers off: which lift of a wave takes which row, and what is ready then, as `transitions.ready` says.

A store removes the rows and reads which tasks have none left; nothing here speaks to one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from taskyard.core import transitions
from taskyard.core.changes import Change, ChangeSet, Lift, Record
from taskyard.core.task import Hot, TaskId
from taskyard.core.units import Micros, MicroUsd


class Lifted(NamedTuple):
    """A lift, and the set it came with."""

    place: int  # of its set in the wave
    at: Micros
    lift: Lift


class Aim(NamedTuple):
    """A lift off one task."""

    number: int
    task_id: TaskId
    name: str
    ends_wait: bool


class _Hit(NamedTuple):
    number: int  # of the lift that took the row
    wait: int


def lifts_of(passed: Mapping[int, ChangeSet]) -> list[Lifted]:
    return [Lifted(place, each.at, lift) for place, each in passed.items() for lift in each.lifts]


class Lifting:
    """The lifts of one wave, and the rows they were found to take."""

    def __init__(self, lifts: Sequence[Lifted]) -> None:
        self._lifts = lifts
        self._hits: dict[TaskId, list[_Hit]] = {}
        self._named: dict[str, int] = {}
        self.aimed: list[Aim] = []
        for number, (_, _, (name, task_id, ends_wait)) in enumerate(lifts):
            if task_id is None:
                self._named.setdefault(name, number)  # the first takes all there is
            else:
                self.aimed.append(Aim(number, task_id, name, ends_wait))

    @property
    def named(self) -> list[str]:
        """The blockers that are taken off everything."""
        return list(self._named)

    @property
    def hit(self) -> list[TaskId]:
        """The tasks that lost a blocker."""
        return list(self._hits)

    def took_aimed(self, number: int, task_id: TaskId, wait: int, name: str) -> None:
        self._took(min(number, self._named.get(name, number)), task_id, wait)

    def took_named(self, name: str, task_id: TaskId, wait: int) -> None:
        self._took(self._named[name], task_id, wait)

    def _took(self, number: int, task_id: TaskId, wait: int) -> None:
        self._hits.setdefault(task_id, []).append(_Hit(number, wait))

    def freed(self, tasks: Iterable[Hot]) -> dict[int, list[Change]]:
        """These have no blocker left: how each becomes ready, by the place of the set that took its last one."""
        changes: dict[int, list[Change]] = {}
        for number, hot in sorted(((self._last(hot), hot) for hot in tasks), key=lambda each: (each[0], each[1].id)):
            by = self._lifts[number]
            changes.setdefault(by.place, []).append(transitions.ready(hot, now=by.at))
        return changes

    def _last(self, hot: Hot) -> int:
        """The lift that took the last blocker of the present wait."""
        hits = self._hits[hot.id]
        return max((hit.number for hit in hits if hit.wait == hot.wait), default=min(hit.number for hit in hits))


def unparked(chosen: Iterable[TaskId], free: Iterable[Hot], at: Micros) -> list[Change]:
    """How those of the chosen that have no blocker left become ready, in the order of the choice."""
    freed = {hot.id: hot for hot in free}
    return [transitions.ready(freed[task_id], now=at) for task_id in chosen if task_id in freed]


def default_reserve(workspace: Record | None) -> MicroUsd:
    """What a task of the workspace sets aside that says nothing of its own."""
    reserve = None if workspace is None else workspace.body.get("default_reserve")
    return MicroUsd(reserve if isinstance(reserve, int) else 0)
