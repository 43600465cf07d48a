"""Schedules in a yard: added, looked at, paused, and fired.

What is due stands in the agenda, records that sort by time, so a sweep reads only what has come. The work that a time
makes, the record of its fire and the schedule's next place in the agenda are one change set: a process that dies
before the commit has fired nothing, and of two processes that fire the same time one meets a conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as changed
from itertools import islice
from typing import Any, TypeVar

from taskyard.core.changes import ChangeSet, Record, merged
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.units import DAY, SECOND, Micros
from taskyard.definition import arguments, fields
from taskyard.features.schedules.agenda import Agenda
from taskyard.features.schedules.rules import KIND, Busy, Gap, Misfire, Overlap, Schedule, Timing, schedule_of
from taskyard.features.schedules.schedule_firing import ScheduleFiring, cause_of, source_of, values_at, with_fires
from taskyard.features.schedules.timetable import timed, times
from taskyard.features.schedules.views import Preview, ScheduleView
from taskyard.features.sources import fires
from taskyard.features.sources.fire_log import FireLog
from taskyard.features.sources.fires import Fire, FireOutcome, source_id
from taskyard.features.sources.from_template import TemplatedWork, template_of
from taskyard.ledger.ids import mint
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL

NEXT_SHOWN = 5
FIRES_SHOWN = 10
DAY_SEC = DAY // SECOND
T = TypeVar("T")


class Schedules:
    def __init__(
        self,
        ledger: Ledger,
        templated_work: TemplatedWork,
        fire_log: FireLog,
        agenda: Agenda,
        schedule_firing: ScheduleFiring,
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._templated_work = templated_work
        self._fire_log = fire_log
        self._agenda = agenda
        self._schedule_firing = schedule_firing

    async def add(
        self,
        schedule_id: str,
        when: str,
        *,
        task: object = None,
        dag: object = None,
        misfire: str = Misfire.ONCE.value,
        misfire_window_sec: float = DAY_SEC,
        busy: str = Busy.ALLOW.value,
        gap: str | None = None,
        overlap: str | None = None,
        starts_at: object = None,
        ends_at: object = None,
        paused: bool = False,
        replace: bool = False,
        by: str = LOCAL,
    ) -> ScheduleView:
        """Make a task or a DAG from a template at certain times: "every Monday at 09:00 Europe/Berlin".

        `replace` puts it in the place of one of the same id, which goes on from now.
        """
        now = self._ledger.now()
        timing = _timing(when, gap, overlap, starts_at, ends_at, now)
        schedule = Schedule(
            id=source_id("id", schedule_id),
            timing=timing,
            template=template_of(task, dag),
            misfire=fields.choice(Misfire)(misfire, "misfire"),
            window=fields.delay(misfire_window_sec, "misfire_window_sec"),
            busy=fields.choice(Busy)(busy, "busy"),
            created_at=now,
            created_by=arguments.name("by", by),
            seen=now,
            next_at=None,
            paused=fields.truth(paused, "paused"),
        )
        await self._templated_work.check(
            dict(schedule.template), cause_of(schedule, "check"), values_at(schedule, now, now)
        )

        async def decide() -> tuple[ChangeSet, Schedule]:
            record = await self._store.record(KIND, self._workspace, schedule.id)
            before = None if record is None else schedule_of(record)
            if before is not None and before.removed_at is None and not replace:
                raise InvalidInput("id", "is that of another schedule; say that it is to be replaced, if so")
            return self._agenda.booked(
                record, changed(schedule, last_run=before.last_run if before else None), "added", by
            )

        return self._view(await self._ledger.commit(decide))

    async def preview(
        self,
        when: str,
        *,
        gap: str | None = None,
        overlap: str | None = None,
        starts_at: object = None,
        ends_at: object = None,
    ) -> Preview:
        """How a time is understood, and the next five times that it names. Nothing is stored."""
        now = self._ledger.now()
        timing = _timing(when, gap, overlap, starts_at, ends_at, now)
        upcoming = tuple(islice(times(timing, now), NEXT_SHOWN))
        return Preview(timing.text, timing.cron, timing.zone, upcoming)

    async def list(self) -> list[ScheduleView]:
        """The schedules of this workspace, by their ids."""
        found = [schedule_of(record) for record in await self._store.records(KIND, self._workspace)]
        return [ScheduleView(each) for each in sorted(found, key=lambda each: each.id) if each.removed_at is None]

    async def get(self, schedule_id: str) -> ScheduleView:
        """One schedule, with its next times and its last fires."""
        _, schedule = await self._stored(schedule_id)
        return self._view(schedule, await self._fire_log.of(source_of(schedule), FIRES_SHOWN, None))

    async def fires(self, schedule_id: str, *, limit: int = 50, below: str | None = None) -> list[Fire]:
        """When it fired, or why it did not, latest first; `below` is the key of the last one seen."""
        _, schedule = await self._stored(schedule_id)
        return await self._fire_log.of(source_of(schedule), limit, below)

    async def pause(self, schedule_id: str, *, by: str = LOCAL) -> None:
        """Let no time fire until it is resumed."""
        await self._move(schedule_id, "paused", by, paused=True)

    async def resume(self, schedule_id: str, *, by: str = LOCAL) -> None:
        """Go on from now: times that passed meanwhile are not made up for."""
        await self._move(schedule_id, "resumed", by, paused=False, seen=self._ledger.now())

    async def remove(self, schedule_id: str, *, by: str = LOCAL) -> None:
        """End it. What it has made stays, and its fires for as long as fires are kept."""
        await self._move(schedule_id, "removed", by, removed_at=self._ledger.now())

    async def run(self, schedule_id: str, *, by: str = LOCAL) -> Fire:
        """Make its work now, beside its times and whatever its policies say."""

        async def decide() -> tuple[ChangeSet, Fire]:
            record, schedule = await self._stored(schedule_id)
            now = self._ledger.now()
            key = fires.key_at(now, mint()[-10:])
            timed_fire, made = await self._schedule_firing.fire_time(schedule, now, key, why=f"run by {by}", keys={})
            fire = changed(timed_fire, nominal=None)
            if fire.outcome is FireOutcome.FAILED:
                raise InvalidInput("template", fire.why)
            after = changed(schedule, last_run=fire.run or schedule.last_run)
            booked, _ = self._agenda.booked(record, after, "run", by)
            sets = [booked, *([made.change_set] if made.change_set else [])]
            return with_fires(merged(sets), [fire], self._workspace), fire

        return await self._ledger.commit_keyed(decide)

    async def _stored(self, schedule_id: str) -> tuple[Record, Schedule]:
        record = await self._store.record(KIND, self._workspace, arguments.name("id", schedule_id))
        schedule = None if record is None else schedule_of(record)
        if record is None or schedule is None or schedule.removed_at is not None:
            raise NotFound("schedule", schedule_id)
        return record, schedule

    async def _move(self, schedule_id: str, verb: str, by: str, **fields_: Any) -> None:
        async def decide() -> tuple[ChangeSet, Schedule]:
            record, schedule = await self._stored(schedule_id)
            return self._agenda.booked(record, changed(schedule, **fields_), verb, by)

        await self._ledger.commit(decide)

    def _view(self, schedule: Schedule, last: Sequence[Fire] = ()) -> ScheduleView:
        upcoming = islice(times(schedule.timing, schedule.seen), NEXT_SHOWN if schedule.next_at is not None else 0)
        return ScheduleView(schedule, tuple(upcoming), tuple(last))


def _timing(when: str, gap: str | None, overlap: str | None, starts_at: object, ends_at: object, now: Micros) -> Timing:
    """What was asked for, each part checked."""
    return timed(
        fields.text(when, "when", most=1000),
        gap=fields.optional(fields.choice(Gap))(gap, "gap"),
        overlap=fields.optional(fields.choice(Overlap))(overlap, "overlap"),
        starts_at=fields.optional(fields.moment)(starts_at, "starts_at") or now,
        ends_at=fields.optional(fields.moment)(ends_at, "ends_at"),
    )
