"""Work that is counted instead of timed: what noise cannot touch."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import apsw

from taskyard.core.task import Hot


class Counted:
    """What the connections that were made under `counting` have done since the last reset."""

    def __init__(self) -> None:
        self.rows = 0  # of tasks, read into the process
        self.steps = 0  # instructions of SQLite's engine: also what it looked at and did not hand over

    def reset(self) -> None:
        self.rows = self.steps = 0

    def watch(self, connection: apsw.Connection) -> None:
        connection.set_row_trace(self._row)
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._statement)  # pyright: ignore[reportUnknownMemberType]

    def _row(self, _: apsw.Cursor, row: Any) -> Any:
        self.rows += len(row) == len(Hot._fields)
        return row

    def _statement(self, told: dict[str, Any]) -> None:
        self.steps += told["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]


@contextmanager
def counting() -> Generator[Counted]:
    """Count what all connections do that are made meanwhile."""
    counted = Counted()
    apsw.connection_hooks.append(counted.watch)
    try:
        yield counted
    finally:
        apsw.connection_hooks.remove(counted.watch)
