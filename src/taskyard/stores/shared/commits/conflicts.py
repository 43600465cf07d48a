"""Which sets of a batch are refused, given what a store has read. The sets of a batch are independent of each other."""

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


def find_late(batch: Sequence[ChangeSet], now: Micros) -> dict[int, Conflict]:
    """The sets that were decided too long ago for their times to be written, by place."""
    return {place: LATE for place, each in enumerate(batch) if is_late(each, now)}


def record_keys(batch: Sequence[ChangeSet]) -> list[RecordKey]:
    return [each[:3] for change_set in batch for each in change_set.records]


def find_moved_records(batch: Sequence[ChangeSet], versions: Mapping[RecordKey, int]) -> dict[int, Conflict]:
    """The first record of each set that has another version in the store, by place. A missing record has version 0."""
    moved = [[each for each in change_set.records if each.version != versions.get(each[:3], 0)] for change_set in batch]
    return {place: Conflict(f"{each[0].kind}:{each[0].id}") for place, each in enumerate(moved) if each}


def checkpoint_keys(batch: Sequence[ChangeSet]) -> list[CheckpointKey]:
    return [each[:2] for change_set in batch for each in change_set.checkpoints]


def find_known_checkpoints(batch: Sequence[ChangeSet], known: Collection[CheckpointKey]) -> dict[int, Conflict]:
    """The sets that write a checkpoint again. A step has one result: the first one written."""
    if not known:
        return {}
    repeated = [[each for each in change_set.checkpoints if each[:2] in known] for change_set in batch]
    return {place: Conflict(f"checkpoint:{each[0].name}") for place, each in enumerate(repeated) if each}


def new_task_ids(batch: Sequence[ChangeSet]) -> list[TaskId]:
    return [task.hot.id for change_set in batch for task in change_set.tasks]


def wanted_keys(batch: Sequence[ChangeSet]) -> list[Key]:
    return [key for change_set in batch for key, _ in _newly_owned(change_set)]


def find_taken(batch: Sequence[ChangeSet], known: Collection[TaskId], owners: Mapping[Key, TaskId]) -> dict[int, Taken]:
    """The ids that exist already and the keys that another task owns, by place of the set."""
    if not known and not owners:
        return {}
    by = {place: _taken_of(each, known, owners) for place, each in enumerate(batch)}
    return {place: Taken(owned) for place, owned in by.items() if owned}


def takes_key(change: Change) -> bool:
    """Whether the task owns an idempotency key after the change that it did not own before."""
    if change.after.idempotency_key is None:
        return False
    return owned_key(change.after) not in (None, owned_key(change.before))


def _newly_owned(change_set: ChangeSet) -> Iterator[tuple[Key, TaskId]]:
    """The keys that tasks own only after the set, each with its task."""
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
    for key, wanted_by in _newly_owned(change_set):
        owner = owners.get(key)
        # The changes of a set apply first: a set may cancel the owner of a key and enqueue its successor.
        if owner is None or owner in changed:
            owner = kept.get(key)
        if owner is not None and owner != wanted_by:
            taken[key[1]] = owner
    return taken
