"""Finding finished tasks by the events that say so, in the order in which they ended."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import Cursor
from taskyard.stores.shared.log_rows import decode_ends
from taskyard.stores.sqlite.log.log_reads import log_number
from taskyard.stores.sqlite.statements import SQL


class Walk(NamedTuple):
    ends: dict[TaskId, Cursor]  # of each task: the time of the row of the log that says it, and the event's number
    is_last: bool  # none that is old enough follows


def walk(connection: apsw.Connection, before: Micros, limit: int, after: Cursor) -> Walk:
    """The ends of the next tasks behind the cursor. A task that came to an end more than once is met once."""
    found: dict[TaskId, Cursor] = {}
    for first, at, body in connection.execute(SQL["ends"], {"after": after.major, "before": before}):
        for number, task_id in decode_ends(log_number(first), body):
            if (at, number) <= after or task_id in found:
                continue
            found[task_id] = Cursor(at, number)
            if len(found) == limit:
                return Walk(found, is_last=False)
    return Walk(found, is_last=True)
