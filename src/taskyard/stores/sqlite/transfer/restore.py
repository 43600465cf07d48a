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
from taskyard.stores.shared import rows
from taskyard.stores.shared.log_rows import restored_rows, split_number
from taskyard.stores.sqlite import small_writes
from taskyard.stores.sqlite.statements import multi_row
from taskyard.stores.sqlite.transaction import SqliteTransaction
from taskyard.stores.sqlite.writes.attempts import write_attempts


def restore(transaction: SqliteTransaction, copies: Sequence[Copy], progress: RecordChange) -> bool:
    kind, workspace, id_, version, body = progress
    key = [(kind, workspace, id_)]
    stored = [row[3] for row in multi_row("record_versions").ask(transaction.connection, key)]
    if stored != ([version] if version else []):
        return False
    _restore_tasks(transaction, copies_of(TaskCopy, copies))
    _restore_history(transaction, copies)
    _restore_events(transaction, copies)
    _restore_the_rest(transaction, copies)
    transaction.write("write_records", [(kind, workspace, id_, version + 1, rows.format_body(body or {}))])
    for each in planned_workspaces(copies):
        transaction.bump_epoch(each)
    return True


def _restore_tasks(transaction: SqliteTransaction, tasks: Sequence[TaskCopy]) -> None:
    lanes = small_writes.lanes(transaction, [task.lane for task in tasks]) if tasks else {}
    transaction.restore_tasks([task._replace(hot=task.hot._replace(lane=lanes[task.lane])) for task in tasks])


def _restore_history(transaction: SqliteTransaction, copies: Sequence[Copy]) -> None:
    attempts, outputs = copies_of(Attempt, copies), copies_of(Output, copies)
    write_attempts(transaction, [ChangeSet(at=Micros(0), attempts=tuple(attempts), outputs=tuple(outputs))])
    transaction.write("insert_checkpoints", copies_of(Checkpoint, copies))
    transaction.write("insert_signals", copies_of(Signal, copies))
    transaction.write("insert_blockers", copies_of(Blocker, copies))
    transaction.write("insert_edges", copies_of(Edge, copies))


def _restore_events(transaction: SqliteTransaction, copies: Sequence[Copy]) -> None:
    events = copies_of(StoredEvent, copies)
    number, _ = split_number(last_event(copies))
    transaction.restore_log(number, [(first, row) for _, first, row in restored_rows(events)])
    begun = [(task_id, split_number(seq)[0]) for task_id, seq in first_events(copies).items()]
    transaction.write("begin_logs", begun)
    transaction.note_owners([each.event for each in events], [split_number(each.seq)[0] for each in events])


def _restore_the_rest(transaction: SqliteTransaction, copies: Sequence[Copy]) -> None:
    transaction.write("write_records", [(*each[:4], rows.format_body(each.body)) for each in copies_of(Record, copies)])
    transaction.write("write_limits", copies_of(Limit, copies))
    transaction.write("write_counters", copies_of(CounterCopy, copies))
    transaction.write("write_pulses", copies_of(PulseCopy, copies))
    transaction.write("insert_outbox", [each.outbox for each in copies_of(OutboxCopy, copies)])
    transaction.write("restore_pruned", copies_of(PrunedEvents, copies))
    for duty in copies_of(DutyCopy, copies):
        transaction.run("write_duty", *duty)
    for each in copies_of(YardSecret, copies):
        transaction.run("set_secret", each.secret)
