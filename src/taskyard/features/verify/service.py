"""Checking the stored history against the invariants that the yard promises.

It reads only what every store can tell, and trusts nothing that it can work out again.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from taskyard.core import dag as dags
from taskyard.core import transitions
from taskyard.core.changes import Edge, Event, StoredEvent
from taskyard.core.claiming import money_names
from taskyard.core.dag import DagStatus
from taskyard.core.errors import CycleFound, EventsGone
from taskyard.core.failure import fails_a_probe
from taskyard.core.identifiers import (
    BlockerKind,
    blocker_name,
    key_ceiling,
    probe_ceiling,
    slots_ceiling,
    task_blocker,
    type_slots_ceiling,
)
from taskyard.core.outcomes import dead_id
from taskyard.core.task import HELD, KEY_DEAD, KEY_HELD, Attempt, DagId, Hot, Status, TaskId, Trait
from taskyard.core.units import MicroUsd, utc_date
from taskyard.features.artifacts.checks import ArtifactChecks
from taskyard.features.inbox.checks import InboxChecks
from taskyard.features.metrics.rules import MetricTotals, fold, totals_of
from taskyard.features.metrics.service import DAYS, MetricCounts
from taskyard.features.notifications.checks import NotificationChecks
from taskyard.features.provider_batches.rules import ITEM, KIND, CallBody, settled
from taskyard.features.schedules.checks import FireChecks
from taskyard.features.verify.views import Verified
from taskyard.ledger.ledger import Ledger
from taskyard.stores.contract import Filter

PAGE = 2000
_LIFTED_BY_ANY_END = (BlockerKind.CHILD, BlockerKind.BATCH)
_FAILURES = ("task.retrying", "task.dead_lettered")
STEPS = frozenset(
    (before, after) for edges in transitions.GRAPH.values() for before, to in edges.items() for after in to
)


@dataclass(slots=True)
class _History:
    """Everything stored about one workspace."""

    tasks: dict[TaskId, Hot] = field(default_factory=dict[TaskId, Hot])
    types: dict[TaskId, str] = field(default_factory=dict[TaskId, str])
    events: dict[TaskId, list[Event]] = field(default_factory=lambda: defaultdict[TaskId, list[Event]](list))
    attempts: dict[TaskId, list[Attempt]] = field(default_factory=dict[TaskId, list[Attempt]])
    waits: dict[TaskId, set[str]] = field(default_factory=lambda: defaultdict[TaskId, set[str]](set))  # blockers
    edges: dict[Edge, None] = field(default_factory=dict[Edge, None])  # all that leave a DAG, or a task that is needed
    seen: int = 0
    whole: bool = True  # nothing of it was pruned
    since: int = 0  # the event after which all were counted
    stored: dict[str, MetricTotals] = field(default_factory=dict[str, MetricTotals])  # the figures of each day
    metered: dict[str, MetricTotals] = field(
        default_factory=dict[str, MetricTotals]
    )  # the same, of the events that are counted


class Verification:
    def __init__(
        self,
        ledger: Ledger,
        artifact_checks: ArtifactChecks,
        metrics: MetricCounts,
        fire_checks: FireChecks,
        inbox_checks: InboxChecks,
        notification_checks: NotificationChecks,
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._artifact_checks = artifact_checks
        self._metrics = metrics
        self._fire_checks = fire_checks
        self._inbox_checks = inbox_checks
        self._notification_checks = notification_checks

    async def verify(self) -> Verified:
        """Replay the stored history. Meant for a yard at rest: what moves meanwhile may look wrong.

        What is pruned meanwhile does not: a yard at rest is pruned too.
        """
        history = await self._history()
        problems = [
            *await self._store.checks(),
            *(problem for task_id in history.tasks for problem in _task_problems(task_id, history)),
            *_stray_events(history),
            *await self._blocker_problems(history),
            *await self._graph_problems(history),
            *await self._dependency_problems(history),
            *_key_problems(history),
            *await self._probe_problems(history),
            *await self._review_problems(history),
            *await self._limit_problems(history),
            *await self._judging_problems(history),
            *self._meter_problems(history),
            *await self._artifact_checks.problems(history.tasks.values()),
            *await self._notification_checks.problems(),
            *await self._inbox_checks.problems(),
            *await self._fire_checks.problems(history.tasks.values()),
        ]
        attempts = sum(len(rows) for rows in history.attempts.values())
        return Verified(tasks=len(history.tasks), events=history.seen, attempts=attempts, problems=tuple(problems))

    async def _history(self) -> _History:
        history = _History()
        after = 0
        while page := await self._store.find(Filter(workspace=self._workspace), after=after, limit=PAGE):
            for hot in page:
                history.tasks[hot.id] = hot
                history.types[hot.id] = await self._ledger.type_of(hot)
                history.attempts[hot.id] = await self._store.attempts(hot.id)
            after = page[-1].seq
        history.since, counted, history.stored = await self._stored_figures()
        try:
            history.whole = await self._is_whole()
            await self._replay(history, counted)
        except EventsGone:
            history.whole, history.seen = False, 0
            history.events.clear()
            await self._replay(history, counted)
        await self._drop_pruned(history)
        return history

    async def _is_whole(self) -> bool:
        return not await self._store.pruned(self._workspace)

    async def _replay(self, history: _History, counted: int) -> None:
        # Where some were pruned there is no reading all in order; those of a task that is there are all there.
        for of in (None,) if history.whole else history.tasks:
            seq = 0
            while events := await self._store.events(after=seq, limit=PAGE, workspace=self._workspace, task_id=of):
                if history.whole:
                    _meter(history, [stored for stored in events if stored.seq <= counted])
                for stored in events:
                    history.seen += 1
                    if stored.event.task_id is not None and stored.event.version is not None:
                        history.events[stored.event.task_id].append(stored.event)
                seq = events[-1].seq

    async def _drop_pruned(self, history: _History) -> None:
        """Leave out the tasks that were pruned since they were listed: some of what belongs to them was not read."""
        history.whole = history.whole and await self._is_whole()
        ids = list(history.tasks)
        for start in range(0, len(ids), PAGE) if not history.whole else ():
            page = ids[start : start + PAGE]
            for task_id in set(page) - (await self._store.load(page)).keys():
                for rows in (history.tasks, history.types, history.attempts, history.events):
                    rows.pop(task_id, None)

    async def _stored_figures(self) -> tuple[int, int, dict[str, MetricTotals]]:
        """Which events were counted, and what they came to: counting goes on also when nothing else moves."""
        while True:
            counted = await self._metrics.counted()
            stored = {each.id: totals_of(each.body) for each in await self._store.records(DAYS, self._workspace)}
            if await self._metrics.counted() == counted:
                return *counted, stored

    def _meter_problems(self, history: _History) -> list[str]:
        """The figures of a day are those of its events, where all of them are kept and were there to be counted."""
        if history.since or not history.whole:
            return []
        stored = history.stored
        first = self._metrics.first_day_kept()
        days = sorted(day for day in {*history.metered, *stored} if day >= first)
        pairs = [(day, history.metered.get(day, MetricTotals()), stored.get(day, MetricTotals())) for day in days]
        return [
            f"the figures of {day} say {_figures(stored)}, and its events {_figures(counted)}"
            for day, counted, stored in pairs
            if _figures(counted) != _figures(stored)
        ]

    async def _blocker_problems(self, history: _History) -> list[str]:
        """What a task waits for is outstanding, and a task that waits for nothing does not wait."""
        pending = [hot for hot in history.tasks.values() if hot.status is Status.PENDING]
        for start in range(0, len(pending), PAGE):
            page = {hot.id: hot for hot in pending[start : start + PAGE]}
            for blocker in await self._store.blockers(list(page)):
                if blocker.wait == page[blocker.task_id].wait:
                    history.waits[blocker.task_id].add(blocker.name)
        problems = [f"{hot.id} is pending and waits for nothing" for hot in pending if not history.waits[hot.id]]
        for task_id, names in history.waits.items():
            for name in sorted(names):
                blocker = blocker_name(name)
                other_id = TaskId(blocker.rest) if blocker.kind is BlockerKind.BATCH else blocker.task_id
                other = None if other_id is None else history.tasks.get(other_id)
                if other is None:
                    continue
                if other.status is Status.COMPLETED or (blocker.kind in _LIFTED_BY_ANY_END and other.status.is_final):
                    problems.append(f"{task_id} waits for {other.id}, which is {other.status.value}")
        return problems

    async def _graph_problems(self, history: _History) -> list[str]:
        """Nothing runs before what it depends on, no cycle, and counts are the tasks'."""
        problems: list[str] = []
        for dag_id in sorted({hot.dag_id for hot in history.tasks.values() if hot.dag_id is not None}):
            found = await self._problems_of_graph(dag_id, history)
            # One that has no tasks any more was pruned while it was looked at.
            problems += found if found and (await self._store.graph(dag_id)).tasks else []
        return problems

    async def _dependency_problems(self, history: _History) -> list[str]:
        """The same from DAG to DAG: what waits for a task of another is found by whatever ends that task."""
        lone = [hot.id for hot in history.tasks.values() if hot.dag_id is None]
        for start in range(0, len(lone), PAGE):
            history.edges |= dict.fromkeys(await self._store.edges(lone[start : start + PAGE]))
        homes = {hot.id: hot.dag_id for hot in history.tasks.values()}
        # Of some, one end came, or was pruned, since the tasks were listed.
        whole = dags.within((edge for edge in history.edges if edge.kind == "depends"), homes)
        crossing = [edge for edge in whole if homes[edge.parent] is None or homes[edge.parent] != homes[edge.child]]
        names = {dags.needed_name(dag_id) for edge in crossing if (dag_id := homes[edge.parent]) is not None}
        needed = await self._store.counts(self._workspace, sorted(names)) if names else {}
        return [
            *_release_problems(history, whole),
            *_mark_problems(history.tasks, crossing, needed),
            *_cycle_problems("what waits now", _outstanding(history)),
        ]

    async def _problems_of_graph(self, dag_id: DagId, history: _History) -> list[str]:
        graph = await self._store.graph(dag_id)
        history.edges |= dict.fromkeys(graph.edges)
        return [
            *_cycle_problems(dag_id, {hot.id: set[TaskId]() for hot in graph.tasks} | dags.waits_for(graph.edges)),
            *await self._count_problems(dag_id, graph.tasks),
            *await self._ending_problems(dag_id, graph.tasks),
        ]

    async def _ending_problems(self, dag_id: DagId, tasks: Sequence[Hot]) -> list[str]:
        record = await self._store.record("dag", self._workspace, dag_id)
        live = sum(not hot.status.is_final for hot in tasks)
        if record is None:
            return [f"{dag_id} has tasks and no record"]
        ended = record.body["status"] in (DagStatus.COMPLETED, DagStatus.CANCELLED)
        return [f"{dag_id} is {record.body['status']}, and {live} of its tasks are not over"] if ended and live else []

    async def _count_problems(self, dag_id: DagId, tasks: Sequence[Hot]) -> list[str]:
        names = dags.count_names(dag_id)
        stored = await self._store.counts(self._workspace, list(names.values()))
        counted = Counter(dags.count_word(hot.status) for hot in tasks)
        return [
            f"{dag_id} counts {stored.get(name, 0)} {word}, and has {counted[word]}"
            for word, name in names.items()
            if stored.get(name, 0) != counted[word]
        ]

    async def _probe_problems(self, history: _History) -> list[str]:
        """A probe that failed has opened its breaker again."""
        planning, problems = await self._ledger.configuration.fresh(), list[str]()
        for task_id, events in history.events.items():
            for facts in [json.loads(event.data or "{}") for event in events if event.event in _FAILURES]:
                type_, probe = facts.get("type"), facts.get("probe")
                if probe is None or not fails_a_probe(facts["reason"]):
                    continue
                if planning.breaker(type_).generation == probe:
                    problems.append(f"{task_id} failed as the probe of {type_}, and its breaker did not open again")
        return problems

    async def _review_problems(self, history: _History) -> list[str]:
        """A dead letter that was cancelled was decided by somebody."""
        cancelled = [
            hot
            for hot in history.tasks.values()
            if hot.status is Status.CANCELLED and _was_dead(history.events.get(hot.id, []))
        ]
        names = [dead_id(hot.id, hot.attempt) for hot in cancelled]
        dead = await self._store.named("dead", self._workspace, names) if names else {}
        undecided = [
            hot.id
            for hot, name in zip(cancelled, names, strict=True)
            if name not in dead or dead[name].body["resolution"] != "cancel"
        ]
        # The decision on a task that was pruned since went with it.
        there = await self._store.load(undecided) if undecided else {}
        return [f"{each} was cancelled as a dead letter, and no decision is on record" for each in there]

    async def _judging_problems(self, history: _History) -> list[str]:
        """Every task that is judged has its validator, and every validator that is not over judges one."""
        asked = {each.id: str(each.body["validator"]) for each in await self._store.records("judging", self._workspace)}
        tasks = history.tasks.values()
        judged = {hot.id for hot in tasks if hot.status is Status.VALIDATING}
        judging = {hot.id for hot in tasks if hot.traits & Trait.JUDGES and not hot.status.is_final}
        return [
            *(f"{each} is validating, and nothing judges it" for each in sorted(judged - asked.keys())),
            *(f"{each} is judged by {asked[each]}, and is not validating" for each in sorted(asked.keys() - judged)),
            *(f"{each} is to judge an output, and is over" for each in sorted({*asked.values()} - judging)),
            *(f"{each} judges an output that nobody waits with" for each in sorted(judging - {*asked.values()})),
        ]

    async def _limit_problems(self, history: _History) -> list[str]:
        """What is held and spent under every ceiling is what its attempts hold and spent."""
        stored = {limit.name: limit for limit in (await self._store.limits(self._workspace, None)).values()}
        held = _held_amounts(history, [ITEM.of(each) for each in await self._store.records(KIND, self._workspace)])
        spent = _spent_amounts(history)
        problems = [
            f"{name}: {stored[name].held if name in stored else 0} is held, and its attempts hold {held[name]}"
            for name in sorted({*stored, *held})
            if (stored[name].held if name in stored else 0) != held[name]
        ]
        if not (history.whole and await self._is_whole()):
            return problems  # the totals outlive the attempts that were pruned
        return problems + [
            f"{name}: {stored[name].spent if name in stored else 0} was spent, and its attempts cost {spent[name]}"
            for name in sorted({*stored, *spent})
            if (stored[name].spent if name in stored else 0) != spent[name]
        ]


def _meter(history: _History, events: Sequence[StoredEvent]) -> None:
    for (_, day), more in fold(events, {}, utc_date).items():
        history.metered.setdefault(day, MetricTotals()).add(more)


def _figures(totals: MetricTotals) -> str:
    """What is counted by events alone, whoever the agents were."""
    return (
        f"{totals.created} created, {totals.tasks_completed} completed, {totals.tasks_failed} failed, "
        f"{totals.dead_lettered} dead"
    )


def _task_problems(task_id: TaskId, history: _History) -> Iterable[str]:
    hot, events, attempts = history.tasks[task_id], history.events.get(task_id, []), history.attempts[task_id]
    if not events:
        yield f"{task_id} has no events"
        return
    yield from _replay_problems(hot, events)
    yield from _attempt_problems(hot, events, attempts)
    if hot.status.is_held != (hot.lease is not None):
        yield f"{task_id} is {hot.status.value}, and its lease is {'there' if hot.lease else 'missing'}"


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


def _was_dead(events: Sequence[Event]) -> bool:
    """Whether the last event tells of a dead letter that was cancelled."""
    return bool(events) and f'"from":"{Status.DEAD_LETTERED.value}"' in (events[-1].data or "")


def _is_claim(event: Event) -> bool:
    return event.event == "task.claimed" or (event.event == "task.running" and '"through"' in (event.data or ""))


def _revived_after(events: Sequence[Event]) -> int:
    """The attempt after which failures were counted from nothing again. Not by time: two may happen at one moment."""
    return max((event.attempt or 0 for event in events if event.event == "task.revived"), default=0)


def _stray_events(history: _History) -> list[str]:
    """Nothing happened to a task that is not there. Where some were pruned, only events of those that are were read."""
    return [f"{task_id} has events and no row" for task_id in history.events if task_id not in history.tasks]


def _mark_problems(tasks: Mapping[TaskId, Hot], crossing: Sequence[Edge], needed: Mapping[str, int]) -> Iterable[str]:
    """Whatever tasks of other DAGs depend on is marked, or its DAG counts that they do."""
    for parent, child, _ in crossing:
        hot = tasks[parent]
        if not (hot.traits & Trait.NEEDED if hot.dag_id is None else needed.get(dags.needed_name(hot.dag_id))):
            yield f"{child} depends on {parent}, which is of another DAG and is not marked as needed"


def _release_problems(history: _History, dependencies: Iterable[Edge]) -> Iterable[str]:
    """What depends on a task that is not completed waits for it, or is cancelled."""
    there = {hot.id: hot.status for hot in history.tasks.values()}
    for parent, child, _ in dependencies:
        if there[parent] is Status.COMPLETED:
            continue
        waiting = there[child] is Status.PENDING and task_blocker(parent) in history.waits.get(child, ())
        if not waiting and there[child] is not Status.CANCELLED:
            yield f"{child} is {there[child].value}, and {parent}, which it depends on, is {there[parent].value}"


def _outstanding(history: _History) -> dict[TaskId, set[TaskId]]:
    """For each pending task the tasks that it still waits for."""
    named = {task_id: map(dags.waited_for, names) for task_id, names in history.waits.items()}
    return {task_id: {other for other in others if other is not None} for task_id, others in named.items()}


def _cycle_problems(where: str, waits: Mapping[TaskId, set[TaskId]]) -> list[str]:
    try:
        dags.topological(waits)
    except CycleFound as cycle:
        return [f"{where} has a cycle: {' -> '.join(cycle.task_ids)}"]
    return []


def _key_problems(history: _History) -> list[str]:
    """One live task per idempotency key, one held task per concurrency key."""
    live = Counter(
        hot.idempotency_key for hot in history.tasks.values() if hot.idempotency_key and hot.status not in KEY_DEAD
    )
    held = Counter(hot.key for hot in history.tasks.values() if hot.key and hot.status in KEY_HELD)
    return [
        *(f"{count} live tasks have the idempotency key {key}" for key, count in live.items() if count > 1),
        *(f"{count} tasks hold the concurrency key {key}" for key, count in held.items() if count > 1),
    ]


def _held_amounts(history: _History, in_batches: Iterable[CallBody]) -> Mapping[str, int]:
    held: Counter[str] = Counter()
    for item in in_batches:
        for spend in settled(item, "", None, MicroUsd(0)):
            held[spend.name] -= spend.held
    for hot in history.tasks.values():
        if hot.status in HELD:
            held[slots_ceiling(hot.agent)] += 1
            if hot.type_slot:
                held[type_slots_ceiling(hot.agent_type)] += 1
        if hot.status not in KEY_HELD or hot.agent is None:
            continue
        if hot.key is not None:
            held[key_ceiling(hot.key)] += 1
        if hot.circuit % 2:
            held[probe_ceiling(history.types[hot.id], hot.circuit)] += 1
        if hot.reserved:
            at = hot.claimed_at or hot.updated_at
            held.update(dict.fromkeys(money_names(hot.agent, hot.agent_type, hot.dag_id, at), hot.reserved))
    return held


def _spent_amounts(history: _History) -> Mapping[str, int]:
    spent: Counter[str] = Counter()
    for task_id, attempts in history.attempts.items():
        for attempt in attempts:
            dag_id = history.tasks[task_id].dag_id
            names = money_names(attempt.agent, attempt.agent_type, dag_id, attempt.claimed_at)
            spent.update(dict.fromkeys(names, attempt.cost))
    return spent
