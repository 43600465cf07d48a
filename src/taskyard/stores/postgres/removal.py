"""Removes tasks and everything that belongs only to them, and events that belong to nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from taskyard.core.changes import Event, is_prunable
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.postgres.transaction import PostgresTransaction
from taskyard.stores.shared.log_rows import PLACES, decode_row, event_number, keep_events
from taskyard.stores.shared.rows import Row

_BY_SEQ = ("tags_of", "attempts", "task_events", "ready", "held", "names", "tasks")
_BY_ID = ("checkpoints", "signals", "blockers_of", "edges_from", "edges_to", "outbox", "dead")
_LOOSE_ROWS = 100  # rows of the log with events of nothing that are looked at in one transaction


async def remove(transaction: PostgresTransaction, task_ids: Sequence[TaskId]) -> None:
    if not task_ids:
        return
    await transaction.flush()
    doomed = await transaction.query("doomed", list(task_ids))
    dags = {(workspace, dag_id) for _, workspace, _, dag_id, _ in doomed if dag_id is not None}
    await _remove_events(transaction, doomed, dags)
    if dags:
        for what in ("events", "records", "limits", "counters"):
            await transaction.run(f"remove_dag_{what}", *transpose(sorted(dags), 2))
    ids, numbers = [row[2] for row in doomed], [row[0] for row in doomed]
    for what in _BY_ID:
        await transaction.run(f"remove_{what}", ids)
    await transaction.run("remove_definitions", numbers, [row[1] for row in doomed])
    for what in _BY_SEQ:
        await transaction.run(f"remove_{what}", numbers)


async def _remove_events(transaction: PostgresTransaction, doomed: Sequence[Row], dags: set[tuple[str, str]]) -> None:
    shared = {(number, workspace) for _, workspace, _, _, numbers in doomed for number in numbers}
    if dags:
        found = await transaction.query("doomed_dag_events", *transpose(sorted(dags), 2))
        shared |= {(number, workspace) for workspace, _, number in found}
    gone = {row[2] for row in doomed}

    def is_kept(event: Event) -> bool:
        if event.task_id is not None:
            return event.task_id not in gone
        return (event.workspace, event.dag_id) not in dags

    if shared:
        rows = await transaction.query("lock_log_rows", *transpose(sorted(shared), 2))
        await _keep(transaction, rows, is_kept)


async def _keep(transaction: PostgresTransaction, rows: Iterable[Row], is_kept: Callable[[Event], bool]) -> None:
    """Remove the other events from these rows of the log, and note up to which number events are gone."""
    emptied: list[Row] = []
    rewritten: list[Row] = []
    through: dict[str, int] = {}
    for number, workspace, body in rows:
        gone = [stored.seq for stored in decode_row(number, workspace, body) if not is_kept(stored.event)]
        if not gone:
            continue
        through[workspace] = max(through.get(workspace, 0), gone[-1])
        kept = keep_events(number, workspace, body, is_kept)
        emptied += [] if kept else [(number, workspace)]
        rewritten += [(number, workspace, *row[2:]) for row in kept]
    if emptied:
        await transaction.run("remove_log_rows", *transpose(emptied, 2))
    if rewritten:
        await transaction.run("rewrite_log_rows", *transpose(rewritten, 6))
    if through:
        await transaction.run("note_pruned", *transpose(list(through.items()), 2))


async def prune_events(transaction: PostgresTransaction, before: Micros, after: int, limit: int) -> int | None:
    rows = await transaction.query("lock_loose_rows", after // PLACES, before, _LOOSE_ROWS)
    doomed: set[int] = set()
    for number, workspace, body in rows:
        for stored in decode_row(number, workspace, body):
            if stored.seq > after and is_prunable(stored.event, before) and len(doomed) < limit:
                doomed.add(stored.seq)
    for row in rows:
        events = decode_row(*row)
        gone = {id(stored.event) for stored in events if stored.seq in doomed}
        await _keep(transaction, [row], lambda event, gone=gone: id(event) not in gone)
    if len(doomed) == limit:
        return max(doomed)
    return event_number(rows[-1][0] + 1, 0) - 1 if len(rows) == _LOOSE_ROWS else None
