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
from taskyard.stores.sqlite.statements import SQL, json_list


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
        ((task_seq, event_seq),) = self._query("draw_numbers", len(tasks), len(tasks))
        for place, (hot, definition, event) in enumerate(tasks, start=1 - len(tasks)):
            seq = task_seq + place
            self._run("insert_tasks", hot[0], seq, *hot[2:])
            self._run("insert_definitions", seq, *rows.format_definition(definition))
            for tag in definition.tags:
                self._run("insert_tags", definition.workspace, tag, seq)
            self._run("insert_events", event_seq + place, *event)
        for blocker in blockers:
            self._run("insert_blockers", *blocker)

    def _lane_ids(self, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
        texts = {rows.format_lane(lane): lane for lane in lanes}
        return {texts[text]: LaneId(lane_id) for text, lane_id in self._query("lane_ids", json_list(texts))}

    def _query(self, name: str, *values: Any) -> Iterable[Any]:
        return list(self._connection.execute(SQL[name], values))

    def _run(self, name: str, *values: Any) -> None:
        list(self._connection.execute(SQL[name], values))
