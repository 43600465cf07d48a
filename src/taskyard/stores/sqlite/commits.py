"""Commits change sets in batches, with the result of committing them one after the other.

The sets of a batch are independent of each other. Their guards are checked together, and their rows are written
together. All guards are checked before the first write, so a refused set leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from taskyard.core.changes import PLANNED_ON, Change, ChangeSet, Committed, Limit, Rescore
from taskyard.core.task import Definition, Status, TaskId
from taskyard.stores.shared import rows
from taskyard.stores.shared.commits import batching
from taskyard.stores.shared.commits.batching import Batch, Key, eased_ceilings
from taskyard.stores.shared.commits.change_sets import Answer, add_counts, newly_ready, parts_in
from taskyard.stores.shared.commits.lifts import collect_lifts
from taskyard.stores.sqlite import blockers, guards
from taskyard.stores.sqlite.log.log_append import Part, SetPlace, Size, size_of
from taskyard.stores.sqlite.statements import SQL, json_list, multi_row
from taskyard.stores.sqlite.transaction import SqliteTransaction
from taskyard.stores.sqlite.writes.attempts import write_attempts
from taskyard.stores.sqlite.writes.removal import remove_tasks

_HISTORY = frozenset(
    {"attempts", "outputs", "checkpoints", "signals", "outbox", "rescores", "redefined", "records"}
)  # parts of a set that `_write_history` writes
_READY_TEXT = 64  # characters at most in the data of the event of a task that becomes ready


def commit_sets(transaction: SqliteTransaction, sets: Sequence[ChangeSet]) -> list[Answer]:
    answers: list[Answer] = []
    while len(answers) < len(sets):
        answers += _commit_batch(transaction, *_take_batch(transaction, sets[len(answers) :]))
    return _move_counters(transaction, sets, answers) if any(each.counts for each in sets) else answers


Blocked = dict[str, list[TaskId]]  # the tasks that each name blocks


def _take_batch(transaction: SqliteTransaction, sets: Sequence[ChangeSet]) -> tuple[Batch, Blocked]:
    """As many of the first sets as can be committed together, at least one; and what the names block that they lift."""
    independent = batching.take_independent(sets)
    blocked = blockers.blocked_by(transaction, independent.lifted_blockers) if independent.lifted_blockers else {}
    parked = (
        blockers.blocking_names(transaction, set(independent.parking_blockers))
        if independent.parking_blockers
        else set[str]()
    )
    return batching.take_batch(independent, blocked, parked), blocked


def _commit_batch(transaction: SqliteTransaction, batch: Batch, blocked: Blocked) -> list[Answer]:
    parts = parts_in(batch.sets)
    refused = guards.find_refused(transaction, batch.sets, parts)
    passed = {place: each for place, each in enumerate(batch.sets) if place not in refused}
    sets = list(passed.values())
    placed = transaction.place_sets(_size_of_events(each, blocked) for each in sets)
    set_places = dict(zip(passed, placed, strict=True))
    _write_tasks(transaction, passed, set_places)
    lifts = collect_lifts(passed) if "lifts" in parts else []
    unblocked = blockers.lift_blockers(transaction, lifts, set_places) if lifts else {}
    if not parts.isdisjoint(_HISTORY):
        _write_history(transaction, sets)
    if "events" in parts:
        _write_events(transaction, {place: each for place, each in passed.items() if place != _last(batch)}, set_places)
    if doomed := [task_id for each in sets for task_id in each.removals]:
        remove_tasks(transaction, doomed)  # the log is written before it: nothing is added to these places any more
    limits = _move_limits(transaction, sets) if "spends" in parts or "ceilings" in parts else {}
    if (last := passed.get(_last(batch))) is not None:
        unblocked.setdefault(_last(batch), []).extend(_unpark(transaction, last, limits))
        transaction.append_events(last.events)
    return [
        refused[place] if place in refused else Committed({}, newly_ready(each, unblocked.get(place, [])))
        for place, each in enumerate(batch.sets)
    ]


def _last(batch: Batch) -> int:
    """The place of a set that may un-park tasks: how many is not known before. -1: there is none."""
    return len(batch.sets) - 1 if batch.unparks else -1


def _size_of_events(change_set: ChangeSet, blocked: Blocked) -> Size:
    """How many events the set has at most: each task that loses a blocker may become ready."""
    known = size_of([step.event for step in (*change_set.changes, *change_set.tasks)] + [*change_set.events])
    if not change_set.lifts:
        return known
    lifted = len(change_set.lifts) + len(change_set.blockers)
    lifted += sum(len(blocked.get(lift.name, ())) for lift in change_set.lifts if lift.task_id is None)
    return Size(known.events + lifted, known.text + _READY_TEXT * lifted)


def _write_tasks(
    transaction: SqliteTransaction, passed: Mapping[int, ChangeSet], set_places: Mapping[int, SetPlace]
) -> None:
    sets = passed.values()
    if changes := [change for each in sets for change in each.changes]:
        places = [set_places[place] for place, each in passed.items() for _ in each.changes]
        transaction.apply_changes(Part.CHANGES, places, changes)
    transaction.insert_tasks([(set_places[place], task) for place, each in passed.items() for task in each.tasks])
    transaction.write("insert_edges", [edge for each in sets for edge in each.edges])
    transaction.write("insert_blockers", [blocker for each in sets for blocker in each.blockers])


def _write_events(
    transaction: SqliteTransaction, passed: Mapping[int, ChangeSet], set_places: Mapping[int, SetPlace]
) -> None:
    if events := [(set_places[place], event) for place, each in passed.items() for event in each.events]:
        transaction.add_events(events)


def _write_history(transaction: SqliteTransaction, sets: Sequence[ChangeSet]) -> None:
    write = transaction.write
    write_attempts(transaction, sets)
    write("insert_checkpoints", [checkpoint for each in sets for checkpoint in each.checkpoints])
    write("insert_signals", [signal for each in sets for signal in each.signals])
    write("insert_outbox", [outbox for each in sets for outbox in each.outbox])
    if rescores := [rescore for each in sets for rescore in each.rescores]:
        _rescore(transaction, rescores)
    if redefined := [definition for each in sets for definition in each.redefined]:
        _redefine(transaction, redefined)
    if any(each.records for each in sets):
        _write_records(transaction, sets)


def _rescore(transaction: SqliteTransaction, rescores: Sequence[Rescore]) -> None:
    """Move waiting tasks to their new ranks. One that is held by now keeps its rank."""
    asked = (json_list(each.task_id for each in rescores),)
    waiting = {row[0]: row[1:] for row in transaction.connection.execute(SQL["rescored"], asked)}
    ready = json_list(seq for seq, status in waiting.values() if status == Status.READY)
    transaction.run("remove_ready", ready)
    scored = [(waiting[each.task_id][0], *each[1:]) for each in rescores if each.task_id in waiting]
    transaction.write("rescore", scored)
    transaction.run("insert_ready", ready)


def _redefine(transaction: SqliteTransaction, definitions: Sequence[Definition]) -> None:
    seqs = dict(transaction.connection.execute(SQL["seqs"], (json_list(each.id for each in definitions),)))
    stored = [each for each in definitions if each.id in seqs]
    for definition in stored:
        transaction.run("redefine", *rows.format_definition(definition), seqs[definition.id])
    transaction.run("remove_tags", json_list(seqs.values()))
    transaction.write("insert_tags", [(each.workspace, tag, seqs[each.id]) for each in stored for tag in each.tags])


def _write_records(transaction: SqliteTransaction, sets: Sequence[ChangeSet]) -> None:
    changes = [record for each in sets for record in each.records]
    transaction.write(
        "write_records",
        [
            (kind, workspace, id_, version + 1, rows.format_body(body))
            for kind, workspace, id_, version, body in changes
            if body is not None
        ],
    )
    for kind, workspace, id_, _, body in changes:
        if body is None:
            transaction.run("remove_record", kind, workspace, id_)
        if kind in PLANNED_ON:
            transaction.bump_epoch(workspace)


# Ceilings and counters are written last, in the order of their names.


def _move_limits(transaction: SqliteTransaction, sets: Sequence[ChangeSet]) -> dict[Key, Limit]:
    """Write spends and ceilings. Answers the limits that changed."""
    keys = {row[:2] for each in sets for row in chain(each.spends, each.ceilings)}
    if not keys:
        return {}
    limits = transaction.limits(sorted(keys))
    for each in sets:
        _fold_limits(limits, each)
    transaction.write_limits(limits.values())
    transaction.note_room(sets)
    return limits


def _unpark(transaction: SqliteTransaction, change_set: ChangeSet, limits: dict[Key, Limit]) -> list[Change]:
    """Make parked tasks ready where a ceiling may have more room than before."""
    eased = (limits[key] for key, _ in eased_ceilings(change_set))
    return [change for limit in eased for change in blockers.unpark(transaction, limit, change_set.at)]


def _fold_limits(limits: dict[Key, Limit], change_set: ChangeSet) -> None:
    for workspace, name, held, spent in change_set.spends:
        limit = limits[workspace, name]
        limits[workspace, name] = limit._replace(held=limit.held + held, spent=limit.spent + spent)
    for workspace, name, ceiling in change_set.ceilings:
        limits[workspace, name] = limits[workspace, name]._replace(ceiling=ceiling)


def _move_counters(transaction: SqliteTransaction, sets: Sequence[ChangeSet], answers: list[Answer]) -> list[Answer]:
    """Move the counters of the committed sets, and add them to the answers."""
    committed = [each for each, answer in zip(sets, answers, strict=True) if isinstance(answer, Committed)]
    keys = sorted({(count.workspace, count.name) for each in committed for count in each.counts})
    if not keys:
        return answers
    stored = {(row[0], row[1]): row[2] for row in multi_row("counters").ask(transaction.connection, keys)}
    values: dict[Key, int] = {key: stored.get(key, 0) for key in keys}
    for workspace, name, add, clear in chain.from_iterable(each.counts for each in committed):
        values[workspace, name] = add if clear else values[workspace, name] + add
    transaction.write("write_counters", [(*key, value) for key, value in values.items() if value])
    transaction.write("remove_counters", [key for key, value in values.items() if not value and key in stored])
    return add_counts(sets, answers, values)
