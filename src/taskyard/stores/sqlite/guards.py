"""Which sets of a wave may not land, and why. All are looked at together: in a wave, none depends on another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskyard.core.changes import Change, ChangeSet, Conflict, Taken
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.shared.commits import conflicts
from taskyard.stores.shared.commits.batching import Key
from taskyard.stores.shared.commits.conflicts import CheckpointKey, RecordKey
from taskyard.stores.sqlite.statements import SQL, names_text, wide
from taskyard.stores.sqlite.transaction import Transaction

Expected = tuple[TaskId, int, Micros | None]  # id, version, and when the lease ends, where no heartbeat may have come

_NEVER = Micros(2**62)


def refused(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[int, Conflict | Taken]:
    """The sets that may not land, by their place. A conflict is told before what is taken."""
    return {
        **conflicts.find_taken(wave, _known_ids(transaction, wave), _owners(transaction, wave)),
        **conflicts.find_known_checkpoints(wave, _known_checkpoints(transaction, wave)),
        **conflicts.find_moved_records(wave, _record_versions(transaction, wave)),
        **_moved(transaction, wave),
        **conflicts.find_late(wave, transaction.now),
    }


def _moved(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[int, Conflict]:
    expected = [list(_expected(each)) for each in wave]
    rows = [row for each in expected for row in each]
    moved = set(wide("moved").ask(transaction.connection, rows))
    moved.update(row for each in wave for row in _expiring(each) if (row[2] or 0) > transaction.now)
    if not moved:
        return {}
    first = [next((row for row in each if row in moved), None) for each in expected]
    return {place: Conflict(row[0]) for place, row in enumerate(first) if row is not None}


def _expected(change_set: ChangeSet) -> Iterator[Expected]:
    for change in change_set.changes:
        yield _asked_of(change)
    for task_id, version in change_set.expects:
        yield task_id, version, None


def _expiring(change_set: ChangeSet) -> Iterator[Expected]:
    for change in change_set.changes:
        if change.expiring:
            yield _asked_of(change)


def _asked_of(change: Change) -> Expected:
    before, _, _, expiring, unbeaten = change
    # Without a lease there is nothing to expire, and never is a time that no row has.
    return before.id, before.version, (before.lease_expires_at or _NEVER) if expiring or unbeaten else None


def _record_versions(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[RecordKey, int]:
    found = wide("record_versions").ask(transaction.connection, conflicts.record_keys(wave))
    return {(row[0], row[1], row[2]): row[3] for row in found}


def _known_checkpoints(transaction: Transaction, wave: Sequence[ChangeSet]) -> set[CheckpointKey]:
    found = wide("known_checkpoints").ask(transaction.connection, conflicts.checkpoint_keys(wave))
    return {(row[0], row[1]) for row in found}


def _known_ids(transaction: Transaction, wave: Sequence[ChangeSet]) -> set[TaskId]:
    new = conflicts.new_task_ids(wave)
    if not new:
        return set()
    return {row[0] for row in transaction.connection.execute(SQL["known_ids"], (names_text(new),))}


def _owners(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[Key, TaskId]:
    """Who has the keys that the sets want."""
    found = wide("key_owners").ask(transaction.connection, conflicts.wanted_keys(wave))
    return {(row[0], row[1]): row[2] for row in found}
