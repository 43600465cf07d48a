"""Cuts stored times after the clock was set back far, in the same transaction. The core decides what is cut."""

from __future__ import annotations

import json
from collections.abc import Iterator

from taskyard.core.changes import Record
from taskyard.core.clock_jump import CUT_KINDS, cut, cut_record
from taskyard.core.task import Hot
from taskyard.definition.codec import decode_definition
from taskyard.stores.shared import rows
from taskyard.stores.sqlite.statements import SQL, json_list
from taskyard.stores.sqlite.transaction import SqliteTransaction
from taskyard.stores.sqlite.writes.moves import Step, write_steps


def cut_times(transaction: SqliteTransaction) -> None:
    """Shorten leases, delays and windows to their own lengths, and record that the clock went back."""
    write_steps(transaction.connection, [Step(*each) for each in _cut_tasks(transaction)])
    _cut_records(transaction)
    transaction.run("cut_pulses", transaction.now)
    transaction.run("note_jump", transaction.now, transaction.went_back)


def _cut_tasks(transaction: SqliteTransaction) -> Iterator[tuple[Hot, Hot]]:
    for *row, body in list(transaction.connection.execute(SQL["too_far_ahead"], (transaction.now,))):
        hot = rows.parse_hot(row)
        yield hot, cut(hot, run_after=decode_definition(body).run_after, now=transaction.now)


def _cut_records(transaction: SqliteTransaction) -> None:
    found = list(transaction.connection.execute(SQL["windows"], (json_list(CUT_KINDS),)))
    for kind, workspace, id_, version, text in found:
        body = cut_record(Record(kind, workspace, id_, version, json.loads(text)), transaction.now)
        if body is not None:
            transaction.write("write_records", [(kind, workspace, id_, version + 1, rows.format_body(body))])
            transaction.bump_epoch(workspace)
