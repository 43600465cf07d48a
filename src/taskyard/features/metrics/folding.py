"""How events are folded into figures.

Every event of the yard is looked at here: what its kind adds is put into lists, one for each figure, and a list is
added up at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from taskyard.core.changes import Event, StoredEvent
from taskyard.core.json_value import value_of
from taskyard.core.task import Reason, Status, TaskId
from taskyard.core.units import SECOND, Micros
from taskyard.features.metrics.rules import (
    HISTOGRAMS,
    LABELLED,
    OTHER,
    CostLabels,
    MetricTotals,
    add_label,
    keep_dearest,
)

BY_QUEUE = frozenset({"task.completed", "task.retrying", "task.dead_lettered"})  # counted by queue as well
_LOST = frozenset({Reason.HEARTBEAT_TIMEOUT.value, Reason.RUNTIME_OFFLINE.value})

SlotKey = TypeVar("SlotKey")
AgentTypes = Mapping[tuple[str, str], str]  # (workspace, agent) -> its type
Facts = Mapping[str, Any]  # what an event tells besides; one that an older release wrote has fewer


@dataclass(slots=True)
class _Gathered:
    """What the events of one slot of time say, under the names of the totals that it is added to."""

    totals: MetricTotals = field(default_factory=MetricTotals)
    completed: list[str] = field(default_factory=list[str])
    failed: list[str] = field(default_factory=list[str])
    ended: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    heartbeat_misses: list[str] = field(default_factory=list[str])
    queue_completed: list[str] = field(default_factory=list[str])
    queue_failed: list[str] = field(default_factory=list[str])
    waits: list[int] = field(default_factory=list[int])
    durations: list[int] = field(default_factory=list[int])
    attempts: list[int] = field(default_factory=list[int])
    silences: list[int] = field(default_factory=list[int])

    def add_up(self) -> MetricTotals:
        for name in LABELLED:
            for label, number in Counter[str](getattr(self, name)).items():
                add_label(getattr(self.totals, name), label, number)
        for name in HISTOGRAMS:
            getattr(self.totals, name).observe(getattr(self, name))
        return self.totals


def fold(
    events: Iterable[StoredEvent],
    agent_types: AgentTypes,
    slot: Callable[[Micros], SlotKey],
    queues: Mapping[TaskId, str] = MappingProxyType({}),
) -> dict[tuple[str, SlotKey], MetricTotals]:
    """What these events add to each workspace and each slot of time: `utc_date` makes days of them.

    `queues` has the queue of each task whose attempt is completed or failed, as far as that is known.
    """
    slots: dict[tuple[str, SlotKey], _Gathered] = {}
    # Most events are of a few seconds, and no slot is shorter than one.
    of_second: dict[tuple[str, int], _Gathered] = {}
    for _, event, _ in events:
        count = _COUNTED.get(event.event)
        if count is None and event.event != "task.created":
            continue
        workspace, at = event.workspace, event.at
        second = workspace, at // SECOND
        if (gathered := of_second.get(second)) is None:
            key = workspace, slot(at)
            gathered = of_second[second] = slots.setdefault(key, _Gathered())
        if count is None:
            gathered.totals.created += 1  # a third of all events: their data need not be looked at
        else:
            facts = value_of(event.data or "{}")
            count(gathered, event, facts, agent_types.get((workspace, facts.get("agent") or ""), OTHER))
            if event.event in BY_QUEUE and event.task_id is not None and (queue := queues.get(event.task_id)):
                (gathered.queue_completed if count is _completed else gathered.queue_failed).append(queue)
    return {key: gathered.add_up() for key, gathered in slots.items()}


def _claimed(gathered: _Gathered, _event: Event, facts: Facts, _agent: str) -> None:
    """Also a start: one that was a claim at once says how long the task had waited, the others say nothing of it."""
    if "waited" in facts:
        gathered.waits.append(facts["waited"])


def _ended(gathered: _Gathered, event: Event, facts: Facts, agent: str) -> None:
    """An attempt is over, however it went."""
    if "ran" in facts:
        gathered.durations.append(facts["ran"])
    if "silent" in facts:
        gathered.silences.append(facts["silent"])
    if "cost" in facts:
        labels = CostLabels(facts["type"], agent, facts.get("model", ""))
        add_label(gathered.totals.costs, labels, facts["cost"])
        if event.task_id is not None:
            keep_dearest(gathered.totals.dearest, {event.task_id: facts["cost"]})


def _completed(gathered: _Gathered, event: Event, facts: Facts, agent: str) -> None:
    _ended(gathered, event, facts, agent)
    gathered.completed.append(facts.get("type", OTHER))
    gathered.ended.append(agent)
    gathered.attempts.append(event.attempt or 0)
    gathered.totals.latency += facts.get("age", 0)


def _failed(gathered: _Gathered, event: Event, facts: Facts, agent: str) -> None:
    _ended(gathered, event, facts, agent)
    reason = facts["reason"]
    gathered.failed.append(reason)
    gathered.ended.append(agent)
    gathered.errors.append(agent)
    if reason in _LOST:
        gathered.heartbeat_misses.append(agent)
    if event.status is Status.DEAD_LETTERED:
        gathered.totals.dead_lettered += 1
        gathered.attempts.append(event.attempt or 0)


_COUNTED = {
    "task.claimed": _claimed,
    "task.running": _claimed,
    "task.validating": _ended,
    "task.completed": _completed,
    "task.released": _ended,
    "task.suspended": _ended,
    "task.cancelled": _ended,
    "task.batched": _ended,
    "task.retrying": _failed,
    "task.dead_lettered": _failed,
}
