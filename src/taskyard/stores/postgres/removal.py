"""Removes tasks and everything that belongs only to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from taskyard.core.task import TaskId
from taskyard.stores.postgres.log.log_removal import Owners, lock_shared, note_pruned, remove_shared
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.postgres.transaction import PostgresTransaction
from taskyard.stores.shared.rows import Row


async def remove(transaction: PostgresTransaction, task_ids: Sequence[TaskId]) -> None:
    if not task_ids:
        return
    await transaction.flush()
    doomed = await transaction.query("doomed", list(task_ids))
    dags = sorted({(workspace, dag_id) for workspace, _, dag_id, _ in doomed if dag_id is not None})
    owners = await _owners_in_log(transaction, doomed, dags)
    shared = await lock_shared(transaction, owners)
    await note_pruned(transaction, shared, owners)
    for what in ("events", "records", "limits", "counters") if dags else ():
        await transaction.run(f"remove_dag_{what}", *transpose(dags, 2))
    await transaction.run("remove_tasks", [row[1] for row in doomed])
    await remove_shared(transaction, shared)


async def _owners_in_log(
    transaction: PostgresTransaction, doomed: Sequence[Row], dags: Sequence[tuple[str, str]]
) -> Owners:
    """The rows of the log with events of the tasks, and of their DAGs where these are of no task."""
    owners: defaultdict[tuple[int, str], set[str]] = defaultdict(set)
    for workspace, task_id, _, numbers in doomed:
        for number in numbers:
            owners[number, workspace].add(task_id)
    found = await transaction.query("doomed_dag_events", *transpose(dags, 2)) if dags else []
    for workspace, dag_id, number in found:
        owners[number, workspace].add(dag_id)
    return owners
