"""Forgetting tasks and everything that is only theirs."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.task import TaskId
from taskyard.stores.postgres.statements import columns
from taskyard.stores.postgres.transaction import Transaction

_PARTS = (
    *("definitions", "tags_of", "events", "outputs", "attempts", "checkpoints", "signals", "blockers_of"),
    *("edges_from", "edges_to", "outbox", "dead", "tasks"),
)


async def remove(transaction: Transaction, task_ids: Sequence[TaskId]) -> None:
    if not task_ids:
        return
    await transaction.flush()
    ids = list(task_ids)
    [[last]] = await transaction.ask("last_doomed_event", ids)
    await transaction.run("set_pruned_through", last)
    if dags := await transaction.ask("doomed_dags", ids):
        for what in ("records", "limits", "counters"):
            await transaction.run(f"remove_dag_{what}", *columns(dags, 2))
    for what in _PARTS:
        await transaction.run(f"remove_{what}", ids)
