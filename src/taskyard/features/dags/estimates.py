"""What a graph would cost and how long it would take, by the history of its types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from taskyard.core import dag as dags
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Hot, Status, TaskId
from taskyard.core.units import SECOND, MicroUsd
from taskyard.features.dags.views import Dag, DagEstimate, TypeEstimate
from taskyard.features.tasks.lookup.queries import Queries
from taskyard.ledger.ledger import Ledger
from taskyard.stores.contract import Filter

HISTORY = 100  # ended tasks of a type that are looked at
MOST_TYPES = 50
_ENDED = frozenset({Status.COMPLETED, Status.DEAD_LETTERED})


class TypeHistory(NamedTuple):
    """What tasks of a type came to: means, of those that ended last."""

    seen: int
    cost: MicroUsd | None
    seconds: float | None


class Estimates:
    def __init__(self, ledger: Ledger, queries: Queries) -> None:
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._queries = queries

    async def of(self, dag: Dag, ceiling: MicroUsd | None) -> DagEstimate:
        """What this graph would come to. It is stored nowhere."""
        counts = Counter(task.type for task in dag.tasks.values())
        if len(counts) > MOST_TYPES:
            raise InvalidInput("tasks", f"must be of at most {MOST_TYPES} types for an estimate")
        past = {type_: await self._past(type_) for type_ in counts}
        return estimated(dag, counts, past, ceiling)

    async def _past(self, type_: str) -> TypeHistory:
        wanted = Filter(workspace=self._workspace, types=frozenset({type_}), statuses=_ENDED)
        hots = await self._store.find(wanted, after=0, limit=HISTORY)
        return summed_up(hots, await self._queries.costs_of(hots))


def summed_up(hots: Sequence[Hot], costs: Mapping[TaskId, MicroUsd]) -> TypeHistory:
    """The means of what ended. What failed has cost too, but its time says nothing of how long the work takes."""
    if not hots:
        return TypeHistory(0, None, None)
    times = [
        (hot.updated_at - hot.started_at) / SECOND
        for hot in hots
        if hot.status is Status.COMPLETED and hot.started_at is not None
    ]
    cost = MicroUsd(-(-sum(costs[hot.id] for hot in hots) // len(hots)))  # rounded up, as spend is
    return TypeHistory(len(hots), cost, round(sum(times) / len(times), 3) if times else None)


def estimated(
    dag: Dag, counts: Mapping[str, int], past: Mapping[str, TypeHistory], ceiling: MicroUsd | None
) -> DagEstimate:
    cost = MicroUsd(sum((past[type_].cost or 0) * number for type_, number in counts.items()))
    chain = _longest_chain(dag, past)
    seconds = sum(past[dag.tasks[name].type].seconds or 0 for name in chain)
    return DagEstimate(
        tasks=len(dag.tasks),
        cost=cost,
        seconds=round(seconds, 3),
        chain=tuple(chain),
        unknown=tuple(sorted(type_ for type_ in counts if not past[type_].seen)),
        is_over_ceiling=ceiling is not None and cost > ceiling,
        types=tuple(
            TypeEstimate(type_, number, past[type_].seen, past[type_].cost, past[type_].seconds)
            for type_, number in sorted(counts.items())
        ),
    )


def _longest_chain(dag: Dag, past: Mapping[str, TypeHistory]) -> list[str]:
    """The names of the tasks that nothing can be done beside: the chain that takes longest, by its means.

    A type without a history counts as an instant; of chains that take equally long, the one of more tasks.
    """
    names = {task.id: name for name, task in dag.tasks.items()}
    parents = {task.id: {each for each in task.depends_on if each in names} for task in dag.tasks.values()}
    best: dict[TaskId, tuple[float, int, TaskId | None]] = {}
    for task_id in dags.topological(parents):
        seconds = past[dag.tasks[names[task_id]].type].seconds or 0
        before = max(((best[each][0], best[each][1], each) for each in parents[task_id]), default=(0.0, 0, None))
        best[task_id] = (before[0] + seconds, before[1] + 1, before[2])
    last = max(best, key=lambda each: best[each][:2], default=None)
    chain: list[str] = []
    while last is not None:
        chain.append(names[last])
        last = best[last][2]
    return chain[::-1]
