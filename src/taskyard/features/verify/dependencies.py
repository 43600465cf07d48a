"""Whether tasks wait for what they depend on, and for nothing else; page by page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from taskyard.core import dag as dags
from taskyard.core.changes import Edge
from taskyard.core.identifiers import BlockerKind, blocker_name, task_blocker
from taskyard.core.task import DagId, Hot, Status, TaskId, Trait
from taskyard.features.verify.rules import TaskPage, cycle_problems
from taskyard.ledger.ledger import Ledger

_LIFTED_BY_ANY_END = (BlockerKind.CHILD, BlockerKind.BATCH)

Waits = Mapping[TaskId, set[str]]  # the names of the blockers of each task


class DependencyChecks:
    """Is shown all tasks, the oldest first.

    Of the pages before, it keeps only who waits, directly or not, for a pending task that was put in later. No other
    can be part of a cycle: the oldest task of one waits for a later one, and the others wait for the oldest.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._may_be_in_a_cycle: dict[TaskId, set[TaskId]] = {}

    async def problems(self, page: TaskPage) -> list[str]:
        return [*await self._waiting_problems(page), *await self._dependency_problems(page)]

    def cycle_problems(self) -> list[str]:
        return cycle_problems("what waits now", self._may_be_in_a_cycle)

    async def _waiting_problems(self, page: TaskPage) -> list[str]:
        """What a task waits for is outstanding, and a task that waits for nothing does not wait."""
        pending = {hot.id: hot for hot in page.tasks.values() if hot.status is Status.PENDING}
        waits = await self._waits(pending)
        rows = await self._with_others(
            page, {other for names in waits.values() for other in map(_awaited, names) if other}
        )
        for hot in pending.values():
            self._note_cycles(hot, waits[hot.id], rows)
        return [
            *(f"{task_id} is pending and waits for nothing" for task_id, names in waits.items() if not names),
            *(
                f"{task_id} waits for {other.id}, which is {other.status.value}"
                for task_id, names in waits.items()
                for name in sorted(names)
                if (other := rows.get(_awaited(name) or TaskId(""))) is not None and _is_lifted_by(name, other)
            ),
        ]

    def _note_cycles(self, hot: Hot, names: Iterable[str], rows: Mapping[TaskId, Hot]) -> None:
        waited = [rows[other] for other in map(dags.waited_for, names) if other is not None and other in rows]
        outstanding = {other.id for other in waited if other.status is Status.PENDING}
        if any(rows[other].seq >= hot.seq or other in self._may_be_in_a_cycle for other in outstanding):
            self._may_be_in_a_cycle[hot.id] = outstanding

    async def _waits(self, pending: Mapping[TaskId, Hot]) -> dict[TaskId, set[str]]:
        waits: dict[TaskId, set[str]] = {task_id: set() for task_id in pending}
        for blocker in await self._store.blockers(list(pending)) if pending else ():
            if blocker.wait == pending[blocker.task_id].wait:
                waits[blocker.task_id].add(blocker.name)
        return waits

    async def _with_others(self, page: TaskPage, ids: set[TaskId]) -> dict[TaskId, Hot]:
        """The rows of the page, and of these other tasks as far as they are there."""
        others = sorted(ids - page.tasks.keys())
        return page.tasks | (await self._store.load(others) if others else {})

    async def _dependency_problems(self, page: TaskPage) -> list[str]:
        """Nothing runs before what it depends on; what waits for a task of another DAG is found by whatever ends it."""
        leaving = [edge for edge in await self._store.edges(list(page.tasks)) if edge.kind == "depends"]
        rows = await self._with_others(page, {edge.child for edge in leaving})
        edges = dags.within(leaving, rows)  # of some, one end came, or was pruned, since the tasks were listed
        crossing = [
            edge
            for edge in edges
            if _dag(rows, edge.parent) is None or _dag(rows, edge.parent) != _dag(rows, edge.child)
        ]
        names = {dags.needed_name(dag_id) for edge in crossing if (dag_id := _dag(rows, edge.parent)) is not None}
        needed = await self._store.counts(self._workspace, sorted(names)) if names else {}
        open_edges = [edge for edge in edges if rows[edge.parent].status is not Status.COMPLETED]
        pending = {each: rows[each] for _, each, _ in open_edges if rows[each].status is Status.PENDING}
        return [
            *_release_problems(rows, open_edges, await self._waits(pending)),
            *_mark_problems(rows, crossing, needed),
        ]


def _awaited(name: str) -> TaskId | None:
    """The task that a blocker of this name waits for."""
    blocker = blocker_name(name)
    return TaskId(blocker.rest) if blocker.kind is BlockerKind.BATCH else blocker.task_id


def _is_lifted_by(name: str, other: Hot) -> bool:
    is_by_any_end = blocker_name(name).kind in _LIFTED_BY_ANY_END
    return other.status is Status.COMPLETED or (is_by_any_end and other.status.is_final)


def _dag(rows: Mapping[TaskId, Hot], task_id: TaskId) -> DagId | None:
    return rows[task_id].dag_id


def _mark_problems(tasks: Mapping[TaskId, Hot], crossing: Sequence[Edge], needed: Mapping[str, int]) -> Iterable[str]:
    """Whatever tasks of other DAGs depend on is marked, or its DAG counts that they do."""
    for parent, child, _ in crossing:
        hot = tasks[parent]
        if not (hot.traits & Trait.NEEDED if hot.dag_id is None else needed.get(dags.needed_name(hot.dag_id))):
            yield f"{child} depends on {parent}, which is of another DAG and is not marked as needed"


def _release_problems(rows: Mapping[TaskId, Hot], open_edges: Iterable[Edge], waits: Waits) -> Iterable[str]:
    """What depends on a task that is not completed waits for it, or is cancelled."""
    for parent, child, _ in open_edges:
        status = rows[child].status
        if status is not Status.CANCELLED and task_blocker(parent) not in waits.get(child, ()):
            yield f"{child} is {status.value}, and {parent}, which it depends on, is {rows[parent].status.value}"
