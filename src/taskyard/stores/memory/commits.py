"""Commits one change set: all guards are checked before the first write."""

from __future__ import annotations

from collections.abc import Iterator

from taskyard.core import claiming
from taskyard.core.changes import Blocker, Change, ChangeSet, Committed, Conflict, Lift, Taken, is_late
from taskyard.core.task import WAITING, Hot, TaskId
from taskyard.core.units import Micros
from taskyard.stores.memory.tables import Tables
from taskyard.stores.shared.commits.change_sets import Answer, newly_ready, owned_key
from taskyard.stores.shared.commits.conflicts import LATE


def commit_set(tables: Tables, change_set: ChangeSet, now: Micros) -> Answer:
    """Write the set, or answer why it is refused. The caller adds the counters, as they are after the whole commit."""
    if is_late(change_set, now):
        return LATE
    moved = next(_moved(tables, change_set, now), None)
    if moved is not None:
        return Conflict(moved)
    if taken := _taken(tables, change_set):
        return Taken(taken)
    return Committed({}, _write(tables, change_set))


def _moved(tables: Tables, change_set: ChangeSet, now: Micros) -> Iterator[str]:
    """What has changed since the set was decided."""
    for before, _, _, expiring, lease_unchanged in change_set.changes:
        stored = tables.hot.get(before.id)
        if stored is None or stored.version != before.version or (expiring and not _expired(stored, before, now)):
            yield before.id
            continue
        if lease_unchanged and stored.lease_expires_at != before.lease_expires_at:
            yield before.id
    for task_id, version, _ in change_set.expects:
        stored = tables.hot.get(task_id)
        if stored is None or stored.version != version:
            yield task_id
    for change in change_set.records:
        record = tables.records.get((change.kind, change.workspace, change.id))
        if change.version != (0 if record is None else record.version):
            yield f"{change.kind}:{change.id}"
    for checkpoint in change_set.checkpoints:
        # A step has one result: the first.
        if checkpoint.name in tables.checkpoints.get(checkpoint.task_id, {}):
            yield f"checkpoint:{checkpoint.name}"


def _expired(stored: Hot, before: Hot, now: Micros) -> bool:
    """Whether no heartbeat came since, and the lease is over by this store's clock."""
    expires_at = stored.lease_expires_at
    return expires_at is not None and expires_at == before.lease_expires_at and expires_at <= now


def _taken(tables: Tables, change_set: ChangeSet) -> dict[str, TaskId]:
    """The ids and idempotency keys that the set wants and others have."""
    changed = {change.before.id: change.after for change in change_set.changes}
    kept = {key: hot.id for hot in changed.values() if (key := owned_key(hot)) is not None}
    taken: dict[str, TaskId] = {task.hot.id: task.hot.id for task in change_set.tasks if task.hot.id in tables.hot}
    for hot in [*changed.values(), *(task.hot for task in change_set.tasks)]:
        if (key := owned_key(hot)) is None:
            continue
        owner = tables.keys.get(key)
        # The changes of a set apply first: a set may cancel the owner of a key and enqueue its successor.
        if owner is None or owner in changed:
            owner = kept.get(key)
        if owner not in (None, hot.id):
            taken[key[1]] = owner
    return taken


def _write(tables: Tables, change_set: ChangeSet) -> tuple[TaskId, ...]:
    """Write the set. Answers the tasks that became ready."""
    for change in change_set.changes:
        tables.apply(change)
    for task in change_set.tasks:
        tables.insert(task.hot, task.definition)
    for edge in change_set.edges:
        tables.edges.setdefault(edge.parent, set()).add(edge)
    for blocker in change_set.blockers:
        tables.block(blocker)
    unblocked = [
        change for lift in change_set.lifts for change in tables.lift(_lifted_blockers(tables, lift), change_set.at)
    ]
    _write_history(tables, change_set)
    if change_set.removals:
        tables.remove(change_set.removals)
    unblocked += _move_limits(tables, change_set)
    for count in change_set.counts:
        tables.count(count)
    tables.add_events(each.event for each in (*change_set.changes, *change_set.tasks, *unblocked))
    tables.add_events(change_set.events)
    return newly_ready(change_set, unblocked)


def _lifted_blockers(tables: Tables, lift: Lift) -> list[Blocker]:
    """The blockers that a lift removes."""
    if lift.task_id is None:
        return list(tables.blocking.get(lift.name, ()))
    return [each for each in tables.waits_for(lift.task_id) if lift.ends_wait or each.name == lift.name]


def _write_history(tables: Tables, change_set: ChangeSet) -> None:
    for attempt in change_set.attempts:
        tables.attempts.setdefault(attempt.task_id, {})[attempt.number] = attempt
    for output in change_set.outputs:
        tables.outputs[output.task_id] = output
    for checkpoint in change_set.checkpoints:
        tables.checkpoints.setdefault(checkpoint.task_id, {})[checkpoint.name] = checkpoint
    for signal in change_set.signals:
        tables.signals.setdefault(signal.task_id, []).append(signal)
    for record in change_set.records:
        tables.write_record(record)
    for definition in change_set.redefined:
        tables.definitions[definition.id] = definition
    for outbox in change_set.outbox:
        tables.add_outbox(outbox)
    for task_id, rank, height, rescore_at in change_set.rescores:
        hot = tables.hot.get(task_id)
        if hot is not None and hot.status in WAITING:
            tables.put_task(hot._replace(rank=rank, height=height, rescore_at=rescore_at))


def _move_limits(tables: Tables, change_set: ChangeSet) -> list[Change]:
    """Write spends and ceilings, then make parked tasks ready where a ceiling may have more room than before."""
    for spend in change_set.spends:
        tables.spend(spend)
    for workspace, name, ceiling in change_set.ceilings:
        tables.set_limit(tables.limit(workspace, name)._replace(ceiling=ceiling))
    eased = {(each.workspace, each.name) for each in change_set.spends if claiming.eases(each)}
    eased |= {(each.workspace, each.name) for each in change_set.ceilings}
    return [change for key in sorted(eased) for change in tables.unpark(tables.limit(*key), change_set.at)]


def counts_moved(tables: Tables, change_set: ChangeSet) -> dict[str, int]:
    """The counters that the set has moved, as they are now."""
    return {count.name: tables.counters.get((count.workspace, count.name), 0) for count in change_set.counts}
