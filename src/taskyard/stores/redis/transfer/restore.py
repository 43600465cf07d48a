"""Encodes copies of another yard's rows as the steps that `restore.lua` executes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from taskyard.core.changes import (
    Blocker,
    ChangeSet,
    Checkpoint,
    Edge,
    Event,
    Limit,
    NewTask,
    Output,
    Record,
    RecordChange,
    Signal,
    StoredEvent,
)
from taskyard.core.task import Attempt, LaneId
from taskyard.core.units import Micros
from taskyard.stores.copies import (
    Copy,
    CounterCopy,
    DutyCopy,
    OutboxCopy,
    PrunedEvents,
    PulseCopy,
    TaskCopy,
    YardSecret,
    copies_of,
)
from taskyard.stores.redis import encoding
from taskyard.stores.redis.commits import history_steps
from taskyard.stores.redis.encoding import Step, to_json
from taskyard.stores.shared.log_rows import restored_rows, split_number

_NO_EVENT = Event("", "", None, None, Micros(0), None, None, None, None)  # events come by themselves
_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode


def encode_restore(
    copies: Sequence[Copy], lanes: Sequence[LaneId], progress: RecordChange, *, now: Micros | None
) -> list[str]:
    """The arguments of the script. `lanes` are those of the tasks among the copies, in their order."""
    tasks = [
        NewTask(copy.hot._replace(lane=lane), copy.definition, _NO_EVENT)
        for copy, lane in zip(copies_of(TaskCopy, copies), lanes, strict=True)
    ]
    texts = encoding.format_definitions(tasks)
    steps = [*_task_steps(tasks), *_event_steps(copies, texts), *_other_steps(copies)]
    steps += history_steps(_history(copies, progress), texts)
    return [_text((to_json(now), progress[:4], steps)), *texts]


def _task_steps(tasks: Sequence[NewTask]) -> Iterator[Step]:
    if tasks:
        parents = [[*task.definition.depends_on, *filter(None, [task.definition.parent_id])] for task in tasks]
        yield "tasks", 2, list(zip(encoding.new_task_fields(tasks), parents, strict=True))


def _event_steps(copies: Sequence[Copy], texts: list[str]) -> Iterator[Step]:
    """The bodies of entries are arguments behind the definitions."""
    events = copies_of(StoredEvent, copies)
    by_entry: defaultdict[tuple[int, str], list[Event]] = defaultdict(list)
    for seq, event, _ in events:
        by_entry[split_number(seq)[0], event.workspace].append(event)
    for number, _, row in restored_rows(events):
        mine = by_entry[number, row.workspace]
        texts.append(row.body)
        tasks = sorted({event.task_id for event in mine if event.task_id is not None})
        dags = sorted({event.dag_id for event in mine if event.task_id is None and event.dag_id is not None})
        yield "entry", row.workspace, number, row.owners, row.loose, len(texts) + 1, tasks, dags


def _other_steps(copies: Sequence[Copy]) -> Iterator[Step]:
    yield from (("edge", *each) for each in copies_of(Edge, copies))
    yield from (("block", *each) for each in copies_of(Blocker, copies))
    yield from (("limit", *map(to_json, each)) for each in copies_of(Limit, copies))
    yield from (("counter", *each) for each in copies_of(CounterCopy, copies))
    yield from (("duty", name, str(until)) for name, until in copies_of(DutyCopy, copies))
    yield from (("pulse", name, str(at)) for name, at in copies_of(PulseCopy, copies))
    yield from (("pruned", workspace, str(through)) for workspace, through in copies_of(PrunedEvents, copies))
    yield from (("secret", each.secret.hex()) for each in copies_of(YardSecret, copies))


def _history(copies: Sequence[Copy], progress: RecordChange) -> ChangeSet:
    records = [RecordChange(*each[:3], each.version - 1, each.body) for each in copies_of(Record, copies)]
    return ChangeSet(
        at=Micros(0),
        attempts=tuple(copies_of(Attempt, copies)),
        outputs=tuple(copies_of(Output, copies)),
        checkpoints=tuple(copies_of(Checkpoint, copies)),
        signals=tuple(copies_of(Signal, copies)),
        records=(*records, progress),
        outbox=tuple(each.outbox for each in copies_of(OutboxCopy, copies)),
    )
