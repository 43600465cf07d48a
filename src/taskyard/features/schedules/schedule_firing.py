"""Schedules that are due: the times that have come make work, as their policies have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace as changed
from functools import partial

from taskyard.core.changes import ChangeSet, Record, merged
from taskyard.core.errors import CycleFound, InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.task import TaskId
from taskyard.core.units import SECOND, Micros, to_iso
from taskyard.features.dags.service import Dags
from taskyard.features.schedules.agenda import AGENDA, EVERYBODYS, Agenda
from taskyard.features.schedules.rules import KIND, Busy, Schedule, judged, schedule_of
from taskyard.features.schedules.timetable import times, wall_time
from taskyard.features.sources import fires
from taskyard.features.sources.fires import Fire, FireOutcome
from taskyard.features.sources.from_template import Cause, Keys, Made, TemplatedWork, tasks_of
from taskyard.features.tasks.cancellation import Cancellation
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.tracing import enqueue_span

DUE_AT_ONCE = 100  # schedules that one look at the agenda takes
MOST_LOOKS = 20  # at the agenda in one sweep
MOST_FIRED = 5000  # by one sweep, but for those of the schedule that goes beyond
FIRED_AT_ONCE = 200  # times of one schedule that are stored in one change set


class ScheduleFiring:
    def __init__(
        self, ledger: Ledger, cancellation: Cancellation, dags: Dags, templated_work: TemplatedWork, agenda: Agenda
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._cancellation = cancellation
        self._dags = dags
        self._templated_work = templated_work
        self._agenda = agenda

    async def fire_all(self, beside: Callable[[str], ScheduleFiring]) -> int:
        """Fire what is due in every workspace, some at a time. Two who do so at once do no harm."""
        fired = 0
        for _ in range(MOST_LOOKS):
            come = f"{self._ledger.now() + 1:016d}"
            due = await self._store.page(AGENDA, EVERYBODYS, below=come, limit=DUE_AT_ONCE)
            for entry in due:
                fired += await beside(str(entry.body["workspace"])).fire_due(str(entry.body["schedule"]))
            if not due or fired >= MOST_FIRED:
                break
        return fired

    async def fire_due(self, schedule_id: str) -> int:
        """Fire the times of one schedule that have come, as its policies have it."""

        async def decide() -> tuple[ChangeSet | None, int]:
            record = await self._store.record(KIND, self._workspace, schedule_id)
            schedule = None if record is None else schedule_of(record)
            if record is None or schedule is None or schedule.next_at is None or schedule.next_at > self._ledger.now():
                return None, 0
            return await self._fired_times(record, schedule)

        return await self._ledger.commit_keyed(decide)

    async def _fired_times(self, record: Record, schedule: Schedule) -> tuple[ChangeSet, int]:
        now = self._ledger.now()
        verdict = judged(schedule, partial(times, schedule.timing), now, FIRED_AT_ONCE)
        noted = [] if verdict.passed is None else [_missed(schedule, *verdict.passed, now)]
        sets: list[ChangeSet] = []
        keys: Keys = {}
        last = schedule.last_run
        waiting = await self._kept_waiting(schedule, verdict.fires)
        for nominal in verdict.fires:
            if nominal in waiting:
                noted.append(_skipped(schedule, nominal, waiting[nominal], now))
                continue
            fire, made = await self.fire_time(
                schedule, nominal, fires.key_at(nominal), why="its time has come", keys=keys
            )
            noted.append(fire)
            last = fire.run or last
            sets += [] if made.change_set is None else [made.change_set]
        after = changed(schedule, seen=verdict.seen, last_run=last)
        booked, _ = self._agenda.booked(record, after)
        return with_fires(merged([booked, *sets]), noted, self._workspace), len(sets)

    async def _kept_waiting(self, schedule: Schedule, due: Sequence[Micros]) -> dict[Micros, str]:
        """The times that do not fire because of a run that is going, with the reason."""
        if schedule.busy is Busy.ALLOW or not due:
            return {}
        going = schedule.last_run if await self._is_going(schedule.last_run) else None
        if schedule.busy is Busy.REPLACE:
            if going is not None:
                await self._end_run(going, schedule)
            return dict.fromkeys(due[:-1], "a later time has come too, and would replace it")
        first = due if going is not None else due[1:]
        return dict.fromkeys(first, f"the run before is still going: {going or 'that of the time before'}")

    async def _is_going(self, run: str | None) -> bool:
        if run is None:
            return False
        if run.startswith("dag_"):
            record = await self._store.record("dag", self._workspace, run)
            return record is not None and record.body["ended_at"] is None
        hot = (await self._store.load([TaskId(run)])).get(TaskId(run))
        return hot is not None and not hot.status.is_final

    async def _end_run(self, run: str, schedule: Schedule) -> None:
        reason, by = f"replaced by the next run of {schedule.id}", f"cron:{schedule.id}"
        if run.startswith("dag_"):
            await self._dags.cancel(run, reason, by=by)
        else:
            await self._cancellation.cancel(run, reason, by=by)

    async def fire_time(
        self, schedule: Schedule, nominal: Micros, key: str, *, why: str, keys: Keys
    ) -> tuple[Fire, Made]:
        """One fire and its work. A template that does not fit is reported, and stops nothing."""
        now = self._ledger.now()
        fire = Fire(source=source_of(schedule), key=key, outcome=FireOutcome.FIRED, why=why, at=now, nominal=nominal)
        try:
            values, cause = values_at(schedule, nominal, now), cause_of(schedule, fire.id)
            with enqueue_span(tasks_of(schedule.template)):
                made = await self._templated_work.made(schedule.template, values, cause, keys)
        except (InvalidInput, CycleFound) as error:
            return changed(fire, outcome=FireOutcome.FAILED, why=str(error)), Made(None)
        if made.change_set is None:
            fire = changed(fire, why=f"{why}; a live task has the key of what it makes")
        return changed(fire, task_id=made.task_id, dag_id=made.dag_id), made


def with_fires(change_set: ChangeSet, new: Sequence[Fire], workspace: str) -> ChangeSet:
    """The set with the records of its fires, each of which is new or the set is refused."""
    return change_set._replace(records=(*change_set.records, *(fire.stored(workspace) for fire in new)))


def source_of(schedule: Schedule) -> str:
    return f"{KIND}:{schedule.id}"


def cause_of(schedule: Schedule, ref: str) -> Cause:
    return Cause(f"cron:{schedule.id}", KIND, ref, schedule.timing.text)


def _missed(schedule: Schedule, first: Micros, why: str, now: Micros) -> Fire:
    return _unfired(schedule, first, FireOutcome.MISSED, why, now)


def _skipped(schedule: Schedule, nominal: Micros, why: str, now: Micros) -> Fire:
    return _unfired(schedule, nominal, FireOutcome.SKIPPED, why, now)


def _unfired(schedule: Schedule, nominal: Micros, outcome: FireOutcome, why: str, now: Micros) -> Fire:
    return Fire(
        source=source_of(schedule), key=fires.key_at(nominal), outcome=outcome, why=why, at=now, nominal=nominal
    )


def values_at(schedule: Schedule, nominal: Micros, now: Micros) -> dict[str, Json]:
    """What a template may name."""
    wall = wall_time(schedule.timing, nominal)
    return {
        "schedule": {"id": schedule.id, "when": schedule.timing.text, "zone": schedule.timing.zone},
        "fire": {
            "nominal": to_iso(nominal),
            "wall": wall,
            "date": wall[:10],
            "at": to_iso(now),
            "late_sec": max(0, now - nominal) // SECOND,
        },
    }
