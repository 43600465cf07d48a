"""Encodes change sets as the guards and writes that `commit.lua` executes: names of its functions with arguments.

This module decides everything that needs no look at the store. Within a set, the order is that of the contract. A batch
is one JSON text, in which false stands for None. Large texts are separate arguments of the script, and the batch refers
to them by place: encoding a text within a text is slow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from taskyard.core.changes import PLANNED_ON, Change, ChangeSet, RecordChange, goes_on_when_full
from taskyard.core.dag import NEEDED, count_names
from taskyard.core.errors import InvalidInput
from taskyard.core.task import DagId
from taskyard.core.units import Micros
from taskyard.stores.redis import encoding
from taskyard.stores.redis.encoding import Step, Word, to_json
from taskyard.stores.redis.scripts import COMMIT, COMMIT_PLAIN, PLAIN_GUARDS, PLAIN_WRITES, Script
from taskyard.stores.shared.commits.batching import Key, eased_ceilings
from taskyard.stores.shared.commits.change_sets import owned_key
from taskyard.stores.shared.commits.conflicts import takes_key
from taskyard.stores.shared.rows import format_body

_MOST = 100_000_000  # characters of up to four bytes: Redis closes the connection for a text of more than 512 MB
_ANY_END = "any"  # of a lease that heartbeats may have extended
_DAG_WORDS = (*count_names(DagId("")), NEEDED)
_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode


def moved_counters(sets: Sequence[ChangeSet]) -> list[Key]:
    """The counters that the sets move, each once."""
    return list(dict.fromkeys((count.workspace, count.name) for each in sets for count in each.counts))


def encode_batch(sets: Sequence[ChangeSet], moved: Sequence[Key], *, now: Micros | None) -> tuple[Script, list[str]]:
    """The script that lands the sets, and its arguments.

    It answers the counters in `moved`. Without a time, the server's clock decides.
    """
    texts: list[str] = []
    planned = [_set_steps(each, texts) for each in sets]
    text = _text(
        (
            to_json(now),
            all(map(goes_on_when_full, sets)),
            moved,
            planned,
            [to_json(each.good_until) for each in sets],
        )
    )
    if len(text) + sum(map(len, texts)) > _MOST:
        raise InvalidInput("tasks", "must be handed in by fewer at a time: these are more than one command can carry")
    return COMMIT_PLAIN if all(map(_is_plain, planned)) else COMMIT, [text, *texts]


def _is_plain(set_steps: Step) -> bool:
    _, guards, writes = set_steps
    return all(step[0] in PLAIN_GUARDS for step in guards) and all(step[0] in PLAIN_WRITES for step in writes)


def put_aside(texts: Sequence[str], aside: list[str]) -> int:
    """Pass the texts as arguments of the script. Answers the place of the first; the batch is argument 1."""
    place = len(aside) + 2
    aside += texts
    return place


def _set_steps(change_set: ChangeSet, aside: list[str]) -> Step:
    return to_json(change_set.at), _guard_steps(change_set), _writes(change_set, aside)


def _writes(change_set: ChangeSet, aside: list[str]) -> list[Step]:
    steps = _change_steps(change_set.changes) if change_set.changes else []
    if change_set.tasks:
        first = put_aside(encoding.format_definitions(change_set.tasks), aside)
        events = (encoding.format_event(task.event) for task in change_set.tasks)
        fields = encoding.new_task_fields(change_set.tasks)
        steps.append(("insert", first, list(zip(fields, events, strict=True))))
    steps += [("edge", *edge) for edge in change_set.edges]
    steps += [("block", *blocker) for blocker in change_set.blockers]
    steps += [("lift", name, to_json(task_id), ends_wait) for name, task_id, ends_wait in change_set.lifts]
    steps += history_steps(change_set, aside)
    steps += [("remove", task_id, _DAG_WORDS) for task_id in change_set.removals]
    steps += _ceiling_steps(change_set)
    steps.append(("tell", list(map(encoding.format_event, change_set.events))))
    return steps


def _change_steps(changes: Sequence[Change]) -> list[Step]:
    """The changes in their order: those that follow each other and move the same are one step."""
    steps: list[Step] = []
    last: object = None
    tasks: list[Word] = []
    for before, after, event, *_ in changes:
        moved = encoding.moved_values(before, after)
        if not encoding.follows_from_row(event, after):
            steps.append(("change", before.id, encoding.moved_words(*moved), encoding.format_event(event)))
            last = None
            continue
        shared = (moved, event.event, event.at)
        if shared != last:
            last, tasks = shared, []
            steps.append(("changes", encoding.moved_words(*moved), event.event, to_json(event.at), tasks))
        tasks += (before.id, to_json(event.data))
    return steps


def _guard_steps(change_set: ChangeSet) -> list[Step]:
    """The guards. The guards for conflicts come before those for taken ids and keys."""
    steps: list[Step] = []
    if change_set.changes:
        rows: list[Word] = []
        for before, _, _, _, lease_unchanged in change_set.changes:
            rows += (before.id, before.version, to_json(before.lease_expires_at) if lease_unchanged else _ANY_END)
        steps.append(("changes", rows))
        ends = [change.before for change in change_set.changes if change.expiring]
        steps += [("expire", before.id, to_json(before.lease_expires_at)) for before in ends]
    steps += [("expect", *expect[:2]) for expect in change_set.expects]
    steps += [("record", *record[:4]) for record in change_set.records]
    steps += [("checkpoint", *checkpoint[:2]) for checkpoint in change_set.checkpoints]
    if change_set.tasks:
        steps.append(("new", [task.hot.id for task in change_set.tasks]))
    steps += _key_steps(change_set)
    return steps


def _key_steps(change_set: ChangeSet) -> Iterator[Step]:
    """Guards of keys that tasks own only after the set: the key, its new owner, its owner after the changes."""
    wanted = [change.after for change in change_set.changes if takes_key(change)]
    wanted += [task.hot for task in change_set.tasks if task.hot.idempotency_key is not None]
    if not wanted:
        return
    kept = {owned_key(change.after): change.after.id for change in change_set.changes}
    for hot in wanted:
        if (key := owned_key(hot)) is not None:
            yield "key", *key, hot.id, kept.get(key, False)


def history_steps(change_set: ChangeSet, aside: list[str]) -> list[Step]:
    steps = list(_attempt_steps(change_set, aside)) if change_set.attempts else []
    steps += [("checkpoint", *each[:2], encoding.format_checkpoint(each)) for each in change_set.checkpoints]
    steps += [("signal", each.task_id, encoding.format_signal(each)) for each in change_set.signals]
    steps += map(_record_step, change_set.records)
    texts = encoding.format_redefinitions(change_set.redefined)
    steps += [("redefine", each.id, each.type, text) for each, text in zip(change_set.redefined, texts, strict=True)]
    steps += [("post", each.topic, to_json(each.task_id), encoding.format_outbox(each)) for each in change_set.outbox]
    steps += [("rescore", *map(to_json, each)) for each in change_set.rescores]
    return steps


def _attempt_steps(change_set: ChangeSet, aside: list[str]) -> Iterator[Step]:
    """Attempts with what they put out, and those of which nothing is to be written."""
    outputs = {each[:2]: encoding.format_output(each) for each in change_set.outputs}
    texts: list[str] = []
    ended: list[Word] = []
    for each, text in zip(change_set.attempts, encoding.format_attempts(change_set.attempts), strict=True):
        key = each[:2]
        if (output := outputs.get(key)) is None:
            yield "attempt", *key, text
        else:
            ended += key
            texts.append(f"{text}{encoding.NONE}{output}")
    if ended:
        yield "attempts", put_aside(texts, aside), ended


def _record_step(change: RecordChange) -> Step:
    kind, workspace, id_, version, body = change
    of = body.get("task_id") if kind == "dead" and body else None
    text = False if body is None else format_body(body)
    return "record", kind, workspace, id_, version + 1, text, of if isinstance(of, str) else False, kind in PLANNED_ON


def _ceiling_steps(change_set: ChangeSet) -> list[Step]:
    steps: list[Step] = [("spend", *spend) for spend in change_set.spends]
    steps += [("ceiling", *map(to_json, each)) for each in change_set.ceilings]
    steps += [("ease", *key) for key, _ in eased_ceilings(change_set)]
    steps += [("count", *count) for count in change_set.counts]
    return steps
