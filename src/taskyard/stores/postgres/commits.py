"""How change sets land: many at once, each as if it were alone and they came one after the other.

Sets are taken in waves, in which none depends on another. A wave is a transaction: its guards are checked together, and
its rows are written together. Every guard is looked at before anything is written, so a set that is refused leaves no
trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from taskyard.core.changes import PLANNED_ON, Change, ChangeSet, Committed, Limit, RecordChange
from taskyard.core.identifiers import dag_ceiling, is_slots_ceiling
from taskyard.core.task import Definition, TaskId
from taskyard.stores.postgres import blockers, guards, removal
from taskyard.stores.postgres.statements import columns
from taskyard.stores.postgres.transaction import Transaction, limit_of
from taskyard.stores.shared import rows
from taskyard.stores.shared.commits import batching
from taskyard.stores.shared.commits.batching import Key, eased_ceilings
from taskyard.stores.shared.commits.change_sets import Answer, newly_ready
from taskyard.stores.shared.commits.conflicts import takes_key
from taskyard.stores.shared.commits.lifts import collect_lifts

Counts = dict[Key, int]


async def land(
    transaction: Transaction, sets: Sequence[ChangeSet], also_lock: frozenset[TaskId], *, wary: bool
) -> tuple[list[Answer], Counts]:
    """Land as many of the first sets as may land together: how each fared, and the counters that were moved."""
    sets, children = await _first_wave(transaction, sets)
    await _keep_claims_out(transaction, sets)
    refused = await guards.refused(transaction, sets, also_lock | children, wary=wary)
    passed = {place: each for place, each in enumerate(sets) if place not in refused}
    landing = list(passed.values())
    await _write_tasks(transaction, landing)
    await _write_papers(transaction, landing)
    freed = await _lift(transaction, passed)
    await removal.remove(transaction, [task_id for each in landing for task_id in each.removals])
    easing = {place: names for place, each in passed.items() if (names := eased_ceilings(each))}
    counts = await _move(transaction, passed, freed, easing)
    answers: list[Answer] = [
        refused[place] if place in refused else Committed({}, newly_ready(each, freed.get(place, [])))
        for place, each in enumerate(sets)
    ]
    return answers, counts


async def _first_wave(
    transaction: Transaction, sets: Sequence[ChangeSet]
) -> tuple[Sequence[ChangeSet], frozenset[TaskId]]:
    """The sets, and the tasks that they will lift a blocker off: read unlocked, to be locked with the others."""
    independent = batching.take_independent(sets)
    blocked: dict[str, list[TaskId]] = {}
    for name, task_id in (
        await transaction.ask("blocked_by", independent.lifted_blockers) if independent.lifted_blockers else ()
    ):
        blocked.setdefault(name, []).append(task_id)
    parked = await blockers.blocking(transaction, set(independent.parking_blockers))
    wave = batching.take_batch(independent, blocked, parked)
    return wave.sets, frozenset(task_id for each in blocked.values() for task_id in each)


async def _keep_claims_out(transaction: Transaction, sets: Sequence[ChangeSet]) -> None:
    """Where something changes that claims are planned on, or a ceiling that one may have read."""
    workspaces = {record.workspace for each in sets for record in each.records if record.kind in PLANNED_ON}
    for each in sets:
        new = {dag_ceiling(task.hot.dag_id) for task in each.tasks if task.hot.dag_id is not None}
        workspaces.update(ceiling.workspace for ceiling in each.ceilings if ceiling.name not in new)
    if workspaces:
        await transaction.keep_claims_out(workspaces)


async def _write_tasks(transaction: Transaction, sets: Sequence[ChangeSet]) -> None:
    changes = [change for each in sets for change in each.changes]
    taking = [change for change in changes if takes_key(change)]
    if taking:
        # Last those that take a key: by then, whoever had it in the same set has let it go.
        transaction.move(change for change in changes if not takes_key(change))
        await transaction.flush()
    transaction.move(taking or changes)
    tasks = [task for each in sets for task in each.tasks]
    if tasks and any(change.before.idempotency_key for change in changes):
        await transaction.flush()
    transaction.insert(tasks)
    transaction.write("insert_edges", list({edge for each in sets for edge in each.edges}))
    transaction.write("insert_blockers", list({blocker for each in sets for blocker in each.blockers}))


def write_ends(transaction: Transaction, sets: Sequence[ChangeSet]) -> None:
    """What is kept of attempts that end."""
    write = transaction.write
    # Of two for one place the last: one statement may not write a row twice.
    write("insert_attempts", list({attempt[:2]: attempt for each in sets for attempt in each.attempts}.values()))
    outputs = {output.task_id: rows.format_output(output) for each in sets for output in each.outputs}
    write("insert_outputs", list(outputs.values()))
    write("insert_outbox", [outbox for each in sets for outbox in each.outbox])


async def _write_papers(transaction: Transaction, sets: Sequence[ChangeSet]) -> None:
    write = transaction.write
    write_ends(transaction, sets)
    write("insert_checkpoints", _once([checkpoint for each in sets for checkpoint in each.checkpoints]))
    write("insert_signals", [signal for each in sets for signal in each.signals])
    await _write_records(transaction, [record for each in sets for record in each.records])
    if rescores := [rescore for each in sets for rescore in each.rescores]:
        # By the status after the changes, and a row may be both changed and rescored.
        await transaction.flush()
        write("rescore", list({rescore.task_id: rescore for rescore in rescores}.values()))
    await _redefine(transaction, [definition for each in sets for definition in each.redefined])


def _once(checkpoints: Sequence[rows.Row]) -> list[rows.Row]:
    """Of two for one step in one set the first."""
    return list({row[:2]: row for row in reversed(checkpoints)}.values())[::-1]


async def _redefine(transaction: Transaction, definitions: Sequence[Definition]) -> None:
    if not definitions:
        return
    await transaction.flush()
    await transaction.run("redefine", *columns([(each.id, *rows.format_definition(each)) for each in definitions], 8))
    transaction.write("insert_tags", [(each.id, each.workspace, tag) for each in definitions for tag in each.tags])


async def _write_records(transaction: Transaction, changes: Sequence[RecordChange]) -> None:
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


async def _lift(transaction: Transaction, passed: dict[int, ChangeSet]) -> dict[int, list[Change]]:
    lifts = collect_lifts(passed)
    if not lifts:
        return {}
    await transaction.flush()
    return await blockers.lift(transaction, lifts)


# Ceilings and counters: last, and in the order of their names.


async def _move(
    transaction: Transaction,
    passed: dict[int, ChangeSet],
    freed: dict[int, list[Change]],
    easing: dict[int, list[tuple[Key, str]]],
) -> Counts:
    """Move ceilings and counters, un-park where there is room again, and tell the events."""
    sets = list(passed.values())
    spends, folded = folded_limits(sets), folded_counts(sets)
    if easing or ((spends or folded) and any(each.tasks or each.records or each.checkpoints for each in sets)):
        # What is new may wait for others who have the same, and that comes before a ceiling is waited for.
        await transaction.flush()
    if easing or any(each.ceilings for each in sets):
        limits = await _move_limits(transaction, sets, spends)
        for place, changes in (await _unpark(transaction, passed, easing, limits)).items():
            freed.setdefault(place, []).extend(changes)
        spends = {}
    for place, each in passed.items():
        transaction.tell([step.event for step in (*each.changes, *each.tasks, *freed.get(place, ()))])
        transaction.tell(each.events)
    transaction.tell_now()
    return await finish(transaction, spends, folded)


async def finish(
    transaction: Transaction, spends: dict[Key, tuple[int, int]], folded: dict[Key, tuple[bool, int]]
) -> Counts:
    """Send the rest, with what is given and taken; the counters that were moved are answered."""
    transaction.write("clear_counters", [key for key, (clear, _) in folded.items() if clear])
    if any(clear and add for clear, add in folded.values()):
        await transaction.flush()
    transaction.move_limits([(*key, *moved) for key, moved in spends.items()])
    transaction.write("move_counters", [(*key, add) for key, (clear, add) in folded.items() if add or not clear])
    answering = [name for name, moved in (("move_limits", spends), ("move_counters", folded)) if moved]
    if folded and all(clear and not add for clear, add in folded.values()):
        answering.remove("move_counters")
    found = await transaction.flush(answering)
    await remove_idle(transaction, [row for row in found if not row[5]])
    counts: Counts = {key: add for key, (_, add) in folded.items()}
    counts.update({(row[0], row[1]): row[3] for row in found if row[5]})
    return counts


async def _move_limits(
    transaction: Transaction, sets: Sequence[ChangeSet], spends: dict[Key, tuple[int, int]]
) -> dict[Key, Limit]:
    """Write spends and ceilings; the limits that moved are answered, locked."""
    transaction.move_limits([(*key, *moved) for key, moved in spends.items()])
    found = await transaction.flush(["move_limits"])
    limits = dict(limit_of(row) for row in found)
    ceilings = {ceiling[:2]: ceiling.ceiling for each in sets for ceiling in each.ceilings}
    if ceilings:
        await transaction.run("set_ceilings", *columns([(*key, value) for key, value in ceilings.items()], 3))
        limits.update({key: limits[key]._replace(ceiling=value) for key, value in ceilings.items()})
    await remove_idle(transaction, limits.values())
    return limits


async def remove_idle(transaction: Transaction, limits: Iterable[rows.Row]) -> None:
    """One that limits nothing and holds nothing has no row. Slots keep theirs: they are wanted again."""
    idle = [row[:2] for row in limits if tuple(row[2:5]) == (None, 0, 0) and not is_slots_ceiling(row[1])]
    if idle:
        await transaction.run("remove_idle_limits", *columns(idle, 2))


async def _unpark(
    transaction: Transaction,
    passed: dict[int, ChangeSet],
    easing: dict[int, list[tuple[Key, str]]],
    limits: dict[Key, Limit],
) -> dict[int, list[Change]]:
    """Let go where there may be more room than before.

    Looked for under the locks, whatever was seen when the waves were made: a claim may have parked since.
    """
    blocking = await blockers.blocking(transaction, {name for names in easing.values() for _, name in names})
    last = {key: place for place, names in easing.items() for key, name in names if name in blocking}
    freed: dict[int, list[Change]] = {}
    for key, place in sorted(last.items(), key=lambda each: (each[1], each[0])):
        changes = await blockers.unpark(transaction, limits[key], passed[place].at)
        freed.setdefault(place, []).extend(changes)
    return freed


def folded_limits(sets: Sequence[ChangeSet]) -> dict[Key, tuple[int, int]]:
    folded: dict[Key, tuple[int, int]] = {}
    for each in sets:
        for workspace, name, held, spent in each.spends:
            before = folded.get((workspace, name), (0, 0))
            folded[workspace, name] = before[0] + held, before[1] + spent
        for ceiling in each.ceilings:
            folded.setdefault(ceiling[:2], (0, 0))
    return folded


def folded_counts(sets: Sequence[ChangeSet]) -> dict[Key, tuple[bool, int]]:
    """For each counter whether it begins again at nothing, and what is added."""
    folded: dict[Key, tuple[bool, int]] = {}
    for workspace, name, add, clear in chain.from_iterable(each.counts for each in sets):
        cleared, before = folded.get((workspace, name), (False, 0))
        folded[workspace, name] = (True, add) if clear else (cleared, before + add)
    return folded
