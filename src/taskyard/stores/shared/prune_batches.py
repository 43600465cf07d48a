"""Which finished tasks retention removes next. The memory store and the SQL stores share this choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from taskyard.core.task import DagId, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import Cursor


class Candidate(NamedTuple):
    """A final task that is older than the retention."""

    updated_at: Micros
    seq: int
    id: TaskId
    dag_id: DagId | None


class PruneBatch(NamedTuple):
    alone: list[TaskId]  # tasks of no DAG
    dags: list[DagId]
    cursor: Cursor | None


def dag_ids_of(candidates: Sequence[Candidate]) -> list[DagId]:
    return list(dict.fromkeys(each.dag_id for each in candidates if each.dag_id is not None))


def choose_batch(candidates: Sequence[Candidate], sizes: Mapping[DagId, int], limit: int) -> PruneBatch:
    """Take the first candidates up to `limit` tasks, each DAG whole. `sizes` has only the DAGs that may be removed."""
    alone, dags, number = list[TaskId](), dict[DagId, None](), 0
    cursor: Cursor | None = None
    for updated_at, seq, task_id, dag_id in candidates:
        if number >= limit:
            return PruneBatch(alone, list(dags), cursor)
        cursor = Cursor(updated_at, seq)
        if dag_id is None:
            alone.append(task_id)
            number += 1
        elif dag_id in sizes and dag_id not in dags:
            dags[dag_id] = None
            number += sizes[dag_id]
    # Fewer candidates than the limit: no candidate follows.
    return PruneBatch(alone, list(dags), cursor if len(candidates) >= limit else None)
