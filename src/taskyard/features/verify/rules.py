"""What the stored history of one task must be like. Nothing here reads a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from taskyard.core import dag as dags
from taskyard.core import transitions
from taskyard.core.changes import Event
from taskyard.core.errors import CycleFound
from taskyard.core.failure import fails_a_probe
from taskyard.core.task import HELD, Attempt, Hot, Status, TaskId

_FAILURES = ("task.retrying", "task.dead_lettered")
STEPS = frozenset(
    (before, after) for edges in transitions.GRAPH.values() for before, to in edges.items() for after in to
)


@dataclass(slots=True)
class TaskPage:
    """Some tasks, with all that is stored of each."""

    tasks: dict[TaskId, Hot]
    types: dict[TaskId, str]
    events: dict[TaskId, list[Event]]
    attempts: dict[TaskId, list[Attempt]]

    def keep(self, there: Mapping[TaskId, Hot]) -> None:
        """Leave out the tasks that were pruned since they were listed: some of what belongs to them was not read."""
        for task_id in self.tasks.keys() - there.keys():
            for rows in (self.tasks, self.types, self.attempts, self.events):
                rows.pop(task_id, None)


def task_problems(hot: Hot, events: Sequence[Event], attempts: Sequence[Attempt]) -> Iterable[str]:
    if not events:
        yield f"{hot.id} has no events"
        return
    yield from _replay_problems(hot, events)
    yield from _attempt_problems(hot, events, attempts)
    if hot.status.is_held != (hot.lease is not None):
        yield f"{hot.id} is {hot.status.value}, and its lease is {'there' if hot.lease else 'missing'}"


def _replay_problems(hot: Hot, events: Sequence[Event]) -> Iterable[str]:
    """Versions without a gap, only published steps, and the row is what the events come to."""
    if [event.version for event in events] != list(range(1, len(events) + 1)):
        yield f"{hot.id} has versions {[event.version for event in events]}"
    for before, after in pairwise(events):
        if before.status and after.status and (before.status, after.status) not in STEPS:
            yield f"{hot.id} went from {before.status} to {after.status} (event {after.event})"
    if sum(event.event == "task.completed" for event in events) > 1:
        yield f"{hot.id} was completed more than once"
    last = events[-1]
    if (last.version, last.status, last.attempt) != (hot.version, hot.status, hot.attempt):
        yield f"{hot.id} is {hot.status} at {hot.version}, and its events end in {last.status} at {last.version}"


def _attempt_problems(hot: Hot, events: Sequence[Event], attempts: Sequence[Attempt]) -> Iterable[str]:
    """One claim per number, every ended attempt on record, and failures counted as they happened."""
    claims = [event.attempt for event in events if (event.data or "").find('"from":"ready"') >= 0 and _is_claim(event)]
    if claims != list(range(1, hot.attempt + 1)):
        yield f"{hot.id} was claimed as attempts {claims}, and its row says {hot.attempt}"
    numbers = sorted(attempt.number for attempt in attempts)
    ended = hot.attempt - (hot.status in HELD)
    if numbers != list(range(1, ended + 1)):
        yield f"{hot.id} has records of attempts {numbers}, and {ended} have ended"
    counted = sum(attempt.counted for attempt in attempts if attempt.number > _revived_after(events))
    if counted != hot.failures:
        yield f"{hot.id} counts {hot.failures} failures, and {counted} are on record"
    if hot.failures > hot.max_attempts:
        yield f"{hot.id} failed {hot.failures} times of {hot.max_attempts}"


def was_dead(events: Sequence[Event]) -> bool:
    """Whether the last event tells of a dead letter that was cancelled."""
    return bool(events) and f'"from":"{Status.DEAD_LETTERED.value}"' in (events[-1].data or "")


def _is_claim(event: Event) -> bool:
    return event.event == "task.claimed" or (event.event == "task.running" and '"through"' in (event.data or ""))


def _revived_after(events: Sequence[Event]) -> int:
    """The attempt after which failures were counted from nothing again. Not by time: two may happen at one moment."""
    return max((event.attempt or 0 for event in events if event.event == "task.revived"), default=0)


def failed_probes(events: Sequence[Event]) -> Iterable[tuple[str, int]]:
    """The type and the generation of the breaker of each attempt that failed as a probe."""
    for facts in [json.loads(event.data or "{}") for event in events if event.event in _FAILURES]:
        if facts.get("probe") is not None and fails_a_probe(facts["reason"]):
            yield facts.get("type"), facts["probe"]


def cycle_problems(where: str, waits: Mapping[TaskId, set[TaskId]]) -> list[str]:
    try:
        dags.topological(waits)
    except CycleFound as cycle:
        return [f"{where} has a cycle: {' -> '.join(cycle.task_ids)}"]
    return []
