"""Statements of the fast paths: one statement that is a whole transaction, with its guards inside.

`single_statement` and `optimistic_claim` use them. The general path locks and checks rows in statements of their own
before it writes (`guards`, `claims`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from taskyard.core.changes import Change, Event
from taskyard.core.task import Hot
from taskyard.core.units import Micros
from taskyard.stores.postgres.arrays import add_condition
from taskyard.stores.postgres.moves import is_guard
from taskyard.stores.postgres.statements import BEFORE_CEILINGS, StatementPart, Statements, drawing_part, join
from taskyard.stores.postgres.transaction import PostgresTransaction
from taskyard.stores.shared.rows import Row

Statement = tuple[str, list[str | None]]  # its text and its values


class OneStatement(PostgresTransaction):
    """A transaction of one statement, which locks nothing before and checks the versions of the tasks itself."""

    claim_query = "look"
    good_until: Micros | None = None  # the statement must have its locks by this time

    _steps = 0  # tasks that it changes

    def apply_changes(self, changes: Iterable[Change]) -> None:
        changes = list(changes)
        self._steps += len(changes)
        super().apply_changes(changes)

    def plan_events(self, events: Sequence[Event]) -> None:
        """Name the chunks of all events of the statement, which draws their numbers itself."""
        self._plan(events)
        self._parts.append(drawing_part(self.sql, len(self._planned_from)))

    def _bundle(self, parts: Sequence[StatementPart], answering: Sequence[str]) -> Statement:
        until = self.good_until if self._store_clock else None
        return whole_commit(self.sql, parts, answering, self._steps, until)

    async def take(self, tasks: Iterable[Hot], workspace: str, epoch: int, slots: int) -> bool:
        """Send the pending rows as a whole claim. False: a task has changed, and nothing was written."""
        parts, self._parts = self._parts, []
        seen = [(hot.seq, hot.lane, hot.rank, hot.version) for hot in tasks]
        sql, values = whole_claim(self.sql, parts, seen, workspace=workspace, epoch=epoch, slots=slots)
        self.has_written = await self.connection.run_after(self.sql.lock_plan(workspace), sql, values) > 0
        return self.has_written


def whole_commit(
    sql: Statements, parts: Sequence[StatementPart], answering: Sequence[str], steps: int, until: Micros | None
) -> Statement:
    """A commit as one statement. It fails unless it changes `steps` tasks and has their locks by `until`."""
    guards = [part.name for part in parts if is_guard(part)]
    if not guards:
        return sql.bundle(parts, answering)
    unchanged = StatementPart(
        "unchanged",
        sql["unchanged"].replace("{changed}", "\nunion all\n".join(f"select seq from {name}" for name in guards)),
        [str(steps), None if until is None else str(until)],
    )
    first = [part.name for part in parts if part.name in BEFORE_CEILINGS]
    return sql.bundle([*parts, unchanged], ["unchanged", *first, *answering])


def whole_claim(
    sql: Statements, parts: Sequence[StatementPart], seen: Sequence[Row], *, workspace: str, epoch: int, slots: int
) -> Statement:
    """A claim as one statement. It answers a row; none if a task has changed, and then it writes nothing."""
    chosen = sql.part("chosen", seen)
    whole = StatementPart("whole", sql["whole"], [str(len(seen)), workspace, str(epoch)])
    room = StatementPart("room", sql["room"], [str(slots)])

    def text() -> str:
        guarded = [_only_if_whole(part) for part in parts]
        claim = [chosen, whole, *guarded, room]
        first = [part.name for part in claim if part.name in BEFORE_CEILINGS]
        return join(claim, [*first, "room"])

    values = [value for part in (chosen, whole, *parts, room) for value in part.values]
    return sql.cached(("taking", "", chosen.sql, *(part.sql for part in parts)), text), values


def _only_if_whole(part: StatementPart) -> StatementPart:
    """The part with the condition, if it has rows of its own; other parts take theirs from those."""
    if not part.values or part.name == "drawn":
        return part
    return part._replace(sql=add_condition("exists (select 1 from whole)", part.sql))
