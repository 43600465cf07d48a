"""An open write transaction: it assigns sequence numbers and writes rows.

It knows no change set and checks no guard; its callers have done that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apsw

from taskyard.core.changes import Change, Event, Limit, NewTask
from taskyard.core.task import Hot
from taskyard.core.units import Micros
from taskyard.stores.shared import rows
from taskyard.stores.shared.commits.batching import Key
from taskyard.stores.shared.store_clock import StoreClock
from taskyard.stores.sqlite.statements import SQL, multi_row, update_rows

CHUNK = 128  # new tasks that are written between two checks for small jobs


class Preempted(Exception):
    """A small job waits: roll this large transaction back, and begin it again later."""


class SqliteTransaction:
    def __init__(
        self, connection: apsw.Connection, time: StoreClock, should_yield: Callable[[], bool] | None = None
    ) -> None:
        self.connection = connection
        self._should_yield = should_yield  # None: this transaction does not yield
        mark, self._task_seq, self._event_seq = connection.execute(SQL["numbers"]).get
        is_plausible = time.observe(mark)
        self.now = time.now()
        # How far the clock is behind the last write, if so far that it was set back.
        self.went_back = Micros(0) if is_plausible else Micros(mark - self.now)
        self._begun = connection.total_changes()
        self._events: list[tuple[object, ...]] = []

    def finish(self) -> bool:
        """Write the pending events and the new sequence numbers. False: the transaction changed nothing."""
        self.flush_events()
        if self.connection.total_changes() == self._begun:
            return False
        self.connection.execute(SQL["set_numbers"], (self.now, self._task_seq, self._event_seq))
        return True

    def run(self, name: str, *values: Any) -> None:
        self.connection.execute(SQL[name], values)

    def write(self, name: str, values: Sequence[rows.Row]) -> None:
        multi_row(name).run(self.connection, values)

    # Tasks.

    def apply_changes(self, changes: Iterable[Change]) -> None:
        update_rows(self.connection, ((change.before, change.after) for change in changes))

    def insert_tasks(self, tasks: Sequence[NewTask]) -> None:
        for start in range(0, len(tasks), CHUNK):
            if self._should_yield is not None and self._should_yield():
                raise Preempted
            self._insert_chunk(tasks[start : start + CHUNK])

    def _insert_chunk(self, tasks: Sequence[NewTask]) -> None:
        first = self._task_seq + 1
        self._task_seq += len(tasks)
        numbered = list(enumerate(tasks, first))
        defined = rows.format_definitions([task.definition for task in tasks])
        self.write("insert_tasks", [(task.hot[0], seq, *task.hot[2:]) for seq, task in numbered])
        self.write("insert_definitions", [(seq, *row) for seq, row in enumerate(defined, first)])
        tags = [(task.definition.workspace, tag, seq) for seq, task in numbered for tag in task.definition.tags]
        self.write("insert_tags", tags)

    def load(self, name: str, *values: Any) -> list[Hot]:
        return [rows.parse_hot(row) for row in self.connection.execute(SQL[name], values)]

    # Events.

    def add_events(self, events: Iterable[Event]) -> None:
        for seq, event in enumerate(events, self._event_seq + 1):
            self._events.append((seq, *event))
            self._event_seq = seq

    def flush_events(self) -> None:
        self.write("insert_events", self._events)
        self._events = []

    # Ceilings, and the epoch of what claims are planned on.

    def limit(self, workspace: str, name: str) -> Limit:
        row = self.connection.execute(SQL["limit"], (workspace, name)).get
        return Limit(workspace, name, None, 0, 0) if row is None else Limit._make(row)

    def limits(self, keys: Sequence[Key]) -> dict[Key, Limit]:
        """All limits of these keys. A limit without a row is unlimited and unused."""
        found = {(row[0], row[1]): Limit._make(row) for row in multi_row("limits").ask(self.connection, keys)}
        return {key: found.get(key, Limit(*key, None, 0, 0)) for key in keys}

    def write_limits(self, limits: Iterable[Limit]) -> None:
        """Write the limits in the order of their names. A limit without ceiling, holders and spend has no row."""
        ordered = sorted(limits)
        self.write("write_limits", [each for each in ordered if each[2:] != (None, 0, 0)])
        self.write("remove_limits", [each[:2] for each in ordered if each[2:] == (None, 0, 0)])

    def epoch(self, workspace: str) -> int:
        return self.connection.execute(SQL["epoch"], (workspace,)).get

    def bump_epoch(self, workspace: str) -> None:
        self.run("bump_epoch", workspace)
