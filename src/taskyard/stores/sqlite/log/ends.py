"""Finding finished tasks by the events that say so, in the order in which they ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import apsw

from taskyard.core.task import FINAL, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import Cursor
from taskyard.stores.shared.log_rows import decode_row
from taskyard.stores.sqlite.log.log_reads import log_number
from taskyard.stores.sqlite.statements import SQL


class FinalEvent(NamedTuple):
    """An event that says that a task is final."""

    cursor: Cursor  # the time of its row of the log, and its number
    task_id: TaskId


class Walk(NamedTuple):
    ends: list[FinalEvent]
    is_last: bool  # none that is old enough follows


def walk(connection: apsw.Connection, before: Micros, limit: int, after: Cursor) -> Walk:
    """The ends of the next tasks behind the cursor. A task that came to an end more than once is met once."""
    found: dict[TaskId, FinalEvent] = {}
    for end in _ends(connection, before, after):
        found.setdefault(end.task_id, end)
        if len(found) == limit:
            return Walk(list(found.values()), is_last=False)
    return Walk(list(found.values()), is_last=True)


def _ends(connection: apsw.Connection, before: Micros, after: Cursor) -> Iterator[FinalEvent]:
    for first, workspace, at, body in connection.execute(SQL["ends"], {"after": after.major, "before": before}):
        for seq, event, _ in decode_row(log_number(first), workspace, body):
            if event.status in FINAL and event.task_id is not None and (at, seq) > after:
                yield FinalEvent(Cursor(at, seq), event.task_id)
