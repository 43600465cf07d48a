"""Which finished tasks make up the next piece of what retention removes: the choice that all SQL stores make alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from taskyard.core.task import DagId, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import Cursor


class Candidate(NamedTuple):
    """A final task that is old enough."""

    updated_at: Micros
    seq: int
    id: TaskId
    dag_id: DagId | None


class Piece(NamedTuple):
    alone: list[TaskId]
    dags: list[DagId]
    cursor: Cursor | None


def dags_of(candidates: Sequence[Candidate]) -> list[DagId]:
    return list(dict.fromkeys(each.dag_id for each in candidates if each.dag_id is not None))


def piece(candidates: Sequence[Candidate], sizes: Mapping[DagId, int], limit: int) -> Piece:
    """The first candidates up to the limit of tasks, each DAG whole. `sizes` has the DAGs that may go, and no other."""
    alone, dags, number = list[TaskId](), dict[DagId, None](), 0
    cursor: Cursor | None = None
    for updated_at, seq, task_id, dag_id in candidates:
        if number >= limit:
            return Piece(alone, list(dags), cursor)
        cursor = Cursor(updated_at, seq)
        if dag_id is None:
            alone.append(task_id)
            number += 1
        elif dag_id in sizes and dag_id not in dags:
            dags[dag_id] = None
            number += sizes[dag_id]
    # Fewer candidates than were asked for: there are no more behind them.
    return Piece(alone, list(dags), cursor if len(candidates) >= limit else None)
