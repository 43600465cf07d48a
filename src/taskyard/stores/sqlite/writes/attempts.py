"""Writing attempts. The output of an attempt is in its row."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.changes import ChangeSet, Output
from taskyard.core.json_value import compact
from taskyard.core.task import Attempt, TaskId
from taskyard.stores.shared import rows
from taskyard.stores.sqlite.statements import SQL, json_list
from taskyard.stores.sqlite.transaction import SqliteTransaction


def write_attempts(transaction: SqliteTransaction, sets: Sequence[ChangeSet]) -> None:
    attempts = [attempt for each in sets for attempt in each.attempts]
    outputs = {(output.task_id, output.attempt): output for each in sets for output in each.outputs}
    if not attempts and not outputs:
        return
    seqs = _seqs_of(transaction, sets, [*attempts, *outputs.values()])
    alone: list[rows.Row] = []
    ended: list[rows.Row] = []
    for attempt in attempts:
        output = outputs.pop((attempt.task_id, attempt.number), None)
        row = (seqs[attempt.task_id], *attempt[1:])
        if output is None:
            alone.append(row)
        else:
            ended.append((*row, *_output_columns(output)))
    transaction.write("insert_attempts", alone)
    transaction.write("insert_ended_attempts", ended)
    late = [(seqs[output.task_id], output.attempt, *_output_columns(output)) for output in outputs.values()]
    transaction.write("set_outputs", late)


def _output_columns(output: Output) -> rows.Row:
    return output.data, compact(output.artifacts) if output.artifacts else "[]", output.decision_report


def _seqs_of(
    transaction: SqliteTransaction, sets: Sequence[ChangeSet], written: Sequence[Attempt | Output]
) -> dict[TaskId, int]:
    """The numbers of the tasks. Nearly always, the attempt ends in a change of the same set."""
    seqs = {change.after.id: change.after.seq for each in sets for change in each.changes}
    if missing := {each.task_id for each in written} - seqs.keys():
        seqs.update(transaction.connection.execute(SQL["seqs"], (json_list(missing),)))
    return seqs
