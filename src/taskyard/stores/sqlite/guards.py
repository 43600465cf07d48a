"""Which sets of a batch are refused, and why. All sets are checked together: they are independent of each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskyard.core.changes import Change, ChangeSet, Conflict, Taken
from taskyard.core.task import KEY_HELD, TaskId
from taskyard.core.units import Micros
from taskyard.stores.shared.commits import conflicts
from taskyard.stores.shared.commits.batching import Key
from taskyard.stores.shared.commits.conflicts import CheckpointKey, RecordKey
from taskyard.stores.shared.rows import Row
from taskyard.stores.sqlite.statements import SQL, json_list
from taskyard.stores.sqlite.transaction import SqliteTransaction

_NEVER = Micros(2**62)


def find_refused(
    transaction: SqliteTransaction, batch: Sequence[ChangeSet], parts: frozenset[str]
) -> dict[int, Conflict | Taken]:
    """The refused sets, by place. If a set has both, its conflict is answered and not its taken keys."""
    refused: dict[int, Conflict | Taken] = {}
    if "tasks" in parts or "changes" in parts:
        refused |= conflicts.find_taken(batch, _known_ids(transaction, batch), _owners(transaction, batch))
    if "checkpoints" in parts:
        refused |= conflicts.find_known_checkpoints(batch, _known_checkpoints(transaction, batch))
    if "records" in parts:
        refused |= conflicts.find_moved_records(batch, _record_versions(transaction, batch))
    if "changes" in parts or "expects" in parts:
        refused |= _find_moved(transaction, batch)
    return refused | conflicts.find_late(batch, transaction.now)


def _find_moved(transaction: SqliteTransaction, batch: Sequence[ChangeSet]) -> dict[int, Conflict]:
    """The first task of each set that is no longer as it was, by place: by the row that its state names."""
    changes = [change for each in batch for change in each.changes]
    held = [change for change in changes if change.before.status in KEY_HELD]
    others = changes if not held else [change for change in changes if change.before.status not in KEY_HELD]
    ask = transaction.ask
    moved = {row[0] for row in ask("moved", [(before.seq, before.version) for before, *_ in others])}
    moved.update(row[0] for row in ask("moved_held", list(map(_expectation_of, held))))
    moved.update(change.before.seq for change in changes if change.expiring and not _is_over(change, transaction.now))
    gone = {row[0] for row in ask("moved_expected", [row[:2] for each in batch for row in each.expects])}
    return dict(_conflicts(batch, moved, gone)) if moved or gone else {}


def _conflicts(batch: Sequence[ChangeSet], moved: set[int], gone: set[TaskId]) -> Iterator[tuple[int, Conflict]]:
    for place, each in enumerate(batch):
        found = [change.before.id for change in each.changes if change.before.seq in moved]
        found += [row.task_id for row in each.expects if row.task_id in gone]
        if found:
            yield place, Conflict(found[0])


def _expectation_of(change: Change) -> Row:
    """The number of the task, its version, and the end of its lease if heartbeats conflict."""
    before, _, _, expiring, lease_unchanged = change
    # A row without a lease cannot expire: no row has the time _NEVER, so such a change is refused.
    return before.seq, before.version, (before.lease_expires_at or _NEVER) if expiring or lease_unchanged else None


def _is_over(change: Change, now: Micros) -> bool:
    return (change.before.lease_expires_at or _NEVER) <= now


def _record_versions(transaction: SqliteTransaction, batch: Sequence[ChangeSet]) -> dict[RecordKey, int]:
    found = transaction.ask("record_versions", conflicts.record_keys(batch))
    return {(row[0], row[1], row[2]): row[3] for row in found}


def _known_checkpoints(transaction: SqliteTransaction, batch: Sequence[ChangeSet]) -> set[CheckpointKey]:
    found = transaction.ask("known_checkpoints", conflicts.checkpoint_keys(batch))
    return {(row[0], row[1]) for row in found}


def _known_ids(transaction: SqliteTransaction, batch: Sequence[ChangeSet]) -> set[TaskId]:
    new = conflicts.new_task_ids(batch)
    if not new:
        return set()
    sql, asked = (SQL["known_id"], new[0]) if len(new) == 1 else (SQL["known_ids"], json_list(new))
    return {row[0] for row in transaction.connection.execute(sql, (asked,))}


def _owners(transaction: SqliteTransaction, batch: Sequence[ChangeSet]) -> dict[Key, TaskId]:
    """The tasks that own the idempotency keys that the sets need."""
    found = transaction.ask("key_owners", conflicts.wanted_keys(batch))
    return {(row[0], row[1]): row[2] for row in found}
