"""An open write transaction: it assigns sequence numbers and writes rows.

It knows no change set and checks no guard; its callers have done that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import apsw

from taskyard.core.changes import Change, ChangeSet, Event, Limit, NewTask
from taskyard.core.identifiers import is_own_ceiling
from taskyard.core.task import Hot, Status
from taskyard.core.units import Micros
from taskyard.stores.copies import TaskCopy
from taskyard.stores.shared import rows
from taskyard.stores.shared.commits.batching import Key
from taskyard.stores.shared.log_rows import LogRow
from taskyard.stores.shared.store_clock import StoreClock
from taskyard.stores.shared.waiters import ceiling_topic, lane_topic, plan_topic
from taskyard.stores.sqlite.log import log_append
from taskyard.stores.sqlite.log.log_append import LogAppender, Part, SetPlace, Size, last_numbers
from taskyard.stores.sqlite.statements import SQL, multi_row
from taskyard.stores.sqlite.writes.moves import Step, write_steps
from taskyard.stores.sqlite.writes.new_tasks import Definitions, insert_tasks

# Each with the place of its set in the log.
PlacedTask = tuple[SetPlace, NewTask]
PlacedEvent = tuple[SetPlace, Event]

_ROW: Callable[[NewTask | TaskCopy], Hot] = attrgetter("hot")
CHUNK = 128  # new tasks that are written between two checks for small jobs


class Preempted(Exception):
    """A small job waits: roll this large transaction back, and begin it again later."""


class SqliteTransaction:
    def __init__(
        self,
        connection: apsw.Connection,
        time: StoreClock,
        should_yield: Callable[[], bool] | None = None,
        definitions: Definitions | None = None,
    ) -> None:
        self.connection = connection
        self._should_yield = should_yield  # None: this transaction does not yield
        self._definitions = definitions
        number, mark, self._task_seq = last_numbers(connection)
        is_plausible = time.observe(mark)
        self.now = time.now()
        # How far the clock is behind the last write, if so far that it was set back.
        self.went_back = Micros(0) if is_plausible else Micros(mark - self.now)
        self._begun = connection.total_changes()
        self._log = LogAppender(number)
        self.topics: set[str] = set()  # what waiting claims are woken for
        self.streamed: set[str] = set()  # the tasks to whose streams it has written
        self._stream_rows = 0
        self._is_logged = False  # whether a row of the log has the numbers of this transaction

    def finish(self) -> bool:
        """Write the events and the new numbers. False: the transaction changed nothing but streams."""
        self.flush_log()
        changed = self.connection.total_changes() - self._begun
        if not changed:
            return False
        if not self._is_logged:
            self.connection.execute(SQL["set_numbers"], (self._log.number, self.now, self._task_seq))
        return changed > self._stream_rows

    def write_streams(self, chunks: Sequence[rows.Row], task_ids: Iterable[str]) -> None:
        """Write chunks, for which nobody is woken but those who follow these streams."""
        before = self.connection.total_changes()
        self.write("insert_chunks", chunks)
        self._stream_rows += self.connection.total_changes() - before
        self.streamed.update(task_ids)

    def run(self, name: str, *values: Any) -> None:
        self.connection.execute(SQL[name], values)

    def write(self, name: str, values: Sequence[rows.Row]) -> None:
        if values:
            multi_row(name).run(self.connection, values)

    def ask(self, name: str, values: Sequence[rows.Row]) -> Iterable[rows.Row]:
        return multi_row(name).ask(self.connection, values) if values else ()

    # Tasks.

    def apply_changes(self, part: Part, places: Sequence[SetPlace], changes: Sequence[Change]) -> None:
        """Write the changes, with their events at the places of their sets."""
        self._write_changes(changes, log_append.add_events(part, places, [change[2] for change in changes]))

    def append_changes(self, changes: Sequence[Change]) -> None:
        """Write changes whose events come after all others."""
        self._write_changes(changes, self._log.append([change[2] for change in changes]))

    def _write_changes(self, changes: Sequence[Change], numbers: Sequence[int]) -> None:
        steps = [Step(change[0], change[1], number) for change, number in zip(changes, numbers, strict=True)]
        write_steps(self.connection, steps)
        self._note_ready(map(itemgetter(1), changes))

    def yield_to_others(self) -> None:
        """Give up a large transaction if a small job waits."""
        if self._should_yield is not None and self._should_yield():
            raise Preempted

    def insert_tasks(self, tasks: Sequence[PlacedTask]) -> None:
        for start in range(0, len(tasks), CHUNK):
            self.yield_to_others()
            self._insert_chunk(tasks[start : start + CHUNK])

    def _insert_chunk(self, placed: Sequence[PlacedTask]) -> None:
        first = self._task_seq + 1
        self._task_seq += len(placed)
        places, tasks = zip(*placed, strict=True)
        numbers = log_append.add_events(Part.TASKS, places, [task.event for task in tasks])
        insert_tasks(self.connection, tasks, first, numbers, self._definitions)
        self._note_ready(map(_ROW, tasks))

    def restore_tasks(self, tasks: Sequence[TaskCopy]) -> None:
        """Insert tasks of another yard. Their events come later."""
        first = self._task_seq + 1
        self._task_seq += len(tasks)
        insert_tasks(self.connection, tasks, first, [0] * len(tasks))
        self._note_ready(map(_ROW, tasks))

    def _note_ready(self, tasks: Iterable[Hot]) -> None:
        for hot in tasks:
            if hot.status is Status.READY:
                self.topics.add(lane_topic(hot.lane))

    def load(self, name: str, *values: Any) -> list[Hot]:
        return [rows.parse_hot(row) for row in self.connection.execute(SQL[name], values)]

    # Events.

    def place_sets(self, sizes: Iterable[Size]) -> list[SetPlace]:
        """Where the events of change sets go in the log."""
        return self._log.place_sets(sizes)

    def add_events(self, events: Sequence[PlacedEvent]) -> None:
        """Events that belong to no change."""
        places, added = zip(*events, strict=True)
        self.note_owners(added, log_append.add_events(Part.EVENTS, places, added))

    def append_events(self, events: Sequence[Event]) -> None:
        """Events that belong to no change and come after all others."""
        self.note_owners(events, self._log.append(events))

    def note_owners(self, events: Sequence[Event], numbers: Sequence[int]) -> None:
        """Write where the tasks and DAGs of these events find them."""
        owners = list(zip(events, numbers, strict=True))
        of_tasks = [(event.task_id, number) for event, number in owners if event.task_id is not None]
        of_dags = [
            (event.workspace, event.dag_id, number)
            for event, number in owners
            if event.task_id is None and event.dag_id is not None
        ]
        self.write("insert_task_events_by_id", of_tasks)
        self.write("insert_dag_events", of_dags)

    def restore_log(self, number: int, found: Sequence[tuple[int, LogRow]]) -> None:
        """Insert rows of the log, each with the number of its first event. Later rows get numbers above `number`."""
        self._log.number = max(self._log.number, number)
        placed = [(first, row.workspace, row.at, self.now, self._task_seq, *row[2:]) for first, row in found]
        self.write("insert_log", placed)

    def flush_log(self) -> None:
        found = self._log.take_rows(self.now, self._task_seq)
        self.write("insert_log", found)
        self._is_logged = self._is_logged or bool(found)

    def note_removal(self) -> None:
        """Rows of the log are removed, which may have the last numbers."""
        self.flush_log()
        self._is_logged = False

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

    def note_room(self, sets: Iterable[ChangeSet]) -> None:
        """Have those woken who are kept from tasks by ceilings of their own that have more room now."""
        for each in sets:
            for workspace, name, held, spent in each.spends:
                if (held < 0 or spent < 0) and is_own_ceiling(name):
                    self.topics.add(ceiling_topic(workspace, name))

    def epoch(self, workspace: str) -> int:
        return self.connection.execute(SQL["epoch"], (workspace,)).get

    def bump_epoch(self, workspace: str) -> None:
        self.run("bump_epoch", workspace)
        self.topics.add(plan_topic(workspace))
