"""Copies of the rows, and writing rows from copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from taskyard.core.changes import (
    Blocker,
    Checkpoint,
    Edge,
    Limit,
    Output,
    Record,
    RecordChange,
    Signal,
    StoredEvent,
)
from taskyard.core.task import Attempt, Hot, Lane
from taskyard.stores.copies import (
    Copy,
    CopyPlace,
    CounterCopy,
    DutyCopy,
    OutboxCopy,
    PrunedEvents,
    PulseCopy,
    TaskCopy,
    TaskPart,
    YardPart,
    YardSecret,
    last_event,
    place_of,
)
from taskyard.stores.memory.tables import Tables, copied


def dump(tables: Tables, part: YardPart, after: CopyPlace, limit: int) -> list[Copy]:
    if part is YardPart.TASKS:
        lanes = {number: lane for lane, number in tables.lanes.items()}
        behind = (hot for hot in tables.hot.values() if (hot.seq,) > after)
        return [copy for hot in islice(behind, limit) for copy in _task_copies(tables, hot, lanes[hot.lane])]
    found = [copy for copy in _COPIES[part](tables) if place_of(copy) > after]
    return sorted(found, key=place_of)[:limit]


_COPIES: Mapping[YardPart, Callable[[Tables], Iterable[Copy]]] = {
    YardPart.RECORDS: lambda tables: map(copied, tables.records.values()),
    YardPart.LIMITS: lambda tables: tables.limits.values(),
    YardPart.COUNTERS: lambda tables: (CounterCopy(*key, value) for key, value in tables.counters.items()),
    YardPart.DUTIES: lambda tables: (DutyCopy(*each) for each in tables.duties.items()),
    YardPart.PULSES: lambda tables: (PulseCopy(*each) for each in tables.pulses.items()),
    YardPart.PRUNED: lambda tables: (PrunedEvents(*each) for each in tables.pruned.items()),
    YardPart.EVENTS: lambda tables: tables.events,
    YardPart.OUTBOX: lambda tables: (OutboxCopy(*each) for each in tables.outbox.items()),
}


def _task_copies(tables: Tables, hot: Hot, lane: Lane) -> Iterator[Copy]:
    yield TaskCopy(hot, lane, tables.definitions[hot.id])
    attempts = tables.attempts.get(hot.id, {})
    yield from (attempts[number] for number in sorted(attempts))
    if (output := tables.outputs.get(hot.id)) is not None:
        yield output
    yield from tables.checkpoints.get(hot.id, {}).values()
    yield from tables.signals.get(hot.id, ())
    yield from sorted(tables.blocked.get(hot.id, ()))
    yield from sorted(tables.edges.get(hot.id, ()))


def restore(tables: Tables, copies: Sequence[Copy], progress: RecordChange) -> bool:
    record = tables.records.get((progress.kind, progress.workspace, progress.id))
    if progress.version != (0 if record is None else record.version):
        return False
    for copy in copies:
        _write(tables, copy)
    tables.reserve_events(last_event(copies))
    tables.write_record(progress)
    return True


def _write(tables: Tables, copy: Copy) -> None:
    match copy:
        case Record():
            tables.put_record(copy)
        case Limit():
            tables.set_limit(copy)
        case CounterCopy():
            tables.counters[copy.workspace, copy.name] = copy.value
        case DutyCopy():
            tables.duties[copy.name] = copy.until
        case PulseCopy():
            tables.pulses[copy.name] = copy.at
        case PrunedEvents():
            tables.pruned[copy.workspace] = copy.through
        case TaskCopy():
            tables.insert(copy.hot._replace(lane=tables.lane_id(copy.lane)), copy.definition)
        case StoredEvent():
            tables.events.append(copy)
        case OutboxCopy():
            tables.add_outbox(copy.outbox)
        case YardSecret():
            pass  # the store has it
        case _:
            _write_part(tables, copy)


def _write_part(tables: Tables, copy: TaskPart) -> None:
    match copy:
        case Attempt():
            tables.attempts.setdefault(copy.task_id, {})[copy.number] = copy
        case Output():
            tables.outputs[copy.task_id] = copy
        case Checkpoint():
            tables.checkpoints.setdefault(copy.task_id, {})[copy.name] = copy
        case Signal():
            tables.signals.setdefault(copy.task_id, []).append(copy)
        case Blocker():
            tables.block(copy)
        case Edge():
            tables.edges.setdefault(copy.parent, set()).add(copy)
