"""Graphs that grow: tasks that depend on what is there already, and what that moves."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from taskyard.core import dag as dags
from taskyard.core import growth, outcomes, transitions
from taskyard.core.changes import (
    ChangeSet,
    Count,
    Edge,
    Event,
    Expect,
    Record,
    RecordChange,
    Rescore,
    merged,
)
from taskyard.core.dag import DagStatus
from taskyard.core.errors import InvalidInput
from taskyard.core.letters import audience_given, audience_of
from taskyard.core.planning import Planning
from taskyard.core.task import WAITING, DagId, Definition, Hot, Json, Status, TaskId, Trait
from taskyard.core.units import Micros
from taskyard.service import arguments
from taskyard.service.announcing import marked
from taskyard.service.drafting import Drafting, rescored

BY_DEFAULT = "human:local"
T = TypeVar("T")
DAG_FIELDS = frozenset({"title", "tasks", "budget_ceiling_usd", "tags", "id"})


class Growing(Drafting):
    async def _joined(self, draft: Definition, planning: Planning, now: Micros) -> ChangeSet:
        """A task that depends on existing ones becomes part of their graph."""
        parents = await self._parents(draft)
        dag_ids = {hot.dag_id for hot in parents.values() if hot.dag_id is not None}
        if len(dag_ids) > 1:
            raise InvalidInput("depends_on", "must all be in one DAG")
        if dag_ids:
            record = await self.store.record("dag", self.workspace, dag_ids.pop() or "")
            if record is None:
                raise InvalidInput("depends_on", "refers to a DAG that is gone")
            return await self._addition(record, [draft._replace(dag_id=DagId(record.id))], planning)
        return await self._new_graph(draft, list(parents.values()), planning, now)

    async def _new_graph(self, draft: Definition, parents: Sequence[Hot], planning: Planning, now: Micros) -> ChangeSet:
        """Something depends on lone tasks: they and it are a graph from now on."""
        dag_id = transitions.lone_dag(parents[0].id)
        record = dag_record({}, dag_id, planning, draft.created_by, now)
        adopted = merged(
            [outcomes.adopted(hot, dag_id=dag_id, spent=await self._spent(hot), now=now) for hot in parents]
        )
        done = frozenset(hot.id for hot in parents if hot.status is Status.COMPLETED)
        births = await self._births([draft._replace(dag_id=dag_id)], planning, heights={}, done=done, now=now)
        live = sum(hot.status is not Status.COMPLETED for hot in parents)
        return births._replace(
            changes=adopted.changes,
            spends=adopted.spends,
            records=(record,),
            counts=(
                Count(self.workspace, f"dag:{dag_id}:live", live + 1),
                Count(self.workspace, f"dag:{dag_id}:completed", len(parents) - live),
            ),
            rescores=await self._rescored({hot.id: 1 for hot in parents if hot.status in WAITING}, parents, now),
        )

    async def _parents(self, draft: Definition) -> dict[TaskId, Hot]:
        parents = await self.store.load(draft.depends_on)
        for dependency in draft.depends_on:
            hot = parents.get(dependency)
            if hot is None or hot.workspace != self.workspace:
                raise InvalidInput("depends_on", f"{dependency} is unknown")
            if hot.status is Status.CANCELLED:
                raise InvalidInput("depends_on", f"{dependency} is cancelled, so this would wait for ever")
            if hot.traits & Trait.JUDGES:
                raise InvalidInput("depends_on", f"{dependency} judges another task's output: depend on that task")
        return parents

    async def _addition(
        self,
        record: Record,
        drafts: Sequence[Definition],
        planning: Planning,
        *,
        parent: Hot | None = None,
        awaited: bool = False,
    ) -> ChangeSet:
        """New tasks in an existing graph. The graph's version guards it, so that two additions cannot close a cycle."""
        now, dag_id = self.now(), DagId(record.id)
        graph = await self.store.graph(dag_id)
        # A lone task that spawns is the first of its graph, which is not stored as one yet.
        there = {hot.id: hot for hot in ((*graph.tasks, parent) if parent else graph.tasks)}
        growth.check_size(dag_id, len(there), len(drafts), growth.most_tasks(record.body))
        self._check_dependencies(drafts, there, dag_id)
        if parent is not None:
            await self._check_spawning(parent, drafts, there, graph.edges)
        parents: dict[TaskId, set[TaskId]] = {task_id: set() for task_id in there}
        parents |= dags.waits_for(graph.edges)
        parents |= {draft.id: set(draft.depends_on) for draft in drafts}
        if parent is not None and awaited:
            parents[parent.id] = parents[parent.id] | {draft.id for draft in drafts}
        finished = {hot.id for hot in there.values() if hot.status.is_final}
        heights = dags.heights(parents, finished)
        done = frozenset(hot.id for hot in there.values() if hot.status is Status.COMPLETED)
        births = await self._births(
            drafts, planning, heights=heights, done=done, spawner=parent, awaited=awaited, now=now
        )
        births = births if audience_of(record.body) is None else marked(births)
        used = {dependency for draft in drafts for dependency in draft.depends_on} & set(there)
        rising = {
            hot.id: heights[hot.id] for hot in there.values() if hot.status in WAITING and heights[hot.id] != hot.height
        }
        body: dict[str, Json] = {**record.body, "status": DagStatus.RUNNING.value, "ended_at": None}
        reopened = DagStatus(str(record.body["status"])).is_final
        event = Event("dag.reopened", self.workspace, None, dag_id, now, None, None, None, None)
        return births._replace(
            expects=tuple(Expect(each, there[each].version) for each in sorted(used)),
            records=(RecordChange("dag", self.workspace, dag_id, record.version, body),),
            counts=(Count(self.workspace, f"dag:{dag_id}:live", len(drafts) + (record.version == 0)),),
            rescores=await self._rescored(rising, there.values(), now),
            events=(event,) if reopened else (),
        )

    async def _check_spawning(
        self, parent: Hot, drafts: Sequence[Definition], there: Collection[TaskId], edges: Sequence[Edge]
    ) -> None:
        """Refuse what goes deeper, or is more, than tasks may spawn, and what an agent may not refer to."""
        growth.check_depth(parent.id, edges)
        notes = [row for row in await self.store.checkpoints(parent.id) if row.attempt == parent.attempt]
        made = {TaskId(child) for row in notes for child in _children_noted(json.loads(row.data))}
        growth.check_children(parent.id, made, len(drafts), edges)
        if any(draft.context_refs for draft in drafts) and not await self._is_free(parent):
            definition, dag = await self._define(parent.id), {*there, *(draft.id for draft in drafts)}
            for draft in drafts:
                growth.check_references(draft, definition, dag)

    def _check_dependencies(self, drafts: Sequence[Definition], there: Mapping[TaskId, Hot], dag_id: DagId) -> None:
        new = {draft.id for draft in drafts}
        for draft in drafts:
            for dependency in draft.depends_on:
                if dependency not in new and dependency not in there:
                    raise InvalidInput("depends_on", f"{dependency} is unknown in {dag_id}")
                if dependency in there and there[dependency].status is Status.CANCELLED:
                    raise InvalidInput("depends_on", f"{dependency} is cancelled, so this would wait for ever")

    async def _rescored(self, heights: Mapping[TaskId, int], tasks: Iterable[Hot], now: Micros) -> tuple[Rescore, ...]:
        """The new places of tasks with more hanging below them than before."""
        definitions = await self.store.definitions(list(heights))
        return tuple(rescored(hot, definitions[hot.id], heights[hot.id], now) for hot in tasks if hot.id in heights)


def _children_noted(note: Json) -> list[str]:
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
