"""Schedules in a yard: added, looked at, paused, and fired.

What is due stands in the agenda, records that sort by time, so a sweep reads only what has come. The work that a time
makes, the record of its fire and the schedule's next place in the agenda land in one change: who dies before that has
fired nothing, and of two who fire the same time one meets a conflict and finds it done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace as changed
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from taskyard.core.changes import ChangeSet, Record, RecordChange, merged
from taskyard.core.errors import Contended, CycleFound, InvalidInput, NotFound
from taskyard.core.json_value import Json, compact
from taskyard.core.task import TaskId
from taskyard.core.units import DAY, SECOND, Micros, to_iso
from taskyard.definition import arguments, fields
from taskyard.features.schedules.rules import KIND, Busy, Gap, Misfire, Overlap, Schedule, judged, schedule_of
from taskyard.features.schedules.timetable import timed, times, wall_time
from taskyard.features.schedules.views import ScheduleView
from taskyard.features.sources import fires
from taskyard.features.sources.fires import Fire, Outcome, source_id
from taskyard.features.sources.from_template import Cause, Keys, Made, Making, tasks_of, template_of
from taskyard.ledger.ids import mint
from taskyard.ledger.ledger import TRIES, KeyTaken
from taskyard.ledger.options import LOCAL
from taskyard.ledger.tracing import enqueue_span
from taskyard.service.steering import Steering

AGENDA = "agenda"  # the kind of record that says when which schedule is due
EVERYBODYS = ""  # the workspace that the agenda is in: one sweep looks at it for all
DUE_AT_ONCE = 100  # schedules that one look at the agenda takes
MOST_LOOKS = 20  # at the agenda in one sweep
MOST_FIRED = 5000  # by one sweep, but for those of the schedule that goes beyond
FIRED_AT_ONCE = 200  # times of one schedule that land in one change
NEXT_SHOWN = 5
FIRES_SHOWN = 10
MOST_FIRES = 200
DAY_SEC = DAY // SECOND
T = TypeVar("T")


class Scheduling(Making, Steering):
    async def add_schedule(
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
        now = self.now()
        timing = timed(
            fields.text(when, "when", most=1000),
            gap=fields.optional(fields.choice(Gap))(gap, "gap"),
            overlap=fields.optional(fields.choice(Overlap))(overlap, "overlap"),
            starts_at=fields.optional(fields.moment)(starts_at, "starts_at") or now,
            ends_at=fields.optional(fields.moment)(ends_at, "ends_at"),
        )
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
        await self._check_template(dict(schedule.template), _cause(schedule, "check"), _values(schedule, now, now))

        async def decide() -> tuple[ChangeSet, Schedule]:
            record = await self.store.record(KIND, self.workspace, schedule.id)
            before = None if record is None else schedule_of(record)
            if before is not None and before.removed_at is None and not replace:
                raise InvalidInput("id", "is that of another schedule; say that it is to be replaced, if so")
            return self._booked(record, changed(schedule, last_run=before.last_run if before else None), "added", by)

        return self._schedule_view(await self._land(decide))

    async def schedules(self) -> list[ScheduleView]:
        """The schedules of this workspace, by their ids."""
        found = [schedule_of(record) for record in await self.store.records(KIND, self.workspace)]
        return [ScheduleView(each) for each in sorted(found, key=lambda each: each.id) if each.removed_at is None]

    async def schedule(self, schedule_id: str) -> ScheduleView:
        """One schedule, with its next times and its last fires."""
        _, schedule = await self._stored_schedule(schedule_id)
        return self._schedule_view(schedule, await self._fires_of(_source(schedule), FIRES_SHOWN, None))

    async def schedule_fires(self, schedule_id: str, *, limit: int = 50, below: str | None = None) -> list[Fire]:
        """When it fired, or why it did not, latest first; `below` is the key of the last one seen."""
        _, schedule = await self._stored_schedule(schedule_id)
        return await self._fires_of(_source(schedule), limit, below)

    async def pause_schedule(self, schedule_id: str, *, by: str = LOCAL) -> None:
        """Let no time fire until it is resumed."""
        await self._move_schedule(schedule_id, "paused", by, paused=True)

    async def resume_schedule(self, schedule_id: str, *, by: str = LOCAL) -> None:
        """Go on from now: times that passed meanwhile are not made up for."""
        await self._move_schedule(schedule_id, "resumed", by, paused=False, seen=self.now())

    async def remove_schedule(self, schedule_id: str, *, by: str = LOCAL) -> None:
        """End it. What it has made stays, and its fires for as long as fires are kept."""
        await self._move_schedule(schedule_id, "removed", by, removed_at=self.now())

    async def run_schedule(self, schedule_id: str, *, by: str = LOCAL) -> Fire:
        """Make its work now, beside its times and whatever its policies say."""

        async def decide() -> tuple[ChangeSet, Fire]:
            record, schedule = await self._stored_schedule(schedule_id)
            now = self.now()
            key = fires.key_at(now, mint()[-10:])
            timed_fire, made = await self._fire_time(schedule, now, key, why=f"run by {by}", keys={})
            fire = changed(timed_fire, nominal=None)
            if fire.outcome is Outcome.FAILED:
                raise InvalidInput("template", fire.why)
            after = changed(schedule, last_run=fire.run or schedule.last_run)
            booked, _ = self._booked(record, after, "run", by)
            sets = [booked, *([made.change_set] if made.change_set else [])]
            return _with(merged(sets), [fire], self.workspace), fire

        return await self._land_fires(decide)

    # Firing

    async def _fire_schedules(self, beside: Callable[[str], Scheduling]) -> int:
        """Fire what is due in every workspace, some at a time. Two who do so at once do no harm."""
        fired = 0
        for _ in range(MOST_LOOKS):
            come = f"{self.now() + 1:016d}"
            due = await self.store.page(AGENDA, EVERYBODYS, below=come, limit=DUE_AT_ONCE)
            for entry in due:
                fired += await beside(str(entry.body["workspace"]))._fire_due(str(entry.body["schedule"]))
            if not due or fired >= MOST_FIRED:
                break
        return fired

    async def _fire_due(self, schedule_id: str) -> int:
        """Fire the times of one schedule that have come, as its policies have it."""

        async def decide() -> tuple[ChangeSet | None, int]:
            record = await self.store.record(KIND, self.workspace, schedule_id)
            schedule = None if record is None else schedule_of(record)
            if record is None or schedule is None or schedule.next_at is None or schedule.next_at > self.now():
                return None, 0
            return await self._fired_times(record, schedule)

        return await self._land_fires(decide)

    async def _fired_times(self, record: Record, schedule: Schedule) -> tuple[ChangeSet, int]:
        now = self.now()
        verdict = judged(schedule, partial(times, schedule.timing), now, FIRED_AT_ONCE)
        told = [] if verdict.passed is None else [_missed(schedule, *verdict.passed, now)]
        sets: list[ChangeSet] = []
        keys: Keys = {}
        last = schedule.last_run
        waiting = await self._kept_waiting(schedule, verdict.fires)
        for nominal in verdict.fires:
            if nominal in waiting:
                told.append(_skipped(schedule, nominal, waiting[nominal], now))
                continue
            fire, made = await self._fire_time(
                schedule, nominal, fires.key_at(nominal), why="its time has come", keys=keys
            )
            told.append(fire)
            last = fire.run or last
            sets += [] if made.change_set is None else [made.change_set]
        after = changed(schedule, seen=verdict.seen, last_run=last)
        booked, _ = self._booked(record, after)
        return _with(merged([booked, *sets]), told, self.workspace), len(sets)

    async def _kept_waiting(self, schedule: Schedule, due: Sequence[Micros]) -> dict[Micros, str]:
        """The times that do not fire because of a run that is going, with the reason."""
        if schedule.busy is Busy.ALLOW or not due:
            return {}
        going = schedule.last_run if await self._is_going(schedule.last_run) else None
        if schedule.busy is Busy.REPLACE:
            if going is not None:
                await self._end_run(going, f"replaced by the next run of {schedule.id}")
            return dict.fromkeys(due[:-1], "a later time has come too, and would replace it")
        first = due if going is not None else due[1:]
        return dict.fromkeys(first, f"the run before is still going: {going or 'that of the time before'}")

    async def _is_going(self, run: str | None) -> bool:
        if run is None:
            return False
        if run.startswith("dag_"):
            record = await self.store.record("dag", self.workspace, run)
            return record is not None and record.body["ended_at"] is None
        hot = (await self.store.load([TaskId(run)])).get(TaskId(run))
        return hot is not None and not hot.status.is_final

    async def _end_run(self, run: str, reason: str) -> None:
        await (self.cancel_dag(run, reason) if run.startswith("dag_") else self.cancel(run, reason))

    async def _fire_time(
        self, schedule: Schedule, nominal: Micros, key: str, *, why: str, keys: Keys
    ) -> tuple[Fire, Made]:
        """One fire and its work. A template that does not fit is told of, and stops nothing."""
        now = self.now()
        fire = Fire(source=_source(schedule), key=key, outcome=Outcome.FIRED, why=why, at=now, nominal=nominal)
        try:
            values, cause = _values(schedule, nominal, now), _cause(schedule, fire.id)
            with enqueue_span(tasks_of(schedule.template)):
                made = await self._made(schedule.template, values, cause, keys)
        except (InvalidInput, CycleFound) as error:
            return changed(fire, outcome=Outcome.FAILED, why=str(error)), Made(None)
        if made.change_set is None:
            fire = changed(fire, why=f"{why}; a live task has the key of what it makes")
        return changed(fire, task_id=made.task_id, dag_id=made.dag_id), made

    # Storing

    async def _land_fires(self, decide: Callable[[], Awaitable[tuple[ChangeSet | None, T]]]) -> T:
        """Land fires with their work. Where a key was taken meanwhile, its owner is seen at the next try."""
        for _ in range(TRIES):
            try:
                return await self._land(decide)
            except KeyTaken:
                continue
        raise Contended(tries=TRIES)

    async def _fires_of(self, source: str, limit: int, below: str | None) -> list[Fire]:
        fields.whole(limit, "limit", least=1, most=MOST_FIRES)
        last = None if below is None else f"{source}/{arguments.name('below', below)}"
        page = await self.store.page(fires.KIND, self.workspace, prefix=f"{source}/", below=last, limit=limit)
        return [fires.fire_of(record) for record in page]

    async def _stored_schedule(self, schedule_id: str) -> tuple[Record, Schedule]:
        record = await self.store.record(KIND, self.workspace, arguments.name("id", schedule_id))
        schedule = None if record is None else schedule_of(record)
        if record is None or schedule is None or schedule.removed_at is not None:
            raise NotFound("schedule", schedule_id)
        return record, schedule

    async def _move_schedule(self, schedule_id: str, verb: str, by: str, **fields_: Any) -> None:
        async def decide() -> tuple[ChangeSet, Schedule]:
            record, schedule = await self._stored_schedule(schedule_id)
            return self._booked(record, changed(schedule, **fields_), verb, by)

        await self._land(decide)

    def _booked(
        self, record: Record | None, schedule: Schedule, verb: str = "", by: str = ""
    ) -> tuple[ChangeSet, Schedule]:
        """The schedule as it is to be stored, in its place in the agenda."""
        now = self.now()
        waits = not schedule.paused and schedule.removed_at is None
        upcoming = next(times(schedule.timing, schedule.seen), None) if waits else None
        after = changed(schedule, next_at=upcoming)
        row = RecordChange(KIND, self.workspace, schedule.id, record.version if record else 0, after.body())
        before = None if record is None else schedule_of(record).next_at
        told = (self._told_by(f"schedule.{verb}", by, {"schedule": schedule.id}),) if verb else ()
        return ChangeSet(records=(row, *self._agenda(schedule.id, before, upcoming)), events=told, at=now), after

    def _agenda(self, schedule_id: str, before: Micros | None, after: Micros | None) -> list[RecordChange]:
        """Take the schedule out of its place in the agenda, and put it where it is due next."""
        if before == after:
            return []
        entry: dict[str, Json] = {"workspace": self.workspace, "schedule": schedule_id}
        moves = [(before, 1, None), (after, 0, entry)]
        return [
            RecordChange(AGENDA, EVERYBODYS, place_of(at, self.workspace, schedule_id), version, body)
            for at, version, body in moves
            if at is not None
        ]

    def _schedule_view(self, schedule: Schedule, last: Sequence[Fire] = ()) -> ScheduleView:
        upcoming = islice(times(schedule.timing, schedule.seen), NEXT_SHOWN if schedule.next_at is not None else 0)
        return ScheduleView(schedule, tuple(upcoming), tuple(last))


def place_of(at: Micros, workspace: str, schedule_id: str) -> str:
    """Where in the agenda a schedule stands that is due then."""
    return f"{at:016d} {compact([workspace, schedule_id])}"


def _with(change_set: ChangeSet, told: Sequence[Fire], workspace: str) -> ChangeSet:
    """The set with the records of its fires, each of which is new or the set does not land."""
    return change_set._replace(records=(*change_set.records, *(fire.stored(workspace) for fire in told)))


def _source(schedule: Schedule) -> str:
    return f"{KIND}:{schedule.id}"


def _cause(schedule: Schedule, ref: str) -> Cause:
    return Cause(f"cron:{schedule.id}", KIND, ref, schedule.timing.said)


def _missed(schedule: Schedule, first: Micros, why: str, now: Micros) -> Fire:
    return _unfired(schedule, first, Outcome.MISSED, why, now)


def _skipped(schedule: Schedule, nominal: Micros, why: str, now: Micros) -> Fire:
    return _unfired(schedule, nominal, Outcome.SKIPPED, why, now)


def _unfired(schedule: Schedule, nominal: Micros, outcome: Outcome, why: str, now: Micros) -> Fire:
    return Fire(source=_source(schedule), key=fires.key_at(nominal), outcome=outcome, why=why, at=now, nominal=nominal)


def _values(schedule: Schedule, nominal: Micros, now: Micros) -> dict[str, Json]:
    """What a template may name."""
    wall = wall_time(schedule.timing, nominal)
    return {
        "schedule": {"id": schedule.id, "when": schedule.timing.said, "zone": schedule.timing.zone},
        "fire": {
            "nominal": to_iso(nominal),
            "wall": wall,
            "date": wall[:10],
            "at": to_iso(now),
            "late_sec": max(0, now - nominal) // SECOND,
        },
    }
