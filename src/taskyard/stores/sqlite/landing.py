"""How change sets land: many at once, each as if it were alone and they came one after the other.

Sets are taken in waves. In a wave nothing that one set writes is read or written by another, so its guards are checked
together and its rows are written together. A set that depends on one before it begins the next wave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from taskyard.core import claiming
from taskyard.core.changes import PLANNED_ON, Change, ChangeSet, Committed, Conflict, Limit, Taken
from taskyard.core.task import Definition, Status, TaskId
from taskyard.stores.sets import owned_key
from taskyard.stores.sqlite import guards, lifting, rows
from taskyard.stores.sqlite.rows import names_text
from taskyard.stores.sqlite.statements import SQL, wide
from taskyard.stores.sqlite.transaction import Key, Transaction

Answer = Committed | Conflict | Taken


def land(transaction: Transaction, sets: Sequence[ChangeSet]) -> list[Answer]:
    answers: list[Answer] = []
    while len(answers) < len(sets):
        wave = _wave(transaction, sets[len(answers) :])
        answers += _land_wave(transaction, wave)
    return _count(transaction, sets, answers)


# Waves.


class _Reach:
    """What the sets of a wave touch."""

    def __init__(self) -> None:
        self.read: set[object] = set()
        self.written: set[object] = set()
        self.blocking: set[str] = set()  # names of blockers that are put on
        self.lifting: set[str] = set()  # names of those that are taken off everything
        self.parking: set[str] = set()  # names of those that are taken off as far as there is room

    def add(self, change_set: ChangeSet) -> bool:
        """Take the set in, if it is apart from all that are in."""
        read, written = {each.task_id for each in change_set.expects}, set(_written(change_set))
        blocking = {each.name for each in change_set.blockers}
        lifting = {each.name for each in change_set.lifts if each.task_id is None}
        parking = {name for _, name in _parking(change_set)}
        if not (
            written.isdisjoint(self.written)
            and written.isdisjoint(self.read)
            and read.isdisjoint(self.written)
            and blocking.isdisjoint(self.lifting)
            and blocking.isdisjoint(self.parking)
            and lifting.isdisjoint(self.blocking)
            and parking.isdisjoint(self.blocking)
        ):
            return False
        self.read |= read
        self.written |= written
        self.blocking |= blocking
        self.lifting |= lifting
        self.parking |= parking
        return True


def _written(change_set: ChangeSet) -> Iterator[object]:
    """The rows a set writes whoever else is about: ids of tasks, idempotency keys, records."""
    for before, after, _, _ in change_set.changes:
        yield before.id
        if before.idempotency_key is not None or after.idempotency_key is not None:
            yield from {key for hot in (before, after) if (key := owned_key(hot)) is not None}
    for hot, _, _ in change_set.tasks:
        yield hot.id
        if (key := owned_key(hot)) is not None:
            yield key
    for each in chain(change_set.blockers, change_set.rescores):
        yield each.task_id
    for lift in change_set.lifts:
        if lift.task_id is not None:
            yield lift.task_id
    yield from change_set.removals
    yield from (definition.id for definition in change_set.redefined)
    yield from ((record.kind, record.workspace, record.id) for record in change_set.records)
    yield from (checkpoint[:2] for checkpoint in change_set.checkpoints)


def _wave(transaction: Transaction, sets: Sequence[ChangeSet]) -> Sequence[ChangeSet]:
    """As many of the first sets as may land together: at least one."""
    reach = _Reach()
    apart = next((place for place, each in enumerate(sets) if not reach.add(each)), len(sets))
    blocked = lifting.blocked_by(transaction, reach.lifting) if reach.lifting else {}
    parked = lifting.blocking(transaction, reach.parking) if reach.parking else set[str]()
    return sets[: _undisturbed(sets[:apart], blocked, parked)] if blocked or parked else sets[:apart]


def _undisturbed(sets: Sequence[ChangeSet], blocked: dict[str, list[TaskId]], parked: set[str]) -> int:
    """How many of the first sets touch nothing that one before them lifts or un-parks."""
    lifted: set[object] = set()
    for place, each in enumerate(sets):
        touched = {expect.task_id for expect in each.expects}.union(_written(each))
        if not touched.isdisjoint(lifted):
            return place
        if any(name in parked for _, name in _parking(each)):
            return place + 1
        for lift in each.lifts:
            lifted.update(blocked.get(lift.name, ()))
    return len(sets)


def _eased(change_set: ChangeSet) -> set[Key]:
    """The ceilings that may have more room after the set than before."""
    eased = {(each.workspace, each.name) for each in change_set.ceilings}
    eased.update((each.workspace, each.name) for each in change_set.spends if each.held < 0 or each.spent < 0)
    return eased


def _parking(change_set: ChangeSet) -> Iterator[tuple[Key, str]]:
    """Those of them that tasks may be parked on, and the name of the blocker."""
    if change_set.spends or change_set.ceilings:
        for key in sorted(_eased(change_set)):
            if (name := claiming.parked_on(key[1])) is not None:
                yield key, name


# One wave.


def _land_wave(transaction: Transaction, wave: Sequence[ChangeSet]) -> list[Answer]:
    refused = guards.refused(transaction, wave)
    passed = {place: each for place, each in enumerate(wave) if place not in refused}
    sets = list(passed.values())
    _write_tasks(transaction, sets)
    freed = _lift(transaction, passed)
    _write_papers(transaction, sets)
    _remove(transaction, [task_id for each in sets for task_id in each.removals])
    for place, changes in _move_limits(transaction, passed).items():
        freed.setdefault(place, []).extend(changes)
    for place, each in passed.items():
        stepped = chain(each.changes, each.tasks, freed.get(place, ()))
        transaction.tell(chain((step.event for step in stepped), each.events))
    return [
        Committed({}, _readied(each, freed.get(place, []))) if place in passed else refused[place]
        for place, each in enumerate(wave)
    ]


def _write_tasks(transaction: Transaction, sets: Sequence[ChangeSet]) -> None:
    changes = [change for each in sets for change in each.changes]
    # Last those that take a key: by then, whoever had it in the same set has let it go.
    taking = [change for change in changes if guards.takes_key(change)]
    transaction.move(changes if not taking else [change for change in changes if not guards.takes_key(change)])
    transaction.move(taking)
    transaction.insert([task for each in sets for task in each.tasks])
    transaction.write("insert_edges", [edge for each in sets for edge in each.edges])
    transaction.write("insert_blockers", [blocker for each in sets for blocker in each.blockers])


def _lift(transaction: Transaction, passed: dict[int, ChangeSet]) -> dict[int, list[Change]]:
    lifts = [lifting.Lifted(place, each.at, lift) for place, each in passed.items() for lift in each.lifts]
    return lifting.lift(transaction, lifts) if lifts else {}


def _write_papers(transaction: Transaction, sets: Sequence[ChangeSet]) -> None:
    write = transaction.write
    write("insert_attempts", [attempt for each in sets for attempt in each.attempts])
    write("insert_outputs", [rows.output_row(output) for each in sets for output in each.outputs])
    write("insert_checkpoints", [checkpoint for each in sets for checkpoint in each.checkpoints])
    write("insert_signals", [signal for each in sets for signal in each.signals])
    write("insert_outbox", [outbox for each in sets for outbox in each.outbox])
    write("rescore", [rescore for each in sets for rescore in each.rescores])
    _redefine(transaction, [definition for each in sets for definition in each.redefined])
    _write_records(transaction, sets)


def _redefine(transaction: Transaction, definitions: Sequence[Definition]) -> None:
    if not definitions:
        return
    seqs = dict(transaction.connection.execute(SQL["seqs"], (names_text(each.id for each in definitions),)))
    for definition in definitions:
        transaction.run("redefine", *rows.definition_row(definition), definition.id)
    transaction.run("remove_tags", names_text(seqs.values()))
    tags = [(each.workspace, tag, seqs[each.id]) for each in definitions if each.id in seqs for tag in each.tags]
    transaction.write("insert_tags", tags)


def _write_records(transaction: Transaction, sets: Sequence[ChangeSet]) -> None:
    changes = [record for each in sets for record in each.records]
    transaction.write(
        "write_records",
        [
            (kind, workspace, id_, version + 1, rows.body_text(body))
            for kind, workspace, id_, version, body in changes
            if body is not None
        ],
    )
    for kind, workspace, id_, _, body in changes:
        if body is None:
            transaction.run("remove_record", kind, workspace, id_)
        if kind in PLANNED_ON:
            transaction.bump_epoch(workspace)


def _remove(transaction: Transaction, task_ids: Sequence[TaskId]) -> None:
    """Forget the tasks and everything that is only theirs."""
    if not task_ids:
        return
    transaction.flush_events()
    ids = names_text(task_ids)
    transaction.pruned(transaction.connection.execute(SQL["last_doomed_event"], (ids,)).get)
    for workspace, dag_id in list(transaction.connection.execute(SQL["doomed_dags"], (ids,))):
        transaction.run("remove_record", "dag", workspace, dag_id)
        transaction.run("remove_dag_limit", workspace, dag_id)
        transaction.run("remove_dag_counters", workspace, dag_id, dag_id)
    for what in (
        *("definitions", "tags_of", "events", "outputs", "attempts", "checkpoints", "signals", "blockers_of"),
        *("edges_from", "edges_to", "outbox", "dead", "tasks"),
    ):
        transaction.run(f"remove_{what}", ids)


# Ceilings and counters: last, and in the order of their names.


def _move_limits(transaction: Transaction, passed: dict[int, ChangeSet]) -> dict[int, list[Change]]:
    """Write spends and ceilings, then un-park where there may be more room than before."""
    keys = {(each.workspace, each.name) for s in passed.values() for each in chain(s.spends, s.ceilings)}
    if not keys:
        return {}
    limits = transaction.limits(sorted(keys))
    for each in passed.values():
        _fold_limits(limits, each)
    transaction.write_limits(limits.values())
    freed: dict[int, list[Change]] = {}
    for place, each in passed.items():
        for key, _ in _parking(each):
            freed.setdefault(place, []).extend(lifting.unpark(transaction, limits[key], each.at))
    return freed


def _fold_limits(limits: dict[Key, Limit], change_set: ChangeSet) -> None:
    for workspace, name, held, spent in change_set.spends:
        limit = limits[workspace, name]
        limits[workspace, name] = limit._replace(held=limit.held + held, spent=limit.spent + spent)
    for workspace, name, ceiling in change_set.ceilings:
        limits[workspace, name] = limits[workspace, name]._replace(ceiling=ceiling)


def _count(transaction: Transaction, sets: Sequence[ChangeSet], answers: list[Answer]) -> list[Answer]:
    """Move the counters of what landed, and answer each set with those it moved."""
    counted = [each.counts if isinstance(answer, Committed) else () for each, answer in zip(sets, answers, strict=True)]
    keys = sorted({(count.workspace, count.name) for counts in counted for count in counts})
    if not keys:
        return answers
    stored = {(row[0], row[1]): row[2] for row in wide("counters").ask(transaction.connection, keys)}
    values: dict[Key, int] = {key: stored.get(key, 0) for key in keys}
    for workspace, name, add, clear in chain.from_iterable(counted):
        values[workspace, name] = add if clear else values[workspace, name] + add
    transaction.write("write_counters", [(*key, value) for key, value in values.items() if value])
    transaction.write("remove_counters", [key for key, value in values.items() if not value and key in stored])
    return [
        answer._replace(counts={count.name: values[count.workspace, count.name] for count in counts})
        if isinstance(answer, Committed)
        else answer
        for counts, answer in zip(counted, answers, strict=True)
    ]


def _readied(change_set: ChangeSet, freed: Iterable[Change]) -> tuple[TaskId, ...]:
    new = [task.hot.id for task in change_set.tasks if task.hot.status is Status.READY]
    steps = chain(change_set.changes, freed)
    return (*new, *(after.id for before, after, _, _ in steps if Status.READY is after.status is not before.status))
