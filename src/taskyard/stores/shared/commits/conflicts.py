"""Which sets of a wave may not land, once a store has read what they stand on. In a wave, none depends on another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from taskyard.core.changes import Change, ChangeSet, Conflict, Taken, is_late
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.shared.commits.batching import Key
from taskyard.stores.shared.commits.change_sets import owned_key

RecordKey = tuple[str, str, str]  # kind, workspace and id
CheckpointKey = tuple[TaskId, str]
LATE = Conflict("time")


def late(wave: Sequence[ChangeSet], now: Micros) -> dict[int, Conflict]:
    """By the place of the set: those that were decided too long ago for their times to be written."""
    return {place: LATE for place, each in enumerate(wave) if is_late(each, now)}


def records_of(wave: Sequence[ChangeSet]) -> list[RecordKey]:
    return [each[:3] for change_set in wave for each in change_set.records]


def moved_records(wave: Sequence[ChangeSet], versions: Mapping[RecordKey, int]) -> dict[int, Conflict]:
    """By the place of the set, the first that moved. One that has no version is not there."""
    moved = [[each for each in change_set.records if each.version != versions.get(each[:3], 0)] for change_set in wave]
    return {place: Conflict(f"{each[0].kind}:{each[0].id}") for place, each in enumerate(moved) if each}


def checkpoints_of(wave: Sequence[ChangeSet]) -> list[CheckpointKey]:
    return [each[:2] for change_set in wave for each in change_set.checkpoints]


def known_checkpoints(wave: Sequence[ChangeSet], known: Collection[CheckpointKey]) -> dict[int, Conflict]:
    """A step has one result: the first."""
    if not known:
        return {}
    again = [[each for each in change_set.checkpoints if each[:2] in known] for change_set in wave]
    return {place: Conflict(f"checkpoint:{each[0].name}") for place, each in enumerate(again) if each}


def new_ids(wave: Sequence[ChangeSet]) -> list[TaskId]:
    return [task.hot.id for change_set in wave for task in change_set.tasks]


def keys_wanted(wave: Sequence[ChangeSet]) -> list[Key]:
    return [key for change_set in wave for key, _ in _wants(change_set)]


def taken(wave: Sequence[ChangeSet], known: Collection[TaskId], owners: Mapping[Key, TaskId]) -> dict[int, Taken]:
    """By the place of the set: the ids that are known already, and the keys that somebody else owns."""
    if not known and not owners:
        return {}
    by = {place: _taken_of(each, known, owners) for place, each in enumerate(wave)}
    return {place: Taken(owned) for place, owned in by.items() if owned}


def takes_key(change: Change) -> bool:
    """Whether the change makes an idempotency key the task's own that was not before."""
    if change.after.idempotency_key is None:
        return False
    return owned_key(change.after) not in (None, owned_key(change.before))


def _wants(change_set: ChangeSet) -> Iterator[tuple[Key, TaskId]]:
    """The keys that the set makes somebody's own who did not have them, and whose."""
    for change in change_set.changes:
        if takes_key(change) and (key := owned_key(change.after)) is not None:
            yield key, change.after.id
    for hot, _, _ in change_set.tasks:
        if (key := owned_key(hot)) is not None:
            yield key, hot.id


def _taken_of(change_set: ChangeSet, known: Collection[TaskId], owners: Mapping[Key, TaskId]) -> dict[str, TaskId]:
    changed = {change.before.id: owned_key(change.after) for change in change_set.changes}
    kept = {key: task_id for task_id, key in changed.items() if key is not None}
    taken: dict[str, TaskId] = {task.hot.id: task.hot.id for task in change_set.tasks if task.hot.id in known}
    for key, wanted_by in _wants(change_set):
        owner = owners.get(key)
        # Changes come first: a set may cancel the owner of a key and enqueue its successor.
        if owner is None or owner in changed:
            owner = kept.get(key)
        if owner is not None and owner != wanted_by:
            taken[key[1]] = owner
    return taken
