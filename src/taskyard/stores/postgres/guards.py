"""Which sets of a wave may not land, and why. All are looked at together: in a wave, none depends on another.

Everything that a guard has seen stays as it is until the transaction ends: its row is locked, or it is new and a unique
index refuses a second one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskyard.core.changes import Change, ChangeSet, Conflict, Taken
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.postgres.statements import columns
from taskyard.stores.postgres.transaction import Transaction
from taskyard.stores.sets import owned_key
from taskyard.stores.waves import Key

Stored = dict[TaskId, tuple[int, Micros | None]]  # version, and when the lease ends


async def refused(
    transaction: Transaction, wave: Sequence[ChangeSet], also_lock: frozenset[TaskId], *, wary: bool
) -> dict[int, Conflict | Taken]:
    """The sets that may not land, by their place. A conflict is told before what is taken.

    Ids that are new are looked for only where it is known that one is not: minted ids hardly ever meet.
    """
    stored = await transaction.lock(also_lock | {task_id for each in wave for task_id in _touched(each)})
    return {
        **await _taken(transaction, wave, wary=wary),
        **await _known_checkpoints(transaction, wave),
        **await _moved_records(transaction, wave),
        **_moved(transaction, wave, stored),
    }


def takes_key(change: Change) -> bool:
    """Whether the change makes an idempotency key the task's own that was not before."""
    if change.after.idempotency_key is None:
        return False
    return owned_key(change.after) not in (None, owned_key(change.before))


def _touched(change_set: ChangeSet) -> Iterator[TaskId]:
    """The tasks that are there already, and are written or counted on."""
    for change in change_set.changes:
        yield change.before.id
    for expect in change_set.expects:
        yield expect.task_id
    for rows in (change_set.lifts, change_set.blockers, change_set.rescores):
        for row in rows:
            if row.task_id is not None:
                yield row.task_id
    for definition in change_set.redefined:
        yield definition.id
    yield from change_set.removals


def _moved(transaction: Transaction, wave: Sequence[ChangeSet], stored: Stored) -> dict[int, Conflict]:
    now = transaction.now
    first = [next(_not_as_it_was(each, stored, now), None) for each in wave]
    return {place: Conflict(task_id) for place, task_id in enumerate(first) if task_id is not None}


def _not_as_it_was(change_set: ChangeSet, stored: Stored, now: Micros) -> Iterator[TaskId]:
    for before, _, _, expiring in change_set.changes:
        version, expires_at = stored.get(before.id, (0, None))
        # No heartbeat may have come since, and the lease must be over by this store's clock.
        is_over = expires_at is not None and expires_at == before.lease_expires_at and expires_at <= now
        if version != before.version or (expiring and not is_over):
            yield before.id
    for task_id, version in change_set.expects:
        if stored.get(task_id, (0, None))[0] != version:
            yield task_id


async def _moved_records(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[int, Conflict]:
    wanted = [each[:3] for change_set in wave for each in change_set.records]
    if not wanted:
        return {}
    found = await transaction.ask("lock_records", *columns(wanted, 3))
    stored = {(row[0], row[1], row[2]): row[3] for row in found}
    return {
        place: Conflict(f"{each.kind}:{each.id}")
        for place, change_set in enumerate(wave)
        for each in change_set.records
        if each.version != stored.get(each[:3], 0)
    }


async def _known_checkpoints(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[int, Conflict]:
    """A step has one result: the first."""
    wanted = [each[:2] for change_set in wave for each in change_set.checkpoints]
    if not wanted:
        return {}
    known = {(row[0], row[1]) for row in await transaction.ask("known_checkpoints", *columns(wanted, 2))}
    return {
        place: Conflict(f"checkpoint:{each.name}")
        for place, change_set in enumerate(wave)
        for each in change_set.checkpoints
        if each[:2] in known
    }


async def _taken(transaction: Transaction, wave: Sequence[ChangeSet], *, wary: bool) -> dict[int, Taken]:
    owners = await _owners(transaction, wave)
    known = await _known_ids(transaction, wave) if wary or owners else set[TaskId]()
    if not known and not owners:
        return {}
    taken = {place: _taken_of(each, known, owners) for place, each in enumerate(wave)}
    return {place: Taken(by) for place, by in taken.items() if by}


async def _known_ids(transaction: Transaction, wave: Sequence[ChangeSet]) -> set[TaskId]:
    new = [task.hot.id for change_set in wave for task in change_set.tasks]
    return {row[0] for row in await transaction.ask("known_ids", new)} if new else set()


async def _owners(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[Key, TaskId]:
    """Who has the keys that the sets want."""
    wanted = [key for change_set in wave for key, _ in _wants(change_set)]
    if not wanted:
        return {}
    return {(row[0], row[1]): row[2] for row in await transaction.ask("key_owners", *columns(wanted, 2))}


def _wants(change_set: ChangeSet) -> Iterator[tuple[Key, TaskId]]:
    """The keys that the set makes somebody's own who did not have them, and whose."""
    for change in change_set.changes:
        if takes_key(change) and (key := owned_key(change.after)) is not None:
            yield key, change.after.id
    for hot, _, _ in change_set.tasks:
        if (key := owned_key(hot)) is not None:
            yield key, hot.id


def _taken_of(change_set: ChangeSet, known: set[TaskId], owners: dict[Key, TaskId]) -> dict[str, TaskId]:
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
