"""Which sets of a batch are refused, and why. All sets are checked together: they are independent of each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskyard.core.changes import Change, ChangeSet, Conflict, Taken
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.shared.commits import conflicts
from taskyard.stores.shared.commits.batching import Key
from taskyard.stores.shared.commits.conflicts import CheckpointKey, RecordKey
from taskyard.stores.sqlite.statements import SQL, json_list, multi_row
from taskyard.stores.sqlite.transaction import SqliteTransaction

Expectation = tuple[TaskId, int, Micros | None]  # id, version; end of the lease, if heartbeats conflict

_NEVER = Micros(2**62)


def find_refused(transaction: SqliteTransaction, batch: Sequence[ChangeSet]) -> dict[int, Conflict | Taken]:
    """The refused sets, by place. If a set has both, its conflict is answered and not its taken keys."""
    return {
        **conflicts.find_taken(batch, _known_ids(transaction, batch), _owners(transaction, batch)),
        **conflicts.find_known_checkpoints(batch, _known_checkpoints(transaction, batch)),
        **conflicts.find_moved_records(batch, _record_versions(transaction, batch)),
        **_find_moved(transaction, batch),
        **conflicts.find_late(batch, transaction.now),
    }


def _find_moved(transaction: SqliteTransaction, batch: Sequence[ChangeSet]) -> dict[int, Conflict]:
    expected = [list(_expectations_of(each)) for each in batch]
    rows = [row for each in expected for row in each]
    moved = set(multi_row("moved").ask(transaction.connection, rows))
    moved.update(row for each in batch for row in _expiring_leases(each) if (row[2] or 0) > transaction.now)
    if not moved:
        return {}
    first = [next((row for row in each if row in moved), None) for each in expected]
    return {place: Conflict(row[0]) for place, row in enumerate(first) if row is not None}


def _expectations_of(change_set: ChangeSet) -> Iterator[Expectation]:
    for change in change_set.changes:
        yield _expectation_of(change)
    for task_id, version, _ in change_set.expects:
        yield task_id, version, None


def _expiring_leases(change_set: ChangeSet) -> Iterator[Expectation]:
    for change in change_set.changes:
        if change.expiring:
            yield _expectation_of(change)


def _expectation_of(change: Change) -> Expectation:
    before, _, _, expiring, unbeaten = change
    # A row without a lease cannot expire: no row has the time _NEVER, so such a change is refused.
    return before.id, before.version, (before.lease_expires_at or _NEVER) if expiring or unbeaten else None


def _record_versions(transaction: SqliteTransaction, batch: Sequence[ChangeSet]) -> dict[RecordKey, int]:
    found = multi_row("record_versions").ask(transaction.connection, conflicts.record_keys(batch))
    return {(row[0], row[1], row[2]): row[3] for row in found}


def _known_checkpoints(transaction: SqliteTransaction, batch: Sequence[ChangeSet]) -> set[CheckpointKey]:
    found = multi_row("known_checkpoints").ask(transaction.connection, conflicts.checkpoint_keys(batch))
    return {(row[0], row[1]) for row in found}


def _known_ids(transaction: SqliteTransaction, batch: Sequence[ChangeSet]) -> set[TaskId]:
    new = conflicts.new_task_ids(batch)
    if not new:
        return set()
    return {row[0] for row in transaction.connection.execute(SQL["known_ids"], (json_list(new),))}


def _owners(transaction: SqliteTransaction, batch: Sequence[ChangeSet]) -> dict[Key, TaskId]:
    """The tasks that own the idempotency keys that the sets need."""
    found = multi_row("key_owners").ask(transaction.connection, conflicts.wanted_keys(batch))
    return {(row[0], row[1]): row[2] for row in found}
