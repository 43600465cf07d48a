"""Commits change sets in batches, with the result of committing them one after the other.

The sets of a batch are independent of each other. A batch is one transaction: its guards are checked together, and its
rows are written together. All guards are checked before the first write, so a refused set leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from taskyard.core.changes import PLANNED_ON, Change, ChangeSet, Committed, Event, Limit, RecordChange
from taskyard.core.identifiers import dag_ceiling, is_slots_ceiling
from taskyard.core.task import Definition, TaskId
from taskyard.stores.postgres import blockers, guards, removal
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.postgres.transaction import PostgresTransaction, parse_limit
from taskyard.stores.shared import rows
from taskyard.stores.shared.commits import batching
from taskyard.stores.shared.commits.batching import Batch, Key, eased_ceilings
from taskyard.stores.shared.commits.change_sets import Answer, newly_ready
from taskyard.stores.shared.commits.conflicts import takes_key
from taskyard.stores.shared.commits.lifts import collect_lifts

Counts = dict[Key, int]
_NO_OUTPUT = (None, None, None)


async def commit_batch(
    transaction: PostgresTransaction, sets: Sequence[ChangeSet], also_lock: frozenset[TaskId], *, check_new_ids: bool
) -> tuple[list[Answer], Counts]:
    """Commit as many of the first sets as can be committed together. Answers their outcomes and the moved counters."""
    batch, children, parked = await _take_batch(transaction, sets)
    sets = batch.sets
    await _block_claims(transaction, sets)
    refused = await guards.find_refused(transaction, sets, also_lock | children, check_new_ids=check_new_ids)
    passed = {place: each for place, each in enumerate(sets) if place not in refused}
    passed_sets = list(passed.values())
    eased = {place: names for place, each in passed.items() if (names := eased_ceilings(each))}
    if batch.unparks:
        locked = {(name, key[0]) for names in eased.values() for key, name in names if name in parked}
        await blockers.lock_best_parked(transaction, locked)
    if eased or any(each.changes or each.tasks or each.events or each.lifts for each in passed_sets):
        transaction.plan_numbers([event for each in passed_sets for event in own_events(each)])
    await _write_tasks(transaction, passed_sets)
    await _write_history(transaction, passed_sets)
    unblocked = await _lift_blockers(transaction, passed)
    await removal.remove(transaction, [task_id for each in passed_sets for task_id in each.removals])
    counts = await _move_counted(transaction, passed, unblocked, eased)
    answers: list[Answer] = [
        refused[place] if place in refused else Committed({}, newly_ready(each, unblocked.get(place, [])))
        for place, each in enumerate(sets)
    ]
    return answers, counts


async def _take_batch(
    transaction: PostgresTransaction, sets: Sequence[ChangeSet]
) -> tuple[Batch, frozenset[TaskId], set[str]]:
    """The batch, the tasks that it unblocks, read without locks, which `guards` locks, and the names of parked ones."""
    independent = batching.take_independent(sets)
    blocked: dict[str, list[TaskId]] = {}
    for name, task_id in (
        await transaction.query("blocked_by", independent.lifted_blockers) if independent.lifted_blockers else ()
    ):
        blocked.setdefault(name, []).append(task_id)
    parked = await blockers.blocking_names(transaction, set(independent.parking_blockers))
    batch = batching.take_batch(independent, blocked, parked)
    return batch, frozenset(task_id for each in blocked.values() for task_id in each), parked


async def _block_claims(transaction: PostgresTransaction, sets: Sequence[ChangeSet]) -> None:
    """Block claims if the sets change what claims are planned on, or a ceiling that a claim may have read."""
    workspaces = {record.workspace for each in sets for record in each.records if record.kind in PLANNED_ON}
    for each in sets:
        new = {dag_ceiling(task.hot.dag_id) for task in each.tasks if task.hot.dag_id is not None}
        workspaces.update(ceiling.workspace for ceiling in each.ceilings if ceiling.name not in new)
    if workspaces:
        await transaction.block_claims(workspaces)


async def _write_tasks(transaction: PostgresTransaction, sets: Sequence[ChangeSet]) -> None:
    changes = [change for each in sets for change in each.changes]
    taking = [change for change in changes if takes_key(change)]
    if taking:
        # Changes that take an idempotency key come last: the previous owner of the same set has released it by then.
        transaction.apply_changes(change for change in changes if not takes_key(change))
        await transaction.flush()
    transaction.apply_changes(taking or changes)
    tasks = [task for each in sets for task in each.tasks]
    if tasks and any(change.before.idempotency_key for change in changes):
        await transaction.flush()
    await transaction.insert_tasks(tasks)
    transaction.write("insert_edges", list({edge for each in sets for edge in each.edges}))
    transaction.write("insert_blockers", list({blocker for each in sets for blocker in each.blockers}))


def own_events(change_set: ChangeSet) -> Iterator[Event]:
    """The events of the set in order, without those of tasks that it unblocks, which come before the last ones."""
    for step in (*change_set.changes, *change_set.tasks):
        yield step.event
    yield from change_set.events


def write_attempts(transaction: PostgresTransaction, sets: Sequence[ChangeSet]) -> None:
    """Write the attempts, outputs and outbox rows of attempts that end."""
    write = transaction.write
    outputs = {output[:2]: rows.format_output(output)[2:] for each in sets for output in each.outputs}
    # The last of two attempts with one number: a statement must not write a row twice.
    attempts = {attempt[:2]: attempt for each in sets for attempt in each.attempts}
    write("insert_attempts", [(*attempt, *outputs.get(key, _NO_OUTPUT)) for key, attempt in attempts.items()])
    write("insert_outbox", [outbox for each in sets for outbox in each.outbox])


async def _write_history(transaction: PostgresTransaction, sets: Sequence[ChangeSet]) -> None:
    write = transaction.write
    write_attempts(transaction, sets)
    write("insert_checkpoints", _first_of_each([checkpoint for each in sets for checkpoint in each.checkpoints]))
    write("insert_signals", [signal for each in sets for signal in each.signals])
    await _write_records(transaction, [record for each in sets for record in each.records])
    if rescores := [rescore for each in sets for rescore in each.rescores]:
        # A rescore depends on the status after the changes, and one row may be both changed and rescored.
        await transaction.flush()
        last = list({rescore.task_id: rescore for rescore in rescores}.values())
        await transaction.run("rescore", *transpose(last, 4))
    await _redefine(transaction, [definition for each in sets for definition in each.redefined])


def _first_of_each(checkpoints: Sequence[rows.Row]) -> list[rows.Row]:
    """The first of two checkpoints for one step."""
    return list({row[:2]: row for row in reversed(checkpoints)}.values())[::-1]


async def _redefine(transaction: PostgresTransaction, definitions: Sequence[Definition]) -> None:
    if not definitions:
        return
    await transaction.flush()
    await transaction.run("redefine", *transpose([(each.id, *rows.format_definition(each)) for each in definitions], 8))
    transaction.write("insert_tags", [(each.id, each.workspace, tag) for each in definitions for tag in each.tags])


async def _write_records(transaction: PostgresTransaction, changes: Sequence[RecordChange]) -> None:
    written = [
        (kind, workspace, id_, version + 1, rows.format_body(body))
        for kind, workspace, id_, version, body in changes
        if body is not None
    ]
    transaction.write("insert_records", [row for row in written if row[3] == 1])
    transaction.write("change_records", [row for row in written if row[3] > 1])
    transaction.write("remove_records", [change[:3] for change in changes if change.body is None])
    planned = [change.workspace for change in changes if change.kind in PLANNED_ON]
    for workspace in sorted(set(planned)):
        for _ in range(planned.count(workspace)):
            await transaction.bump_epoch(workspace)


async def _lift_blockers(transaction: PostgresTransaction, passed: dict[int, ChangeSet]) -> dict[int, list[Change]]:
    lifts = collect_lifts(passed)
    if not lifts:
        return {}
    await transaction.flush()
    return await blockers.lift_blockers(transaction, lifts)


# Ceilings and counters are written last, in the order of their names.


async def _move_counted(
    transaction: PostgresTransaction,
    passed: dict[int, ChangeSet],
    unblocked: dict[int, list[Change]],
    eased: dict[int, list[tuple[Key, str]]],
) -> Counts:
    """Move ceilings and counters, un-park tasks where a ceiling has room again, and write the events."""
    sets = list(passed.values())
    spends, sums = sum_limits(sets), sum_counts(sets)
    if eased or ((spends or sums) and any(each.tasks or each.records or each.checkpoints for each in sets)):
        # An insert may wait for a transaction with the same id or key. That must come before any wait for a ceiling.
        await transaction.flush()
    if eased or any(each.ceilings for each in sets):
        limits = await _move_limits(transaction, sets, spends)
        for place, changes in (await _unpark(transaction, passed, eased, limits)).items():
            unblocked.setdefault(place, []).extend(changes)
        spends = {}
    for place, each in passed.items():
        transaction.add_events([step.event for step in (*each.changes, *each.tasks, *unblocked.get(place, ()))])
        transaction.add_events(each.events)
    await transaction.write_log()
    return await flush_moves(transaction, spends, sums)


async def flush_moves(
    transaction: PostgresTransaction, spends: dict[Key, tuple[int, int]], sums: dict[Key, tuple[bool, int]]
) -> Counts:
    """Send the pending rows with the moves of ceilings and counters. Answers the counters."""
    if not spends and not sums:
        await transaction.flush(is_last=True)
        return {}
    transaction.write("clear_counters", [key for key, (clear, _) in sums.items() if clear])
    if any(clear and add for clear, add in sums.values()):
        await transaction.flush()
    transaction.move_limits([(*key, *moved) for key, moved in spends.items()])
    transaction.write("move_counters", [(*key, add) for key, (clear, add) in sums.items() if add or not clear])
    answering = [name for name, moved in (("move_limits", spends), ("move_counters", sums)) if moved]
    if sums and all(clear and not add for clear, add in sums.values()):
        answering.remove("move_counters")
    found = await transaction.flush(answering, is_last=True)
    await remove_idle_limits(transaction, [row for row in found if not row[5]])
    counts: Counts = {key: add for key, (_, add) in sums.items()}
    counts.update({(row[0], row[1]): row[3] for row in found if row[5]})
    return counts


async def _move_limits(
    transaction: PostgresTransaction, sets: Sequence[ChangeSet], spends: dict[Key, tuple[int, int]]
) -> dict[Key, Limit]:
    """Write spends and ceilings. Answers the changed limits, whose rows are locked."""
    transaction.move_limits([(*key, *moved) for key, moved in spends.items()])
    found = await transaction.flush(["move_limits"])
    limits = dict(parse_limit(row) for row in found)
    ceilings = {ceiling[:2]: ceiling.ceiling for each in sets for ceiling in each.ceilings}
    if ceilings:
        await transaction.run("set_ceilings", *transpose([(*key, value) for key, value in ceilings.items()], 3))
        limits.update({key: limits[key]._replace(ceiling=value) for key, value in ceilings.items()})
    await remove_idle_limits(transaction, limits.values())
    return limits


async def remove_idle_limits(transaction: PostgresTransaction, limits: Iterable[rows.Row]) -> None:
    """Remove the rows of limits without ceiling, holders and spend. Slots keep their rows for the next use."""
    idle = [row[:2] for row in limits if tuple(row[2:5]) == (None, 0, 0) and not is_slots_ceiling(row[1])]
    if idle:
        await transaction.run("remove_idle_limits", *transpose(idle, 2))


async def _unpark(
    transaction: PostgresTransaction,
    passed: dict[int, ChangeSet],
    eased: dict[int, list[tuple[Key, str]]],
    limits: dict[Key, Limit],
) -> dict[int, list[Change]]:
    """Make parked tasks ready where a ceiling may have more room than before.

    Parked tasks are read again under the locks: a claim may have parked one since the batch was taken.
    """
    blocking_names = await blockers.blocking_names(transaction, {name for names in eased.values() for _, name in names})
    last = {key: place for place, names in eased.items() for key, name in names if name in blocking_names}
    unblocked: dict[int, list[Change]] = {}
    for key, place in sorted(last.items(), key=lambda each: (each[1], each[0])):
        changes = await blockers.unpark(transaction, limits[key], passed[place].at)
        unblocked.setdefault(place, []).extend(changes)
    return unblocked


def sum_limits(sets: Sequence[ChangeSet]) -> dict[Key, tuple[int, int]]:
    sums: dict[Key, tuple[int, int]] = {}
    for each in sets:
        for workspace, name, held, spent in each.spends:
            before = sums.get((workspace, name), (0, 0))
            sums[workspace, name] = before[0] + held, before[1] + spent
        for ceiling in each.ceilings:
            sums.setdefault(ceiling[:2], (0, 0))
    return sums


def sum_counts(sets: Sequence[ChangeSet]) -> dict[Key, tuple[bool, int]]:
    """For each counter, whether it is cleared first, and what is added."""
    sums: dict[Key, tuple[bool, int]] = {}
    for workspace, name, add, clear in chain.from_iterable(each.counts for each in sets):
        cleared, before = sums.get((workspace, name), (False, 0))
        sums[workspace, name] = (True, add) if clear else (cleared, before + add)
    return sums
