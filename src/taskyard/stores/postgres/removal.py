"""Removes tasks and everything that belongs only to them."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.task import TaskId
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.postgres.transaction import PostgresTransaction

_PARTS = (
    *("definitions", "tags_of", "events", "outputs", "attempts", "checkpoints", "signals", "blockers_of"),
    *("edges_from", "edges_to", "outbox", "dead", "tasks"),
)


async def remove(transaction: PostgresTransaction, task_ids: Sequence[TaskId]) -> None:
    if not task_ids:
        return
    await transaction.flush()
    ids = list(task_ids)
    dags = transpose(await transaction.query("doomed_dags", ids), 2)
    await transaction.run("note_doomed_events", ids, *dags)
    if dags[0]:
        for what in ("events", "records", "limits", "counters"):
            await transaction.run(f"remove_dag_{what}", *dags)
    for what in _PARTS:
        await transaction.run(f"remove_{what}", ids)
