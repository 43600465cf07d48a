"""Everything a store has stored, as far as its contract tells: what two stores with one history must have alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from math import inf

from taskyard.core import breaker, dag
from taskyard.core.changes import Blocker, Checkpoint, Edge, Limit, Outbox, Output, Record, Signal
from taskyard.core.planning import Settings, settings_of
from taskyard.core.task import Attempt, Definition, Hot, Lane, LaneId, TaskId
from taskyard.core.units import Micros, utc_date
from taskyard.stores.contract import Filter, Store
from tests.model.steps import ELSEWHERE, HERE

KINDS = ("agent", "breaker", "cascade", "dag", "dead", "queue", "runtime", "throttle", "workspace")
TOPICS = ("agent_event", "embedding_job", "notify")
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
    outbox: list[tuple[int, Outbox]] = field(default_factory=list[tuple[int, Outbox]])

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
        found.tasks |= {hot.id: hot for hot in tasks}
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
    found.outbox = [row for topic in TOPICS for row in await store.outbox(topic, ALL)]
    return found


def _counters(records: list[Record], workspace: str) -> list[str]:
    """The names that are in use: the contract has no way to ask for all."""
    mine = [record for record in records if record.workspace == workspace]
    graphs = [dag.count_names(dag.DagId(record.id)).values() for record in mine if record.kind == "dag"]
    moved = {record.id: breaker.breaker_of(workspace, record.id, record) for record in mine if record.kind == "breaker"}
    types = {*moved, "code", "research"}
    failures = [
        breaker.counter(each, generation)
        for each in types
        for generation in range((moved[each].generation if each in moved else 0) + 1)
    ]
    return sorted(chain(*graphs, failures))


def difference(one: object, other: object, name: str = "") -> str:
    """Where two values first differ, short enough to be read."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:  # pyright: ignore[reportUnknownVariableType]
            if key not in one or key not in other or one[key] != other[key]:
                return difference(one.get(key), other.get(key), f"{name}[{key}]")  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    fields = getattr(one, "_fields", None) or getattr(one, "__slots__", None)
    if type(one) is type(other) and fields:
        for field_name in fields:
            mine, theirs = getattr(one, field_name), getattr(other, field_name)
            if mine != theirs:
                return difference(mine, theirs, f"{name}.{field_name}")
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        for place, (mine, theirs) in enumerate(zip(one, other, strict=False)):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            if mine != theirs:
                return difference(mine, theirs, f"{name}[{place}]")  # pyright: ignore[reportUnknownArgumentType]
        if len(one) != len(other):  # pyright: ignore[reportUnknownArgumentType]
            return f"{name}: {len(one)} and {len(other)} of them"  # pyright: ignore[reportUnknownArgumentType]
    return f"{name}: {one!r} and {other!r}"
