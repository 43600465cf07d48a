"""Whether a DAG has no cycle, counts its tasks, and is over when they are; one DAG at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from taskyard.core import dag as dags
from taskyard.core.dag import DagStatus
from taskyard.core.task import DagId, Hot, TaskId
from taskyard.features.verify.rules import cycle_problems
from taskyard.ledger.ledger import Ledger
from taskyard.stores.contract import Filter


class GraphChecks:
    def __init__(self, ledger: Ledger) -> None:
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def problems(self, found: Sequence[Hot]) -> list[str]:
        """Of the DAGs whose first task is among these, which are listed the oldest first."""
        problems: list[str] = []
        for dag_id in sorted({hot.dag_id for hot in found if hot.dag_id is not None}):
            before = Filter(workspace=self._workspace, dag_id=dag_id)
            if await self._store.find(before, after=found[0].seq, limit=1):
                continue  # it was looked at with its first task
            of_graph = await self._problems_of_graph(dag_id)
            # One that has no tasks any more was pruned while it was looked at.
            problems += of_graph if of_graph and (await self._store.graph(dag_id)).tasks else []
        return problems

    async def _problems_of_graph(self, dag_id: DagId) -> list[str]:
        graph = await self._store.graph(dag_id)
        return [
            *cycle_problems(dag_id, {hot.id: set[TaskId]() for hot in graph.tasks} | dags.waits_for(graph.edges)),
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
