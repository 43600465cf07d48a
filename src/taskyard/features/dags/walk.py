"""Walking along dependencies, from DAG to DAG. Reads only; what follows from it is decided elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from taskyard.core import dag as dags
from taskyard.core.changes import Edge, Record
from taskyard.core.task import KEY_DEAD, DagId, Hot, Status, TaskId
from taskyard.stores.contract import Store

Reasons = dict[TaskId, str]  # what is to be cancelled, and why


class Above(NamedTuple):
    """Tasks, what they wait for, what that waits for, and so on up."""

    tasks: Mapping[TaskId, Hot]
    waits: Mapping[TaskId, set[TaskId]]  # of those that wait for tasks

    def failed(self) -> set[TaskId]:
        """Those that ended without success, or are gone: what waits for them cannot proceed."""
        named = {task_id for waited in self.waits.values() for task_id in waited}
        return {each for each in named if each not in self.tasks or self.tasks[each].status in KEY_DEAD}

    def foremost(self) -> list[Hot]:
        """Those that wait for no task, and may come to wait for one: only then does any task above these wait anew."""
        never = (Status.COMPLETED, Status.CANCELLED)
        return [hot for hot in self.tasks.values() if hot.id not in self.waits and hot.status not in never]


async def above(store: Store, task_ids: Collection[TaskId]) -> Above:
    """Rows are read before what they wait for: whoever finds a row's version unchanged has read its waits."""
    tasks: dict[TaskId, Hot] = {}
    waits: dict[TaskId, set[TaskId]] = {}
    seen, frontier = set(task_ids), set(task_ids)
    while frontier:
        rows = await store.load(sorted(frontier))
        tasks |= rows
        pending = [task_id for task_id, hot in rows.items() if hot.status is Status.PENDING]
        frontier = set[TaskId]()
        for task_id, wait, name in await store.blockers(pending) if pending else ():
            if wait == rows[task_id].wait and (other := dags.waited_for(name)) is not None:
                waits.setdefault(task_id, set()).add(other)
                frontier.add(other)
        frontier -= seen
        seen |= frontier
    return Above(tasks, waits)


async def waiting_dags(store: Store, roots: Sequence[Hot]) -> set[DagId]:
    """The DAGs other than their own in which a task waits for one of these, directly or not."""
    rows = {hot.id: hot for hot in roots}
    dependents: dict[TaskId, set[TaskId]] = {}
    read: set[DagId] = set()
    seen, frontier = set(rows), list(roots)
    while frontier:
        for waiter, waited in dags.waits_for(await _leaving(store, frontier, read)).items():
            for each in waited:
                dependents.setdefault(each, set()).add(waiter)
        found = {waiter for hot in frontier for waiter in dependents.get(hot.id, ())} - seen
        seen |= found
        rows |= await store.load(sorted(found)) if found else {}
        frontier = [rows[each] for each in sorted(found) if each in rows and not rows[each].status.is_final]
    own = {hot.dag_id for hot in roots}
    return {hot.dag_id for hot in rows.values() if hot.dag_id is not None and hot.dag_id not in own}


async def _leaving(store: Store, tasks: Sequence[Hot], read: set[DagId]) -> list[Edge]:
    """The edges of lone tasks, and those of every DAG that tasks of others depend on; each DAG's once."""
    lone = [hot.id for hot in tasks if hot.dag_id is None]
    edges = await store.edges(lone) if lone else []
    homes = {(hot.workspace, hot.dag_id) for hot in tasks if hot.dag_id is not None and hot.dag_id not in read}
    for workspace, dag_id in sorted(homes):
        read.add(dag_id)
        if await _is_needed(store, workspace, dag_id):
            edges += (await store.graph(dag_id)).edges
    return edges


async def _is_needed(store: Store, workspace: str, dag_id: DagId) -> bool:
    """Whether tasks of other DAGs depend on some of this one."""
    name = dags.needed_name(dag_id)
    return bool((await store.counts(workspace, [name])).get(name))


async def left(store: Store, intent: Record) -> Reasons:
    """What is left of a cascade, by its stored intent: under one cancelled task, or of a whole DAG and under it."""
    if "root" in intent.body:
        return await below(store, [TaskId(str(intent.body["root"]))])
    graph = await store.graph(DagId(intent.id))
    mine = [hot for hot in graph.tasks if hot.workspace == intent.workspace]
    follows = bool(intent.body.get("follows")) and await _is_needed(store, intent.workspace, DagId(intent.id))
    further = await below(store, [hot.id for hot in mine if hot.status is Status.CANCELLED] if follows else [])
    return further | {hot.id: str(intent.body["reason"]) for hot in mine if not hot.status.is_final}


async def below(store: Store, roots: Iterable[TaskId]) -> Reasons:
    """What is left to cancel under cancelled tasks: each for the parent that it would wait for."""
    reasons: Reasons = {}
    frontier = list(roots)
    seen = set(frontier)
    while frontier:
        edges = await store.edges(frontier)
        new = {edge.child: edge.parent for edge in edges if edge.child not in seen}
        seen |= new.keys()
        hots = await store.load(list(new))
        live = [child for child, hot in hots.items() if not hot.status.is_final]
        reasons |= {child: f"parent {new[child]} cancelled" for child in live}
        # An earlier try may have cancelled a part: what hangs below that part is still to be found.
        frontier = live + [child for child, hot in hots.items() if hot.status is Status.CANCELLED]
    return reasons
