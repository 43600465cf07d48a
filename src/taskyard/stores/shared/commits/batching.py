"""Which change sets may land together: those that could as well come one after the other.

In a wave nothing that one set writes is read or written by another, and nothing that one frees is touched by a later
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from taskyard.core import claiming
from taskyard.core.changes import ChangeSet
from taskyard.core.identifiers import blocker_for
from taskyard.core.task import Hot, TaskId
from taskyard.stores.shared.commits.change_sets import owned_key

Key = tuple[str, str]  # workspace and name


class _Reach(NamedTuple):
    """What some sets touch."""

    read: list[TaskId]
    written: list[object]  # tasks, idempotency keys, records, checkpoints
    blocking: list[str]  # names of blockers that are put on
    lifting: list[str]  # names of those that are taken off everything
    parking: list[str]  # names of those that are taken off as far as there is room


class Wave(NamedTuple):
    sets: Sequence[ChangeSet]
    unparks: bool  # the last of them may ease a ceiling that something is parked on


class Apart(NamedTuple):
    """Sets of which none writes what another reads or writes, and the blockers they name."""

    sets: Sequence[ChangeSet]
    lifting: list[str]
    parking: list[str]
    blocking: list[str]


def apart(sets: Sequence[ChangeSet]) -> Apart:
    """As many of the first sets as are apart by what they say themselves: at least one."""
    reach = _reach(sets)
    if not _is_apart(reach):
        sets = sets[: _apart(sets)]
        reach = _reach(sets)
    return Apart(sets, reach.lifting, reach.parking, reach.blocking)


def wave(those: Apart, blocked: dict[str, list[TaskId]], parked: set[str]) -> Wave:
    """As many of these as stay apart, given what the names they lift block now, and which they ease block anything."""
    parked = parked.union(those.blocking)  # what one set itself puts aside
    if blocked or not parked.isdisjoint(those.parking):
        return _undisturbed(those.sets, blocked, parked)
    return Wave(those.sets, unparks=False)


def parking(change_set: ChangeSet) -> list[tuple[Key, str]]:
    """The ceilings that may have more room after the set and that tasks may be parked on, with the blocker's name."""
    eased = [each[:2] for each in change_set.spends if claiming.eases(each)]
    eased += [each[:2] for each in change_set.ceilings]
    named = [(key, name) for key in eased if (name := blocker_for(key[1])) is not None]
    return sorted(set(named)) if len(named) > 1 else named


def _reach(sets: Sequence[ChangeSet]) -> _Reach:
    """Of all of them at once: nearly always they are apart, and each need not be looked at alone."""
    written: list[object] = [row.before.id for each in sets for row in each.changes]
    written += [row.hot.id for each in sets for row in each.tasks]
    written += [key for each in sets for row in each.changes for key in _keys(row.before, row.after)]
    written += [key for each in sets for row in each.tasks for key in _keys(row.hot, row.hot)]
    written += [row.task_id for each in sets for row in each.blockers]
    written += [row.task_id for each in sets for row in each.lifts if row.task_id is not None]
    written += [row.task_id for each in sets for row in each.rescores]
    written += [row.id for each in sets for row in each.redefined]
    written += [row[:3] for each in sets for row in each.records]
    written += [row[:2] for each in sets for row in each.checkpoints]
    written += [task_id for each in sets for task_id in each.removals]
    return _Reach(
        [row.task_id for each in sets for row in each.expects],
        written,
        [row.name for each in sets for row in each.blockers],
        [row.name for each in sets for row in each.lifts if row.task_id is None],
        [name for each in sets for _, name in parking(each)],
    )


def _keys(before: Hot, after: Hot) -> Iterable[Key]:
    """The idempotency keys that are the task's own before a step or after it."""
    if before.idempotency_key is None and after.idempotency_key is None:
        return ()
    return {key for hot in (before, after) if (key := owned_key(hot)) is not None}


def _is_apart(reach: _Reach) -> bool:
    """Whether nothing is named twice that only one may touch. It may be one set that does so: then look closer."""
    written = set(reach.written)
    return (
        len(written) == len(reach.written)
        and written.isdisjoint(reach.read)
        and (not reach.blocking or {*reach.lifting, *reach.parking}.isdisjoint(reach.blocking))
    )


def _apart(sets: Sequence[ChangeSet]) -> int:
    """How many of the first sets are apart from all before them: at least one."""
    seen = tuple(set[object]() for _ in _Reach._fields)
    read, written, blocking, lifted, parked = seen
    for place, each in enumerate(sets):
        reach = _reach([each])
        if not (
            written.isdisjoint(reach.written)
            and read.isdisjoint(reach.written)
            and written.isdisjoint(reach.read)
            and lifted.isdisjoint(reach.blocking)
            and parked.isdisjoint(reach.blocking)
            and blocking.isdisjoint(reach.lifting)
            and blocking.isdisjoint(reach.parking)
        ):
            return place
        for before, more in zip(seen, reach, strict=True):
            before.update(more)
    return len(sets)


def _undisturbed(sets: Sequence[ChangeSet], blocked: dict[str, list[TaskId]], parked: set[str]) -> Wave:
    """As many of the first sets as touch nothing that one before them lifts; one that un-parks is the last."""
    lifted: set[object] = set()
    for place, each in enumerate(sets):
        reach = _reach([each])
        if not (lifted.isdisjoint(reach.read) and lifted.isdisjoint(reach.written)):
            return Wave(sets[:place], unparks=False)
        if not parked.isdisjoint(reach.parking):
            return Wave(sets[: place + 1], unparks=True)
        for name in reach.lifting:
            lifted.update(blocked.get(name, ()))
    return Wave(sets, unparks=False)
