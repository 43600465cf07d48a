"""Writing rows from copies of another yard's."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.changes import (
    Blocker,
    ChangeSet,
    Checkpoint,
    Edge,
    Limit,
    Output,
    Record,
    RecordChange,
    Signal,
    StoredEvent,
)
from taskyard.core.task import Attempt
from taskyard.core.units import Micros
from taskyard.stores.copies import (
    Copy,
    CounterCopy,
    DutyCopy,
    OutboxCopy,
    PrunedEvents,
    PulseCopy,
    TaskCopy,
    YardSecret,
    copies_of,
    first_events,
    last_event,
    planned_workspaces,
)
from taskyard.stores.postgres import small_writes
from taskyard.stores.postgres.commits import write_attempts
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.postgres.transaction import PostgresTransaction
from taskyard.stores.shared import rows
from taskyard.stores.shared.log_rows import restored_rows, split_number


async def restore(transaction: PostgresTransaction, copies: Sequence[Copy], progress: RecordChange) -> bool:
    kind, workspace, id_, version, body = progress
    stored = [row[3] for row in await transaction.query("lock_records", [kind], [workspace], [id_])]
    if stored != ([version] if version else []):
        return False
    await _restore_tasks(transaction, copies_of(TaskCopy, copies))
    _restore_history(transaction, copies)
    transaction.write("insert_outbox", [each.outbox for each in copies_of(OutboxCopy, copies)])
    records = [(*each[:4], rows.format_body(each.body)) for each in copies_of(Record, copies)]
    transaction.write("insert_records", records)
    moved = [(kind, workspace, id_, version + 1, rows.format_body(body or {}))]
    await transaction.flush()
    transaction.write("change_records" if version else "insert_records", moved)
    await transaction.flush()
    await _restore_events(transaction, copies)
    await _restore_the_rest(transaction, copies)
    for each in planned_workspaces(copies):
        await transaction.bump_epoch(each)
    return True


async def _restore_tasks(transaction: PostgresTransaction, tasks: Sequence[TaskCopy]) -> None:
    if tasks:
        lanes = await small_writes.lanes(transaction, [task.lane for task in tasks])
        await transaction.restore_tasks([task._replace(hot=task.hot._replace(lane=lanes[task.lane])) for task in tasks])
        await transaction.flush()  # what belongs to a task is found by its id only then


def _restore_history(transaction: PostgresTransaction, copies: Sequence[Copy]) -> None:
    attempts, outputs = copies_of(Attempt, copies), copies_of(Output, copies)
    write_attempts(transaction, [ChangeSet(at=Micros(0), attempts=tuple(attempts), outputs=tuple(outputs))])
    transaction.write("insert_checkpoints", copies_of(Checkpoint, copies))
    transaction.write("insert_signals", copies_of(Signal, copies))
    transaction.write("insert_blockers", copies_of(Blocker, copies))
    transaction.write("insert_edges", copies_of(Edge, copies))


async def _restore_events(transaction: PostgresTransaction, copies: Sequence[Copy]) -> None:
    events = copies_of(StoredEvent, copies)
    await transaction.run("reserve_numbers", split_number(last_event(copies))[0])
    await _run(transaction, "restore_log", [(number, *row) for number, _, row in restored_rows(events)])
    begun = [(task_id, split_number(seq)[0]) for task_id, seq in first_events(copies).items()]
    await _run(transaction, "begin_logs", begun)
    placed = [(stored.event, split_number(stored.seq)[0]) for stored in events]
    of_tasks = {(event.task_id, number) for event, number in placed if event.task_id is not None}
    await _run(transaction, "restore_task_events", list(of_tasks))
    of_dags = {(event.workspace, event.dag_id, number) for event, number in placed if event.task_id is None}
    await _run(transaction, "restore_dag_events", [row for row in of_dags if row[1] is not None])


async def _restore_the_rest(transaction: PostgresTransaction, copies: Sequence[Copy]) -> None:
    await _run(transaction, "restore_limits", copies_of(Limit, copies))
    await _run(transaction, "restore_counters", copies_of(CounterCopy, copies))
    await _run(transaction, "restore_duties", copies_of(DutyCopy, copies))
    await _run(transaction, "restore_pulses", copies_of(PulseCopy, copies))
    await _run(transaction, "note_pruned", copies_of(PrunedEvents, copies))
    for each in copies_of(YardSecret, copies):
        await transaction.run("set_secret", each.secret)


async def _run(transaction: PostgresTransaction, name: str, values: Sequence[rows.Row]) -> None:
    if values:
        await transaction.run(name, *transpose(values, len(values[0])))
