"""Which change sets of a commit can be written as one batch: those that do not depend on each other.

In a batch, no set reads or writes what another set writes, and no set touches a task that an earlier set unblocks. The
result is therefore the same as if the sets were written one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from taskyard.core import claiming
from taskyard.core.changes import ChangeSet, Expect
from taskyard.core.identifiers import blocker_for
from taskyard.core.task import Hot, TaskId
from taskyard.stores.shared.commits.change_sets import owned_key

Key = tuple[str, str]  # workspace and name


class _Footprint(NamedTuple):
    """Everything that some sets touch."""

    read: list[TaskId]
    written: list[object]  # tasks, idempotency keys, records, checkpoints
    added_blockers: list[str]  # names of the blockers that the sets add
    lifted_blockers: list[str]  # names of the blockers that the sets remove from every task
    parking_blockers: list[str]  # names of the blockers that the sets remove as far as a ceiling has room


class Batch(NamedTuple):
    sets: Sequence[ChangeSet]
    unparks: bool  # the last set may ease a ceiling that tasks are parked on


class Independent(NamedTuple):
    """Sets of which none writes what another reads or writes, and the blockers they name."""

    sets: Sequence[ChangeSet]
    lifted_blockers: list[str]
    parking_blockers: list[str]
    added_blockers: list[str]


def take_independent(sets: Sequence[ChangeSet]) -> Independent:
    """As many of the first sets as are independent by their own contents: at least one."""
    if len(sets) > 1 and not _is_independent(_footprint_of(sets)):
        sets = sets[: _count_independent(sets)]
    return Independent(
        sets,
        [row.name for each in sets for row in each.lifts if row.task_id is None],
        [name for each in sets for _, name in eased_ceilings(each)],
        [row.name for each in sets for row in each.blockers],
    )


def take_batch(independent: Independent, blocked: dict[str, list[TaskId]], parked: set[str]) -> Batch:
    """As many of these sets as stay independent, given the stored blockers.

    `blocked` has the tasks that each lifted name blocks now; `parked` has the names that block at least one task.
    """
    parked = parked.union(independent.added_blockers)  # a set of the batch may park tasks itself
    if blocked or not parked.isdisjoint(independent.parking_blockers):
        return _undisturbed(independent.sets, blocked, parked)
    return Batch(independent.sets, unparks=False)


def eased_ceilings(change_set: ChangeSet) -> list[tuple[Key, str]]:
    """The ceilings that may have more room after the set and that tasks can be parked on, with the blocker's name."""
    eased = [each[:2] for each in change_set.spends if claiming.eases(each)]
    eased += [each[:2] for each in change_set.ceilings]
    named = [(key, name) for key in eased if (name := blocker_for(key[1])) is not None]
    return sorted(set(named)) if len(named) > 1 else named


def _footprint_of(sets: Sequence[ChangeSet]) -> _Footprint:
    """The footprint of all sets at once: they are nearly always independent, and need no look one by one."""
    written: list[object] = [row.before.id for each in sets for row in each.changes]
    written += [row.hot.id for each in sets for row in each.tasks]
    written += [key for each in sets for row in each.changes for key in _owned_keys(row.before, row.after)]
    written += [key for each in sets for row in each.tasks for key in _owned_keys(row.hot, row.hot)]
    written += [row.task_id for each in sets for row in each.blockers]
    written += [row.task_id for each in sets for row in each.lifts if row.task_id is not None]
    written += [row.task_id for each in sets for row in each.rescores]
    written += [row.id for each in sets for row in each.redefined]
    written += [row[:3] for each in sets for row in each.records]
    written += [row[:2] for each in sets for row in each.checkpoints]
    written += [task_id for each in sets for task_id in each.removals]
    return _Footprint(
        [row.task_id for each in sets for row in _expects_of_others(each)],
        written,
        [row.name for each in sets for row in each.blockers],
        [row.name for each in sets for row in each.lifts if row.task_id is None],
        [name for each in sets for _, name in eased_ceilings(each)],
    )


def _expects_of_others(change_set: ChangeSet) -> Iterable[Expect]:
    """The tasks that a set relies on and does not remove itself."""
    if not change_set.removals:
        return change_set.expects
    removed = set(change_set.removals)
    return [row for row in change_set.expects if row.task_id not in removed]


def _owned_keys(before: Hot, after: Hot) -> Iterable[Key]:
    """The idempotency keys that the task owns before a change or after it."""
    if before.idempotency_key is None and after.idempotency_key is None:
        return ()
    return {key for hot in (before, after) if (key := owned_key(hot)) is not None}


def _is_independent(footprint: _Footprint) -> bool:
    """Whether nothing is named twice that only one set may touch.

    A single set may name something twice. Then the answer is False, and the sets are compared one by one.
    """
    written = set(footprint.written)
    removed = (*footprint.lifted_blockers, *footprint.parking_blockers)
    return (
        len(written) == len(footprint.written)
        and written.isdisjoint(footprint.read)
        and (not footprint.added_blockers or set(removed).isdisjoint(footprint.added_blockers))
    )


def _count_independent(sets: Sequence[ChangeSet]) -> int:
    """How many of the first sets are independent of all sets before them: at least one."""
    seen = tuple(set[object]() for _ in _Footprint._fields)
    read, written, added, lifted, parking = seen
    for place, each in enumerate(sets):
        footprint = _footprint_of([each])
        if not (
            written.isdisjoint(footprint.written)
            and read.isdisjoint(footprint.written)
            and written.isdisjoint(footprint.read)
            and lifted.isdisjoint(footprint.added_blockers)
            and parking.isdisjoint(footprint.added_blockers)
            and added.isdisjoint(footprint.lifted_blockers)
            and added.isdisjoint(footprint.parking_blockers)
        ):
            return place
        for before, more in zip(seen, footprint, strict=True):
            before.update(more)
    return len(sets)


def _undisturbed(sets: Sequence[ChangeSet], blocked: dict[str, list[TaskId]], parked: set[str]) -> Batch:
    """As many of the first sets as touch no task that an earlier set unblocks. A set that un-parks comes last."""
    unblocked: set[object] = set()
    for place, each in enumerate(sets):
        footprint = _footprint_of([each])
        if not (unblocked.isdisjoint(footprint.read) and unblocked.isdisjoint(footprint.written)):
            return Batch(sets[:place], unparks=False)
        if not parked.isdisjoint(footprint.parking_blockers):
            return Batch(sets[: place + 1], unparks=True)
        for name in footprint.lifted_blockers:
            unblocked.update(blocked.get(name, ()))
    return Batch(sets, unparks=False)
