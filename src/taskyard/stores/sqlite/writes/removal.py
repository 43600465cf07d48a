"""Removing tasks and everything that belongs only to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from taskyard.core.task import FINAL, DagId, TaskId
from taskyard.stores.sqlite.log.log_reads import numbers_in
from taskyard.stores.sqlite.log.log_removal import remove_owned_events
from taskyard.stores.sqlite.statements import SQL, json_list
from taskyard.stores.sqlite.transaction import SqliteTransaction
from taskyard.stores.sqlite.writes.moves import name_row

_BY_NUMBER = ("definitions", "attempts", "tasks")
_OF_THE_LIVING = ("held", "ready")  # what no final task has; `ready` is found by `task`


class _Doomed(NamedTuple):
    seq: int
    id: TaskId
    workspace: str
    dag_id: DagId | None
    idempotency_key: str | None
    status: str
    log: str


def remove_tasks(transaction: SqliteTransaction, task_ids: Sequence[TaskId]) -> None:
    transaction.flush_log()
    found = [_Doomed._make(row) for row in transaction.connection.execute(SQL["doomed"], (json_list(task_ids),))]
    dags = sorted({(each.workspace, each.dag_id) for each in found if each.dag_id is not None})
    _remove_events(transaction, found, dags)
    for workspace, dag_id in dags:
        _remove_dag(transaction, workspace, dag_id)
    keys = [((each.workspace, each.idempotency_key), each.seq) for each in found if each.idempotency_key is not None]
    transaction.write("remove_names", [name_row(key, seq) for key, seq in keys])
    ids, seqs = json_list(each.id for each in found), json_list(each.seq for each in found)
    # Most yards have nothing at all in most of these tables.
    for (what,) in list(transaction.connection.execute(SQL["filled"])):
        transaction.run(f"remove_{what}", seqs if what == "tags" else ids)
    if living := [each.seq for each in found if each.status not in FINAL]:
        for what in _OF_THE_LIVING:
            transaction.run(f"remove_{what}", json_list(living))
    for what in _BY_NUMBER:
        transaction.run(f"remove_{what}", seqs)


def _remove_events(transaction: SqliteTransaction, found: Sequence[_Doomed], dags: Iterable[tuple[str, DagId]]) -> None:
    """Remove the events of the tasks, and those of their DAGs that are of no task."""
    owners: defaultdict[str, defaultdict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    # Tasks that were put in, claimed and ended together have their events in the same rows.
    together: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for each in found:
        together[each.workspace, each.log].append(each.id)
    for (workspace, log), ids in together.items():
        for number in numbers_in(log):
            owners[workspace][number].update(ids)
    by_seq = {each.seq: each for each in found}
    for seq, number in transaction.connection.execute(SQL["remove_task_events"], (json_list(by_seq),)):
        owners[by_seq[seq].workspace][number].add(by_seq[seq].id)
    for workspace, dag_id in dags:
        for (number,) in transaction.connection.execute(SQL["doomed_dag_events"], (workspace, dag_id)):
            owners[workspace][number].add(dag_id)
    for workspace, by_number in owners.items():
        remove_owned_events(transaction, workspace, by_number)


def _remove_dag(transaction: SqliteTransaction, workspace: str, dag_id: DagId) -> None:
    transaction.run("remove_dag_events", workspace, dag_id)
    transaction.run("remove_record", "dag", workspace, dag_id)
    transaction.run("remove_dag_limit", workspace, dag_id)
    transaction.run("remove_dag_counters", workspace, dag_id, dag_id)
