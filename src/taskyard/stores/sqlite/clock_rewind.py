"""What follows, in the same transaction, when the stored mark of time is given up. What is cut, the core says."""

from __future__ import annotations

import json
from collections.abc import Iterator

from taskyard.core.changes import Record
from taskyard.core.clock_jump import CUT_KINDS, cut, cut_record
from taskyard.core.task import Hot
from taskyard.definition.codec import decode_definition
from taskyard.stores.shared import rows
from taskyard.stores.sqlite.statements import SQL, move, names_text
from taskyard.stores.sqlite.transaction import Transaction


def cut_all(transaction: Transaction) -> None:
    """Let nothing last longer than it was made for, and write down that the clock went back."""
    move(transaction.connection, list(_tasks(transaction)))
    _cut_records(transaction)
    transaction.run("cut_pulses", transaction.now)
    transaction.run("note_jump", transaction.now, transaction.went_back)


def _tasks(transaction: Transaction) -> Iterator[tuple[Hot, Hot]]:
    for *row, body in list(transaction.connection.execute(SQL["too_far_ahead"], (transaction.now,))):
        hot = rows.parse_hot(row)
        yield hot, cut(hot, run_after=decode_definition(body).run_after, now=transaction.now)


def _cut_records(transaction: Transaction) -> None:
    found = list(transaction.connection.execute(SQL["windows"], (names_text(CUT_KINDS),)))
    for kind, workspace, id_, version, text in found:
        body = cut_record(Record(kind, workspace, id_, version, json.loads(text)), transaction.now)
        if body is not None:
            transaction.write("write_records", [(kind, workspace, id_, version + 1, rows.format_body(body))])
            transaction.bump_epoch(workspace)
