"""Which sets of a wave may not land, and why. All are looked at together: in a wave, none depends on another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskyard.core.changes import Change, ChangeSet, Conflict, Taken
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.sets import owned_key
from taskyard.stores.sqlite.rows import names_text
from taskyard.stores.sqlite.statements import SQL, wide
from taskyard.stores.sqlite.transaction import Key, Transaction

Expected = tuple[TaskId, int, Micros | None]  # id, version, and when the lease must have ended, if it is to expire

_NEVER = Micros(2**62)


def refused(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[int, Conflict | Taken]:
    """The sets that may not land, by their place. A conflict is told before what is taken."""
    return {
        **_taken(transaction, wave),
        **_known_checkpoints(transaction, wave),
        **_moved_records(transaction, wave),
        **_moved(transaction, wave),
    }


def takes_key(change: Change) -> bool:
    """Whether the change makes an idempotency key the task's own that was not before."""
    if change.after.idempotency_key is None:
        return False
    return owned_key(change.after) not in (None, owned_key(change.before))


def _moved(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[int, Conflict]:
    expected = [list(_expected(each)) for each in wave]
    rows = [row for each in expected for row in each]
    moved = set(wide("moved").ask(transaction.connection, rows))
    moved.update(row for row in rows if row[2] is not None and row[2] > transaction.now)
    if not moved:
        return {}
    first = [next((row for row in each if row in moved), None) for each in expected]
    return {place: Conflict(row[0]) for place, row in enumerate(first) if row is not None}


def _expected(change_set: ChangeSet) -> Iterator[Expected]:
    for before, _, _, expiring in change_set.changes:
        # Without a lease there is nothing to expire, and never is a time that no row has.
        yield before.id, before.version, (before.lease_expires_at or _NEVER) if expiring else None
    for task_id, version in change_set.expects:
        yield task_id, version, None


def _moved_records(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[int, Conflict]:
    wanted = [(each.kind, each.workspace, each.id) for change_set in wave for each in change_set.records]
    if not wanted:
        return {}
    stored = {(row[0], row[1], row[2]): row[3] for row in wide("record_versions").ask(transaction.connection, wanted)}
    return {
        place: Conflict(f"{each.kind}:{each.id}")
        for place, change_set in enumerate(wave)
        for each in change_set.records
        if each.version != stored.get((each.kind, each.workspace, each.id), 0)
    }


def _known_checkpoints(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[int, Conflict]:
    """A step has one result: the first."""
    wanted = [each[:2] for change_set in wave for each in change_set.checkpoints]
    known = set(wide("known_checkpoints").ask(transaction.connection, wanted))
    if not known:
        return {}
    return {
        place: Conflict(f"checkpoint:{each.name}")
        for place, change_set in enumerate(wave)
        for each in change_set.checkpoints
        if each[:2] in known
    }


def _taken(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[int, Taken]:
    known, owners = _known_ids(transaction, wave), _owners(transaction, wave)
    if not known and not owners:
        return {}
    taken = {place: _taken_of(each, known, owners) for place, each in enumerate(wave)}
    return {place: Taken(by) for place, by in taken.items() if by}


def _known_ids(transaction: Transaction, wave: Sequence[ChangeSet]) -> set[TaskId]:
    new = [task.hot.id for change_set in wave for task in change_set.tasks]
    if not new:
        return set()
    return {row[0] for row in transaction.connection.execute(SQL["known_ids"], (names_text(new),))}


def _owners(transaction: Transaction, wave: Sequence[ChangeSet]) -> dict[Key, TaskId]:
    """Who has the keys that the sets want."""
    wanted = [key for change_set in wave for key, _ in _wants(change_set)]
    return {(row[0], row[1]): row[2] for row in wide("key_owners").ask(transaction.connection, wanted)}


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
