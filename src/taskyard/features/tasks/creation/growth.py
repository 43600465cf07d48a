"""Graphs that grow: tasks that depend on what is there already, and what that moves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from taskyard.core import dag as dags
from taskyard.core import outcomes, transitions
from taskyard.core.changes import (
    Ceiling,
    ChangeSet,
    Count,
    Edge,
    Event,
    Expect,
    Record,
    RecordChange,
    Rescore,
    expected,
)
from taskyard.core.dag import DagStatus
from taskyard.core.errors import InvalidInput
from taskyard.core.identifiers import dag_ceiling, dag_counter
from taskyard.core.json_value import Json, compact, is_mapping
from taskyard.core.planning import Planning
from taskyard.core.task import WAITING, DagId, Definition, Hot, Status, TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.definition import arguments
from taskyard.features.dags import walk
from taskyard.features.dags.views import Dag
from taskyard.features.inbox.inbox_feed import marked
from taskyard.features.inbox.items import audience_given, audience_of
from taskyard.features.tasks.creation import growth_limits
from taskyard.features.tasks.creation.drafts import Drafts, rescored
from taskyard.features.tasks.views import Task
from taskyard.ledger.ledger import KeyTaken, Ledger
from taskyard.stores.turns import pause_if_many

BY_DEFAULT = "human:local"
T = TypeVar("T")
DAG_FIELDS = frozenset({"title", "tasks", "budget_ceiling_usd", "tags", "id", "inbox"})


class Growth:
    def __init__(self, ledger: Ledger, drafts: Drafts) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._drafts = drafts

    async def dependencies(self, drafts: Sequence[Definition]) -> dict[TaskId, Hot]:
        """The stored tasks that these depend on, in whichever DAGs of the workspace, if they may."""
        stored = await self.named_dependencies(drafts)
        growth_limits.check_dependencies(drafts, stored)
        return stored

    async def named_dependencies(self, drafts: Sequence[Definition]) -> dict[TaskId, Hot]:
        named = {each for draft in drafts for each in draft.depends_on} - {draft.id for draft in drafts}
        return await self._ledger.load_all(sorted(named)) if named else {}

    async def new_dag(
        self,
        record: RecordChange,
        drafts: Sequence[Definition],
        planning: Planning,
        stored: Mapping[TaskId, Hot],
        now: Micros,
    ) -> ChangeSet:
        """A DAG that is not there yet. What its tasks depend on beyond it is `stored`."""
        await pause_if_many(drafts)
        heights = dags.heights({draft.id: set(draft.depends_on) for draft in drafts})
        await pause_if_many(drafts)
        births = await self._drafts.births(drafts, planning, heights=heights, done=_completed(stored), now=now)
        births = births if audience_of(record.body or {}) is None else marked(births)
        dag_id, tasks = DagId(record.id), compact({"tasks": len(drafts)})
        event = Event("dag.created", self._workspace, None, dag_id, now, None, None, None, tasks)
        return births._replace(
            records=(record,),
            counts=(Count(self._workspace, dag_counter(dag_id, "live"), len(drafts)),),
            events=(event,),
        )

    async def addition(
        self,
        record: Record,
        drafts: Sequence[Definition],
        planning: Planning,
        stored: Mapping[TaskId, Hot],
        *,
        parent: Hot | None = None,
        awaited: bool = False,
    ) -> ChangeSet:
        """New tasks in an existing graph. The graph's version guards it, so that two additions cannot close a cycle."""
        now, dag_id = self._ledger.now(), DagId(record.id)
        graph = await self._store.graph(dag_id)
        # A lone task that spawns is the first of its graph, which is not stored as one yet.
        there = {hot.id: hot for hot in ((*graph.tasks, parent) if parent else graph.tasks)}
        growth_limits.check_size(dag_id, len(there), len(drafts), growth_limits.most_tasks(record.body))
        if parent is not None:
            await self._check_spawning(parent, drafts, there, graph.edges)
            growth_limits.check_dependencies(drafts, stored)
        parents: dict[TaskId, set[TaskId]] = {task_id: set() for task_id in there}
        parents |= dags.waits_for(dags.within(graph.edges, there))
        parents |= {draft.id: set(draft.depends_on) for draft in drafts}
        if parent is not None and awaited:
            parents[parent.id] = parents[parent.id] | {draft.id for draft in drafts}
        finished = {hot.id for hot in there.values() if hot.status.is_final}
        heights = dags.heights(parents, finished)
        births = await self._drafts.births(
            drafts, planning, heights=heights, done=_completed(stored), spawner=parent, awaited=awaited, now=now
        )
        births = births if audience_of(record.body) is None else marked(births)
        rising = {
            hot.id: heights[hot.id] for hot in there.values() if hot.status in WAITING and heights[hot.id] != hot.height
        }
        body: dict[str, Json] = {**record.body, "status": DagStatus.RUNNING.value, "ended_at": None}
        reopened = DagStatus(str(record.body["status"])).is_final
        event = Event("dag.reopened", self._workspace, None, dag_id, now, None, None, None, None)
        return births._replace(
            records=(RecordChange("dag", self._workspace, dag_id, record.version, body),),
            counts=(Count(self._workspace, dag_counter(dag_id, "live"), len(drafts) + (record.version == 0)),),
            rescores=await self._rescored(rising, there.values(), now),
            events=(event,) if reopened else (),
        )

    def depending(self, births: ChangeSet, stored: Mapping[TaskId, Hot]) -> ChangeSet:
        """New tasks with what guards their dependencies: each must still be as it was read.

        A lone task that others come to depend on is marked, once: until then nobody looks who waits for it. One that
        has ended is written each time, so that retention does not remove it as if nobody needed it.
        """
        if not births.edges:
            return births
        homes = {hot.id: hot.dag_id for hot in (*stored.values(), *(task.hot for task in births.tasks))}
        depends = [edge for edge in births.edges if edge.kind == "depends"]
        across = [edge.parent for edge in depends if homes[edge.parent] != homes[edge.child]]
        marks = {
            each: stored[each]
            for each in sorted(set(across) & stored.keys())
            if stored[each].status.is_final or not outcomes.may_be_waited_for(stored[each])
        }
        times = Counter(dag_id for each in across if (dag_id := homes[each]) is not None)
        needed = tuple(Count(self._workspace, dags.needed_name(dag_id), often) for dag_id, often in times.items())
        changes = tuple(transitions.need(hot, now=births.at) for hot in marks.values())
        marked_too = births._replace(changes=(*births.changes, *changes), counts=(*births.counts, *needed))
        return guarded(marked_too, [expected(hot) for _, hot in sorted(stored.items())])

    async def unclosed(self, parent: TaskId, waits: Mapping[TaskId, Collection[TaskId]]) -> tuple[Expect, ...]:
        """Refuse a wait of the parent's that would close a cycle, in whichever DAGs; else what guards that it does not.

        `waits` says for each task that the parent is to wait for what that depends on. All that waits so far waits for
        one of those that are looked at here and wait for nothing: while these stay as they are, no other call can close
        the cycle with a wait of its own.
        """
        above = await walk.above(self._store, {each for some in waits.values() for each in some} - waits.keys())
        dags.topological({**dict.fromkeys(above.tasks, ()), **above.waits, **waits, parent: set(waits)})
        return tuple(expected(hot) for hot in above.foremost())

    async def _check_spawning(
        self, parent: Hot, drafts: Sequence[Definition], there: Collection[TaskId], edges: Sequence[Edge]
    ) -> None:
        """Refuse what goes deeper, or is more, than tasks may spawn, and what an agent may not refer to."""
        growth_limits.check_depth(parent.id, edges)
        notes = [row for row in await self._store.checkpoints(parent.id) if row.attempt == parent.attempt]
        made = {TaskId(child) for row in notes for child in spawned_children(json.loads(row.data))}
        growth_limits.check_children(parent.id, made, len(drafts), edges)
        if any(draft.context_refs or draft.depends_on for draft in drafts) and not await self._ledger.is_free(parent):
            definition, dag = await self._ledger.definition(parent.id), {*there, *(draft.id for draft in drafts)}
            for draft in drafts:
                growth_limits.check_references(draft, definition, dag)

    async def _rescored(self, heights: Mapping[TaskId, int], tasks: Iterable[Hot], now: Micros) -> tuple[Rescore, ...]:
        """The new places of tasks with more hanging below them than before."""
        definitions = await self._store.definitions(list(heights))
        return tuple(rescored(hot, definitions[hot.id], heights[hot.id], now) for hot in tasks if hot.id in heights)

    async def graphed(self, dag: Mapping[str, object], *, created_by: str) -> tuple[ChangeSet, Dag]:
        """What a whole graph comes to: the rows to store, and the answer once they are."""
        refuse_other_fields(dag)
        created_by = arguments.name("created_by", created_by)
        dag_id = arguments.dag_id("id", dag["id"]) if "id" in dag else self._ledger.mint_dag()
        planning, now = await self._drafts.planning_new(), self._ledger.now()
        named = await self._drafts.named(dag.get("tasks"), planning, created_by=created_by, dag_id=dag_id, now=now)
        record = dag_record(dag, dag_id, planning, created_by, now)
        ceiling = _ceiling(dag)
        drafts = list(named.values())
        stored = await self.dependencies(drafts)
        births = await self.new_dag(record, drafts, planning, stored, now)
        ceilings = () if ceiling is None else (Ceiling(self._workspace, dag_ceiling(dag_id), ceiling),)
        change_set = self.depending(births, stored)._replace(ceilings=ceilings)
        await pause_if_many(drafts)
        hots = {task.hot.id: task.hot for task in births.tasks}
        tasks = {name: Task(hots[draft.id], draft, created=True) for name, draft in named.items()}
        return change_set, Dag(id=dag_id, tasks=tasks)

    async def commit_new(self, decide: Callable[[], Awaitable[tuple[ChangeSet | None, T]]]) -> T:
        """Land tasks of a graph. Theirs is not the answer where somebody has their key: the graph needs them all."""
        try:
            return await self._ledger.commit(decide)
        except KeyTaken as refused:
            raise InvalidInput("tasks", f"uses keys or ids that are taken: {', '.join(sorted(refused.by))}") from None


def guarded(change_set: ChangeSet, expects: Iterable[Expect]) -> ChangeSet:
    """The set, to land only where these rows too are as they were read."""
    known = {expect.task_id for expect in change_set.expects} | {change.before.id for change in change_set.changes}
    more = tuple(expect for expect in expects if expect.task_id not in known)
    return change_set._replace(expects=(*change_set.expects, *more))


def _completed(tasks: Mapping[TaskId, Hot]) -> frozenset[TaskId]:
    return frozenset(hot.id for hot in tasks.values() if hot.status is Status.COMPLETED)


def spawned_children(note: Json) -> list[str]:
    """The tasks that a note tells of, where it is that of a spawn."""
    children = note.get("children") if isinstance(note, dict) else None
    return [child for child in children if isinstance(child, str)] if isinstance(children, list) else []


def dag_record(
    fields: Mapping[str, object], dag_id: DagId, planning: Planning, created_by: str, now: Micros
) -> RecordChange:
    tags = arguments.names("tags", cast(Iterable[str], fields.get("tags", ())), most=50, longest=100)
    body: dict[str, Json] = {
        "title": arguments.words("title", fields.get("title", "")),
        "tags": list[Json](tags),
        "created_by": created_by,
        "created_at": now,
        "status": DagStatus.RUNNING.value,
        "ended_at": None,
        "preset": planning.policy_of("default").name,
        "inbox": audience_given(fields.get("inbox")),
    }
    return RecordChange("dag", planning.workspace, dag_id, 0, body)


def refuse_other_fields(dag: object) -> None:
    if not is_mapping(dag):
        raise InvalidInput("dag", "must be an object")
    for field in dag:
        if field not in DAG_FIELDS:
            name = str(field)[:100].encode("ascii", "backslashreplace").decode()
            raise InvalidInput(name, f"is not a field of a DAG; those are {', '.join(sorted(DAG_FIELDS))}")


def _ceiling(dag: Mapping[str, object]) -> MicroUsd | None:
    return arguments.money("budget_ceiling_usd", dag.get("budget_ceiling_usd"))
