"""A change set as the guards and writes that `commit.lua` goes through: names of its functions, each with its words.

Everything that can be known without looking at the store is decided here. Order within a set is that of the contract.
A batch is one JSON text, in which false stands for None. What only passes through it, and what is the same for many
ends of attempts, goes beside it and is named by its place: to write and to read a text within a text takes long.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, compress, repeat
from operator import itemgetter, ne
from typing import Any

from taskyard.core.changes import PLANNED_ON, Change, ChangeSet, Event, Output, RecordChange, goes_on_when_full
from taskyard.core.dag import NEEDED, count_names
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Attempt, DagId, Hot, dag_of
from taskyard.core.units import Micros
from taskyard.definition.codec import encode_definition, encode_definitions
from taskyard.stores.redis import encoding
from taskyard.stores.redis.encoding import json_word
from taskyard.stores.shared.commits.batching import Key, eased_ceilings
from taskyard.stores.shared.commits.change_sets import owned_key
from taskyard.stores.shared.commits.conflicts import takes_key
from taskyard.stores.shared.rows import format_body

_Step = Sequence[Any]  # the name of a function and what it is given
_Kind = tuple[Any, ...]  # what many ends of attempts, or births, have in common: event, time, and so on
_MOST = 100_000_000  # characters, of at most four bytes: a server hangs up on a text of more than 512 MB
_DAG_WORDS = (*count_names(DagId("")), NEEDED)
_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode


def counters(sets: Sequence[ChangeSet]) -> list[Key]:
    """Those that the batch moves, each once."""
    return list(dict.fromkeys((count.workspace, count.name) for each in sets for count in each.counts))


def batch(sets: Sequence[ChangeSet], moved: Sequence[Key], *, now: Micros | None) -> list[str]:
    """A whole batch; `moved` are the counters to be answered. Without a time, the server's counts."""
    plan = _Plan()
    planned = [plan.ends(each) or plan.births(each) or plan.set(each) for each in sets]
    text = _text(
        (
            json_word(now),
            all(map(goes_on_when_full, sets)),
            moved,
            list(map(_kind_words, plan.kinds)),
            planned,
            [json_word(each.good_until) for each in sets],
        )
    )
    if len(text) + sum(map(len, plan.texts)) > _MOST:
        raise InvalidInput("tasks", "must be handed in by fewer at a time: these are more than one command can carry")
    return [text, *plan.texts]


class _Plan:
    """What is said of the sets of a batch, besides what is said of each alone."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.kinds: dict[_Kind, int] = {}

    def ends(self, change_set: ChangeSet) -> _Step | None:
        """Attempts that end, each with what became of it, where that is all there is: most sets are that."""
        changes, attempts, outputs = change_set.changes, change_set.attempts, change_set.outputs
        if any(_more_than_ends(change_set)) or not changes or eased_ceilings(change_set):
            return None
        ids = [change.before.id for change in changes]
        if [each.task_id for each in attempts] != ids or (outputs and [each.task_id for each in outputs] != ids):
            return None
        if any(lift.task_id is not None for lift in change_set.lifts):
            return None
        if not all(_is_told_plainly(change, change_set.at) for change in changes):
            return None
        steps = list(map(self._end, changes, attempts, outputs or repeat(None)))
        lifted = [lift.name for lift in change_set.lifts]
        return "ends", json_word(change_set.at), steps, lifted, change_set.spends, change_set.counts

    def _end(self, change: Change, attempt: Attempt, output: Output | None) -> _Step:
        before, after, event, _, unbeaten = change
        differs = tuple(map(ne, before, after))
        kind = event.event, event.at, differs, tuple(compress(after, differs))
        number = self.kinds.setdefault(kind, len(self.kinds) + 1)
        texts = [event.data or "", encoding.attempt_text(attempt)]
        if output is not None:
            texts.append(encoding.output_text(output))
        seen = json_word(before.lease_expires_at if unbeaten else None)
        return before.id, before.version, seen, number, attempt.number, self._aside(texts), len(texts)

    def births(self, change_set: ChangeSet) -> _Step | None:
        """New tasks and nothing more, of which none has a key."""
        if any(_more_than_births(change_set)) or any(owned_key(task.hot) for task in change_set.tasks):
            return None
        if not all(_tells_itself(task.hot, task.event) for task in change_set.tasks):
            return None
        said = [(task.event.event, task.event.at, task.event.data) for task in change_set.tasks]
        kinds = [self.kinds.setdefault(kind, len(self.kinds) + 1) for kind in said]
        first = self._aside(list(encode_definitions(task.definition for task in change_set.tasks)))
        ids = [task.hot.id for task in change_set.tasks]
        return "births", first, list(zip(ids, kinds, encoding.born(change_set.tasks), strict=True))

    def set(self, change_set: ChangeSet) -> _Step:
        return "set", json_word(change_set.at), _guards(change_set), self._writes(change_set)

    def _writes(self, change_set: ChangeSet) -> list[_Step]:
        steps: list[_Step] = [
            ("change", before.id, encoding.moved(before, after)) for before, after, *_ in change_set.changes
        ]
        if change_set.tasks:
            first = self._aside(list(encode_definitions(task.definition for task in change_set.tasks)))
            steps.append(("insert", first, list(encoding.born(change_set.tasks))))
        steps += [("edge", *edge) for edge in change_set.edges]
        steps += [("block", *blocker) for blocker in change_set.blockers]
        steps += [("lift", name, json_word(task_id), ends_wait) for name, task_id, ends_wait in change_set.lifts]
        steps += _papers(change_set)
        steps += [("remove", task_id, _DAG_WORDS) for task_id in change_set.removals]
        steps += _movements(change_set)
        steps.append(("tell", *_events(change_set)))
        return steps

    def _aside(self, texts: Sequence[str]) -> int:
        """Where the first of them goes among the arguments of the script, of which the batch itself is the first."""
        place = len(self.texts) + 2
        self.texts += texts
        return place


def _all_but(parts: set[str]) -> itemgetter[tuple[object, ...]]:
    return itemgetter(*(place for place, name in enumerate(ChangeSet._fields) if name not in parts))


_more_than_ends = _all_but({"at", "good_until", "changes", "lifts", "attempts", "outputs", "spends", "counts"})
_more_than_births = _all_but({"at", "good_until", "tasks"})


def _is_told_plainly(change: Change, at: Micros) -> bool:
    """Whether its guards are those of an end, and its event can be told from the row after it."""
    before, after, event, expiring, unbeaten = change
    if expiring or (unbeaten and before.lease_expires_at is None) or takes_key(change):
        return False
    return event.at == at and _tells_itself(after, event)


def _tells_itself(after: Hot, event: Event) -> bool:
    """Whether an event can be told from the row after its step, but for its name, its time and what else it says."""
    told = (after.workspace, after.id, dag_of(after), event.at, after.version, after.status, after.attempt)
    return event[1:8] == told and event.data is not None


def _kind_words(kind: _Kind) -> _Step:
    event, at, *more = kind
    if len(more) == 1:
        return event, json_word(at), *more  # of births: what the event says
    differs, values = more
    moved = zip(compress(encoding.PLACES, differs), map(json_word, values), strict=True)
    return event, json_word(at), list(chain.from_iterable(moved))


def _guards(change_set: ChangeSet) -> list[_Step]:
    """Conflicts first, as they are told before what is taken."""
    steps: list[_Step] = []
    for before, _, _, expiring, unbeaten in change_set.changes:
        steps.append(("change", before.id, before.version))
        if expiring:
            steps.append(("expire", before.id, json_word(before.lease_expires_at)))
        if unbeaten:
            steps.append(("unbeaten", before.id, json_word(before.lease_expires_at)))
    steps += [("expect", *expect) for expect in change_set.expects]
    steps += [("record", *record[:4]) for record in change_set.records]
    steps += [("checkpoint", *checkpoint[:2]) for checkpoint in change_set.checkpoints]
    if change_set.tasks:
        steps.append(("new", [task.hot.id for task in change_set.tasks]))
    steps += _keys(change_set)
    return steps


def _keys(change_set: ChangeSet) -> Iterator[_Step]:
    """The keys that the set makes somebody's own who did not have them, whose, and who has them after its changes."""
    wanted = [change.after for change in change_set.changes if takes_key(change)]
    wanted += [task.hot for task in change_set.tasks if task.hot.idempotency_key is not None]
    if not wanted:
        return
    kept = {owned_key(change.after): change.after.id for change in change_set.changes}
    for hot in wanted:
        if (key := owned_key(hot)) is not None:
            yield "key", *key, hot.id, kept.get(key, False)


def _papers(change_set: ChangeSet) -> list[_Step]:
    steps: list[_Step] = [
        ("paper", each.task_id, f"attempt:{each.number}", encoding.attempt_text(each)) for each in change_set.attempts
    ]
    steps += [("paper", each.task_id, "output", encoding.output_text(each)) for each in change_set.outputs]
    steps += [("checkpoint", *each[:2], encoding.checkpoint_text(each)) for each in change_set.checkpoints]
    steps += [("signal", each.task_id, encoding.signal_text(each)) for each in change_set.signals]
    steps += map(_record, change_set.records)
    steps += [("redefine", each.id, each.type, encode_definition(each)) for each in change_set.redefined]
    steps += [("post", each.topic, json_word(each.task_id), encoding.outbox_text(each)) for each in change_set.outbox]
    steps += [("rescore", *map(json_word, each)) for each in change_set.rescores]
    return steps


def _record(change: RecordChange) -> _Step:
    kind, workspace, id_, version, body = change
    of = body.get("task_id") if kind == "dead" and body else None
    text = False if body is None else format_body(body)
    return "record", kind, workspace, id_, version + 1, text, of if isinstance(of, str) else False, kind in PLANNED_ON


def _movements(change_set: ChangeSet) -> list[_Step]:
    steps: list[_Step] = [("spend", *spend) for spend in change_set.spends]
    steps += [("ceiling", *map(json_word, each)) for each in change_set.ceilings]
    steps += [("ease", *key) for key, _ in eased_ceilings(change_set)]
    steps += [("count", *count) for count in change_set.counts]
    return steps


def _events(change_set: ChangeSet) -> tuple[list[_Step], list[_Step]]:
    """Those of its own steps, and those that belong to none."""
    steps = (*change_set.changes, *change_set.tasks)
    return [encoding.event_words(step.event) for step in steps], [
        encoding.event_words(each) for each in change_set.events
    ]
