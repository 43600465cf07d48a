"""A change set as the guards and writes that `commit.lua` goes through: names of its functions, each with its words.

Everything that can be known without looking at the store is decided here. Order within a set is that of the contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskyard.core.changes import PLANNED_ON, ChangeSet, RecordChange
from taskyard.core.codec import encode_definition
from taskyard.core.dag import count_names
from taskyard.core.errors import InvalidInput
from taskyard.core.task import DagId
from taskyard.stores.guarding import takes_key
from taskyard.stores.redis import rows
from taskyard.stores.redis.rows import NONE, Word, optional
from taskyard.stores.rows import body_text
from taskyard.stores.sets import owned_key
from taskyard.stores.waves import Key, parking

_Step = Sequence[Word]
_MOST_WORDS = 1_000_000  # a server hangs up on a command of more than 2**20
_DAG_WORDS = tuple(count_names(DagId("")))


def counters(sets: Sequence[ChangeSet]) -> list[Key]:
    """Those that the batch moves, each once."""
    return list(dict.fromkeys((count.workspace, count.name) for each in sets for count in each.counts))


def makes_room(sets: Sequence[ChangeSet]) -> bool:
    """Whether nothing is done but to remove: that must go on where no memory is left."""
    return all(each.removals and not (each.tasks or each.changes or each.records) for each in sets)


def batch(sets: Sequence[ChangeSet], moved: Sequence[Key]) -> list[Word]:
    """The words of a whole batch; `moved` are the counters to be answered."""
    words: list[Word] = [int(makes_room(sets)), 2 * len(moved), *(word for key in moved for word in key), len(sets)]
    for each in sets:
        planned = _planned(each)
        words.append(len(planned))
        words += planned
    if len(words) > _MOST_WORDS:
        raise InvalidInput("tasks", "must be handed in by fewer at a time: these are more than one command can carry")
    return words


def _planned(change_set: ChangeSet) -> list[Word]:
    words: list[Word] = [change_set.at]
    for steps in (_guards(change_set), _writes(change_set)):
        counted = len(words)
        words.append(0)
        for count, step in enumerate(steps, 1):
            words += step
            words[counted] = count
    return words


def _guards(change_set: ChangeSet) -> Iterator[_Step]:
    """Conflicts first, as they are told before what is taken."""
    for before, _, _, expiring, unbeaten in change_set.changes:
        yield "change", before.id, before.version
        if expiring:
            yield "expire", before.id, optional(before.lease_expires_at)
        if unbeaten:
            yield "unbeaten", before.id, optional(before.lease_expires_at)
    for task_id, version in change_set.expects:
        yield "expect", task_id, version
    for kind, workspace, id_, version, _ in change_set.records:
        yield "record", kind, workspace, id_, version
    for checkpoint in change_set.checkpoints:
        yield "checkpoint", checkpoint.task_id, checkpoint.name
    for task in change_set.tasks:
        yield "new", task.hot.id
    yield from _keys(change_set)


def _keys(change_set: ChangeSet) -> Iterator[_Step]:
    """The keys that the set makes somebody's own who did not have them, whose, and who has them after its changes."""
    wanted = [change.after for change in change_set.changes if takes_key(change)]
    wanted += [task.hot for task in change_set.tasks if task.hot.idempotency_key is not None]
    if not wanted:
        return
    kept = {owned_key(change.after): change.after.id for change in change_set.changes}
    for hot in wanted:
        if (key := owned_key(hot)) is not None:
            yield "key", *key, hot.id, optional(kept.get(key))


def _writes(change_set: ChangeSet) -> Iterator[_Step]:
    yield from _tasks(change_set)
    for edge in change_set.edges:
        yield "edge", *edge
    for blocker in change_set.blockers:
        yield "block", *blocker
    for name, task_id, ends_wait in change_set.lifts:
        yield "lift", name, optional(task_id), int(ends_wait)
    yield from _papers(change_set)
    for task_id in change_set.removals:
        yield "remove", task_id, len(_DAG_WORDS), *_DAG_WORDS
    yield from _movements(change_set)
    yield "tell", *_events(change_set)


def _tasks(change_set: ChangeSet) -> Iterator[_Step]:
    for before, after, *_ in change_set.changes:
        moved = rows.moved(before, after)
        yield "change", before.id, len(moved) // 2, *moved
    for hot, definition, _ in change_set.tasks:
        fields = rows.fields(hot)
        yield (
            *("insert", hot.id, encode_definition(definition), len(fields) // 2 + 1),
            *(*fields, "type", definition.type),
        )


def _papers(change_set: ChangeSet) -> Iterator[_Step]:
    for attempt in change_set.attempts:
        yield "paper", attempt.task_id, f"attempt:{attempt.number}", rows.attempt_text(attempt)
    for output in change_set.outputs:
        yield "paper", output.task_id, "output", rows.output_text(output)
    for checkpoint in change_set.checkpoints:
        yield "checkpoint", checkpoint.task_id, checkpoint.name, rows.checkpoint_text(checkpoint)
    for signal in change_set.signals:
        yield "signal", signal.task_id, rows.signal_text(signal)
    for record in change_set.records:
        yield _record(record)
    for definition in change_set.redefined:
        yield "redefine", definition.id, definition.type, encode_definition(definition)
    for outbox in change_set.outbox:
        yield "post", outbox.topic, optional(outbox.task_id), rows.outbox_text(outbox)
    for task_id, rank, height, rescore_at in change_set.rescores:
        fields = ("rank", rank or NONE, "height", height or NONE, "rescore_at", optional(rescore_at))
        yield "rescore", task_id, 3, *fields


def _record(change: RecordChange) -> _Step:
    kind, workspace, id_, version, body = change
    of = body.get("task_id") if kind == "dead" and body else None
    return (
        *("record", kind, workspace, id_, version + 1, NONE if body is None else body_text(body)),
        *(of if isinstance(of, str) else NONE, int(kind in PLANNED_ON)),
    )


def _movements(change_set: ChangeSet) -> Iterator[_Step]:
    for spend in change_set.spends:
        yield "spend", *spend
    for workspace, name, ceiling in change_set.ceilings:
        yield "ceiling", workspace, name, optional(ceiling)
    for key, _ in parking(change_set):
        yield "ease", *key
    for workspace, name, add, clear in change_set.counts:
        yield "count", workspace, name, add, int(clear)


def _events(change_set: ChangeSet) -> Iterator[Word]:
    steps = (*change_set.changes, *change_set.tasks)
    yield len(steps)
    for step in steps:
        yield from rows.event_words(step.event)
    yield len(change_set.events)
    for event in change_set.events:
        yield from rows.event_words(event)
