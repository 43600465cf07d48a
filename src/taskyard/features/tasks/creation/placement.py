"""Which DAG a new task belongs to. That never changes, but for a lone task that spawns, which is the first of its own.

It is the DAG that the task is put into; else, where all its dependencies are of one stored DAG, that one; else its own.
Tasks of one batch that depend on each other are one new DAG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from taskyard.core.task import DagId, Definition, Hot, TaskId


def groups(drafts: Sequence[Definition]) -> list[list[Definition]]:
    """The tasks of a batch that name no DAG, and depend on something or are depended on.

    Those are together that depend on each other.
    """
    if not any(draft.depends_on for draft in drafts):
        return []
    homeless = {draft.id for draft in drafts if draft.dag_id is None}
    neighbours: dict[TaskId, list[TaskId]] = {}
    for draft in drafts:
        for one, other in chain.from_iterable(((draft.id, up), (up, draft.id)) for up in draft.depends_on):
            if one in homeless:
                neighbours.setdefault(one, []).append(other)
    first_of: dict[TaskId, TaskId] = {}
    for first in neighbours:
        frontier = [] if first in first_of else [first]
        while frontier:
            member = frontier.pop()
            first_of[member] = first
            frontier += [each for each in neighbours[member] if each in homeless and each not in first_of]
    grouped: dict[TaskId, list[Definition]] = {}
    for draft in drafts:
        if draft.id in first_of:
            grouped.setdefault(first_of[draft.id], []).append(draft)
    return list(grouped.values())


def placed(
    drafts: Sequence[Definition], stored: Mapping[TaskId, Hot], new: Mapping[TaskId, DagId]
) -> dict[DagId | None, list[Definition]]:
    """The tasks of a batch by their DAGs; under None those that are each alone.

    `stored` are the tasks that they depend on besides each other, `new` the ids of DAGs to be made: one for the first
    task of each group.
    """
    homes = {draft.id: draft.dag_id for draft in drafts}
    dags = {task_id: hot.dag_id for task_id, hot in stored.items()} | homes
    for group in groups(drafts):
        first, *others = group
        depended_on = {dags.get(each) for each in first.depends_on} if not others else set[DagId | None]()
        home = next(iter(depended_on)) if len(depended_on) == 1 else None
        homes |= dict.fromkeys((draft.id for draft in group), home or new[first.id])
    by_dag: dict[DagId | None, list[Definition]] = {}
    for draft in drafts:
        by_dag.setdefault(homes[draft.id], []).append(draft)
    return by_dag
