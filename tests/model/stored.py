"""Everything a store has stored, as far as its contract tells: what two stores with one history must have alike."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from itertools import chain
from math import inf
from typing import Any, cast

from taskyard.core import breaker, dag
from taskyard.core.changes import Blocker, Checkpoint, Edge, Limit, Outbox, Output, Record, Signal
from taskyard.core.identifiers import breaker_counter
from taskyard.core.planning import Settings, settings_of
from taskyard.core.task import Attempt, Definition, Hot, Lane, LaneId, TaskId
from taskyard.core.units import Micros, utc_date
from taskyard.stores.contract import Filter, Store
from tests.model.steps import ELSEWHERE, HERE

KINDS = ("agent", "breaker", "cascade", "dag", "dead", "queue", "runtime", "throttle", "workspace")
TOPICS = ("notify",)
DUTIES = ("sweep", "prune", "finish", "day")
ALL = 10_000


@dataclass(slots=True)
class Stored:
    tasks: dict[TaskId, Hot] = field(default_factory=dict[TaskId, Hot])
    definitions: dict[TaskId, Definition] = field(default_factory=dict[TaskId, Definition])
    outputs: dict[TaskId, Output] = field(default_factory=dict[TaskId, Output])
    attempts: dict[TaskId, list[Attempt]] = field(default_factory=dict[TaskId, list[Attempt]])
    checkpoints: dict[TaskId, list[Checkpoint]] = field(default_factory=dict[TaskId, list[Checkpoint]])
    signals: dict[TaskId, list[Signal]] = field(default_factory=dict[TaskId, list[Signal]])
    blockers: list[Blocker] = field(default_factory=list[Blocker])
    edges: list[Edge] = field(default_factory=list[Edge])
    records: list[Record] = field(default_factory=list[Record])
    limits: list[Limit] = field(default_factory=list[Limit])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    lanes: dict[LaneId, Lane] = field(default_factory=dict[LaneId, Lane])
    pulses: dict[str, Micros] = field(default_factory=dict[str, Micros])
    duties: dict[str, Micros | None] = field(default_factory=dict[str, Micros | None])
    outbox: list[Outbox] = field(default_factory=list[Outbox])

    def blocked(self, hot: Hot) -> list[str]:
        """What the task waits for now."""
        return [each.name for each in self.blockers if (each.task_id, each.wait) == (hot.id, hot.wait)]

    def room(self, hot: Hot, blocker: str, now: Micros) -> float | None:
        """What is left under the ceiling that the task was put aside for; None where it waits for something else."""
        kind, _, name = blocker.partition(":")
        if kind == "key":
            return 1 - self._used(hot.workspace, blocker)
        if blocker == "budget:day":
            daily = self._settings(hot.workspace).daily_budget
            swept = (self.duties["day"] or 0) > now  # what yesterday put aside comes back with today's first sweep
            left = inf if daily is None else daily - self._used(hot.workspace, f"day:{utc_date(now)}")
            return left if swept else None
        if kind == "budget":
            limit = next((each for each in self.limits if (each.workspace, each.name) == (hot.workspace, name)), None)
            return inf if limit is None or limit.ceiling is None else limit.ceiling - limit.held - limit.spent
        return None

    def wanted(self, hot: Hot, blocker: str) -> int:
        """What the task would take of that room."""
        if blocker.startswith("key:"):
            return 1
        return self._settings(hot.workspace).default_reserve if hot.reserve is None else hot.reserve

    def shares(self, one: Hot, other: Hot, blocker: str) -> bool:
        """Whether both stand under the ceiling."""
        if blocker.startswith("key:"):
            return one.key == other.key
        return blocker == "budget:day" or one.dag_id == other.dag_id

    def _used(self, workspace: str, name: str) -> int:
        return sum(each.held + each.spent for each in self.limits if (each.workspace, each.name) == (workspace, name))

    def _settings(self, workspace: str) -> Settings:
        records = [each for each in self.records if (each.kind, each.workspace) == ("workspace", workspace)]
        return settings_of(records[0]) if records else Settings()


async def stored(store: Store) -> Stored:
    found = Stored()
    for workspace in (HERE, ELSEWHERE):
        tasks = await store.find(Filter(workspace=workspace), after=0, limit=ALL)
        # Numbered anew: the order counts, and a store may leave numbers out.
        found.tasks |= {hot.id: hot._replace(seq=place) for place, hot in enumerate(reversed(tasks), 1)}
        found.limits += sorted((await store.limits(workspace, None)).values())
        found.lanes |= (await store.config(workspace, LaneId(0))).lanes
    ids = sorted(found.tasks)
    found.definitions = await store.definitions(ids)
    found.outputs = await store.outputs(ids)
    found.blockers = sorted(await store.blockers(ids))
    found.edges = sorted(await store.edges(ids))
    for task_id, hot in found.tasks.items():
        # What is written of a task only while it is worked on; most reads of a run would be of what was never there.
        found.attempts[task_id] = await store.attempts(task_id) if hot.attempt else []
        found.checkpoints[task_id] = await store.checkpoints(task_id) if hot.attempt else []
        found.signals[task_id] = await store.signals(task_id) if hot.version > 1 else []
    for kind in KINDS:
        found.records += await store.records(kind)
    for workspace in (HERE, ELSEWHERE):
        counts = await store.counts(workspace, _counters(found.records, workspace))
        found.counts |= {f"{workspace}/{name}": count for name, count in counts.items()}
    found.pulses = await store.pulses("")
    found.duties = {name: await store.duty(name) for name in DUTIES}
    found.outbox = [row for topic in TOPICS for _, row in await store.outbox(topic, ALL)]
    return found


def _counters(records: list[Record], workspace: str) -> list[str]:
    """The names that are in use: the contract has no way to ask for all."""
    mine = [record for record in records if record.workspace == workspace]
    graphs = [dag.count_names(dag.DagId(record.id)).values() for record in mine if record.kind == "dag"]
    moved = {record.id: breaker.breaker_of(workspace, record.id, record) for record in mine if record.kind == "breaker"}
    types = {*moved, "code", "research"}
    failures = [
        breaker_counter(each, generation)
        for each in types
        for generation in range((moved[each].generation if each in moved else 0) + 1)
    ]
    return sorted(chain(*graphs, failures))


def difference(one: Any, other: Any, name: str = "") -> str:
    """Where two values first differ, short enough to be read."""
    for step, mine, theirs in _parts(one, other):
        if mine != theirs:
            return difference(mine, theirs, f"{name}{step}")
    return f"{name}: {one!r} and {other!r}"


def _parts(one: Any, other: Any) -> list[tuple[str, Any, Any]]:
    """What two values of one kind consist of, side by side; nothing where they are not made alike."""
    if type(one) is not type(other):
        return []
    if isinstance(one, dict):
        mine, theirs = cast(dict[object, Any], one), cast(dict[object, Any], other)
        return [(f"[{key}]", mine.get(key), theirs.get(key)) for key in {**mine, **theirs}]
    if is_dataclass(one) or hasattr(one, "_fields"):
        names = [each.name for each in fields(one)] if is_dataclass(one) else one._fields
        return [(f".{name}", getattr(one, name), getattr(other, name)) for name in names]
    if isinstance(one, list | tuple):
        several = list(zip(cast(list[Any], one), cast(list[Any], other), strict=False))
        return [(f"[{place}]", *pair) for place, pair in enumerate(several)]
    return []
