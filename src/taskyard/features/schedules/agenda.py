"""When which schedule is due: records that sort by time, so that a sweep reads only what has come."""

from __future__ import annotations

from dataclasses import replace as changed

from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.json_value import Json, compact
from taskyard.core.units import Micros
from taskyard.features.schedules.rules import KIND, Schedule, schedule_of
from taskyard.features.schedules.timetable import times
from taskyard.ledger.ledger import Ledger

AGENDA = "agenda"  # the kind of record that says when which schedule is due
EVERYBODYS = ""  # the workspace that the agenda is in: one sweep looks at it for all


class Agenda:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._workspace = ledger.workspace

    def booked(
        self, record: Record | None, schedule: Schedule, verb: str = "", by: str = ""
    ) -> tuple[ChangeSet, Schedule]:
        """The schedule as it is to be stored, in its place in the agenda."""
        now = self._ledger.now()
        waits = not schedule.paused and schedule.removed_at is None
        upcoming = next(times(schedule.timing, schedule.seen), None) if waits else None
        after = changed(schedule, next_at=upcoming)
        row = RecordChange(KIND, self._workspace, schedule.id, record.version if record else 0, after.body())
        before = None if record is None else schedule_of(record).next_at
        events = (self._ledger.audit(f"schedule.{verb}", by, {"schedule": schedule.id}),) if verb else ()
        return ChangeSet(records=(row, *self._moved(schedule.id, before, upcoming)), events=events, at=now), after

    def _moved(self, schedule_id: str, before: Micros | None, after: Micros | None) -> list[RecordChange]:
        """Take the schedule out of its place in the agenda, and put it where it is due next."""
        if before == after:
            return []
        entry: dict[str, Json] = {"workspace": self._workspace, "schedule": schedule_id}
        moves = [(before, 1, None), (after, 0, entry)]
        return [
            RecordChange(AGENDA, EVERYBODYS, place_of(at, self._workspace, schedule_id), version, body)
            for at, version, body in moves
            if at is not None
        ]


def place_of(at: Micros, workspace: str, schedule_id: str) -> str:
    """Where in the agenda a schedule stands that is due then."""
    return f"{at:016d} {compact([workspace, schedule_id])}"
