"""Which sets of a wave may not land, and why. All are looked at together: in a wave, none depends on another.

Everything that a guard has seen stays as it is until the transaction ends: its row is locked, or it is new and a unique
index refuses a second one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskyard.core.changes import ChangeSet, Conflict, Taken
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.postgres.statements import columns
from taskyard.stores.postgres.transaction import Transaction
from taskyard.stores.shared.commits import conflicts
from taskyard.stores.shared.commits.batching import Key
from taskyard.stores.shared.commits.conflicts import CheckpointKey, RecordKey

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
        **conflicts.find_known_checkpoints(wave, await _known_checkpoints(transaction, wave)),
        **conflicts.find_moved_records(wave, await _record_versions(transaction, wave)),
        **_moved(transaction, wave, stored),
        **conflicts.find_late(wave, transaction.now),
    }


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
    for before, _, _, expiring, unbeaten in change_set.changes:
        version, expires_at = stored.get(before.id, (0, None))
        is_beaten = (expiring or unbeaten) and (expires_at is None or expires_at != before.lease_expires_at)
        # By this store's clock.
        is_early = expiring and expires_at is not None and expires_at > now
        if version != before.version or is_beaten or is_early:
            yield before.id
    for task_id, version in change_set.expects:
        if stored.get(task_id, (0, None))[0] != version:
            yield task_id


async def _record_versions(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[RecordKey, int]:
    wanted = conflicts.record_keys(wave)
    found = await transaction.ask("lock_records", *columns(wanted, 3)) if wanted else ()
    return {(row[0], row[1], row[2]): row[3] for row in found}


async def _known_checkpoints(transaction: Transaction, wave: Sequence[ChangeSet]) -> set[CheckpointKey]:
    wanted = conflicts.checkpoint_keys(wave)
    found = await transaction.ask("known_checkpoints", *columns(wanted, 2)) if wanted else ()
    return {(row[0], row[1]) for row in found}


async def _taken(transaction: Transaction, wave: Sequence[ChangeSet], *, wary: bool) -> dict[int, Taken]:
    owners = await _owners(transaction, wave)
    known = await _known_ids(transaction, wave) if wary or owners else set[TaskId]()
    return conflicts.find_taken(wave, known, owners)


async def _known_ids(transaction: Transaction, wave: Sequence[ChangeSet]) -> set[TaskId]:
    new = conflicts.new_task_ids(wave)
    return {row[0] for row in await transaction.ask("known_ids", new)} if new else set()


async def _owners(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[Key, TaskId]:
    """Who has the keys that the sets want."""
    wanted = conflicts.wanted_keys(wave)
    found = await transaction.ask("key_owners", *columns(wanted, 2)) if wanted else ()
    return {(row[0], row[1]): row[2] for row in found}
