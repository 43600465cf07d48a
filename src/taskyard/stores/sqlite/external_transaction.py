"""Enqueueing in the caller's own transaction: the tasks are committed or rolled back with it.

The connection belongs to the caller and is of apsw, like the yard's connections. The sqlite3 module of the standard
library is another copy of SQLite: if one copy closes a file, the system releases the locks of the other copy in the
same process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from taskyard.core.changes import Blocker, NewTask
from taskyard.core.task import Lane, LaneId, TaskId
from taskyard.stores.shared import rows
from taskyard.stores.sqlite.log.log_append import LogAppender, last_numbers
from taskyard.stores.sqlite.statements import SQL, json_list, multi_row
from taskyard.stores.sqlite.writes.new_tasks import insert_tasks


class SqliteExternalTransaction:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        """The ids of these lanes. New lanes are added in this transaction, which others would wait for."""
        known = self._lane_ids(lanes)
        for lane in dict.fromkeys(lanes):
            if lane not in known:
                self._run("insert_lane", lane.workspace, rows.format_lane(lane))
                self._run("bump_epoch", lane.workspace)
        known = self._lane_ids(lanes)
        return [known[lane] for lane in lanes]

    async def by_key(self, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]:
        return dict(self._query("by_key", workspace, json_list(keys)))

    async def insert(self, tasks: Sequence[NewTask], blockers: Sequence[Blocker]) -> None:
        number, clock, task_seq = last_numbers(self._connection)
        log = LogAppender(number)
        numbers = log.append([task.event for task in tasks])
        insert_tasks(self._connection, tasks, task_seq + 1, numbers)
        clock = max(clock, *(task.event.at for task in tasks))
        multi_row("insert_log").run(self._connection, log.take_rows(clock, task_seq + len(tasks)))
        multi_row("insert_blockers").run(self._connection, blockers)

    def _lane_ids(self, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
        texts = {rows.format_lane(lane): lane for lane in lanes}
        return {texts[text]: LaneId(lane_id) for text, lane_id in self._query("lane_ids", json_list(texts))}

    def _query(self, name: str, *values: Any) -> Iterable[Any]:
        return list(self._connection.execute(SQL[name], values))

    def _run(self, name: str, *values: Any) -> None:
        list(self._connection.execute(SQL[name], values))
