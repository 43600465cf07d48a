"""Which sets of a batch are refused, and why. All sets are checked together: they are independent of each other.

What a guard has read cannot change before the transaction ends: the row is locked, or a unique index refuses a second
new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskyard.core.changes import ChangeSet, Conflict, Taken
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.postgres.transaction import PostgresTransaction
from taskyard.stores.shared.commits import conflicts
from taskyard.stores.shared.commits.batching import Key
from taskyard.stores.shared.commits.conflicts import CheckpointKey, RecordKey

Stored = dict[TaskId, tuple[int, Micros | None]]  # version, and end of the lease


async def find_refused(
    transaction: PostgresTransaction, batch: Sequence[ChangeSet], also_lock: frozenset[TaskId], *, check_new_ids: bool
) -> dict[int, Conflict | Taken]:
    """The refused sets, by place. If a set has both, its conflict is answered and not its taken keys.

    New ids are only looked up after an insert failed or where a key is taken: generated ids hardly ever collide.
    """
    stored = await transaction.lock(also_lock | {task_id for each in batch for task_id in _existing_tasks(each)})
    return {
        **await _taken(transaction, batch, check_new_ids=check_new_ids),
        **conflicts.find_known_checkpoints(batch, await _known_checkpoints(transaction, batch)),
        **conflicts.find_moved_records(batch, await _record_versions(transaction, batch)),
        **_find_moved(transaction, batch, stored),
        **conflicts.find_late(batch, transaction.now),
    }


def _existing_tasks(change_set: ChangeSet) -> Iterator[TaskId]:
    """The existing tasks that the set writes or relies on."""
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


def _find_moved(transaction: PostgresTransaction, batch: Sequence[ChangeSet], stored: Stored) -> dict[int, Conflict]:
    now = transaction.now
    first = [next(_moved_tasks(each, stored, now), None) for each in batch]
    return {place: Conflict(task_id) for place, task_id in enumerate(first) if task_id is not None}


def _moved_tasks(change_set: ChangeSet, stored: Stored, now: Micros) -> Iterator[TaskId]:
    for before, _, _, expiring, lease_unchanged in change_set.changes:
        version, expires_at = stored.get(before.id, (0, None))
        is_renewed = (expiring or lease_unchanged) and (expires_at is None or expires_at != before.lease_expires_at)
        # By the store's clock.
        is_early = expiring and expires_at is not None and expires_at > now
        if version != before.version or is_renewed or is_early:
            yield before.id
    for task_id, version, _ in change_set.expects:
        if stored.get(task_id, (0, None))[0] != version:
            yield task_id


async def _record_versions(transaction: PostgresTransaction, batch: Sequence[ChangeSet]) -> dict[RecordKey, int]:
    wanted = conflicts.record_keys(batch)
    found = await transaction.query("lock_records", *transpose(wanted, 3)) if wanted else ()
    return {(row[0], row[1], row[2]): row[3] for row in found}


async def _known_checkpoints(transaction: PostgresTransaction, batch: Sequence[ChangeSet]) -> set[CheckpointKey]:
    wanted = conflicts.checkpoint_keys(batch)
    found = await transaction.query("known_checkpoints", *transpose(wanted, 2)) if wanted else ()
    return {(row[0], row[1]) for row in found}


async def _taken(
    transaction: PostgresTransaction, batch: Sequence[ChangeSet], *, check_new_ids: bool
) -> dict[int, Taken]:
    owners = await _owners(transaction, batch)
    known = await _known_ids(transaction, batch) if check_new_ids or owners else set[TaskId]()
    return conflicts.find_taken(batch, known, owners)


async def _known_ids(transaction: PostgresTransaction, batch: Sequence[ChangeSet]) -> set[TaskId]:
    new = conflicts.new_task_ids(batch)
    return {row[0] for row in await transaction.query("known_ids", new)} if new else set()


async def _owners(transaction: PostgresTransaction, batch: Sequence[ChangeSet]) -> dict[Key, TaskId]:
    """The tasks that own the idempotency keys that the sets need."""
    wanted = conflicts.wanted_keys(batch)
    found = await transaction.query("key_owners", *transpose(wanted, 2)) if wanted else ()
    return {(row[0], row[1]): row[2] for row in found}
