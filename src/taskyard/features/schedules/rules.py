"""Schedules: work that is made by time, and what becomes of times that were missed.

A nominal time is a moment that the timetable names, whether or not anybody was there when it came. Which ones it names
is worked out elsewhere, from cron expressions and time zones; here is decided which of them fire. Each does at most
once: what was decided is behind `seen`, and the decision is stored with the work it makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Annotated, NamedTuple, TypedDict

from taskyard.core.changes import Record
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import MINUTE, SECOND, Micros
from taskyard.definition.view import FLAT, About, Hidden, Length, Named, Time

KIND = "schedule"
LATE = MINUTE  # a time that is older than this when it is looked at was missed: nobody swept, or the yard was away

Times = Callable[[Micros, Micros], Iterator[Micros]]  # the nominal times after the first moment, up to the second


class Gap(StrEnum):
    """What becomes of a wall-clock time that does not exist, because the clocks are put forward over it."""

    NEXT = "next"  # it fires at the moment at which the clocks are put forward
    SKIP = "skip"


class Overlap(StrEnum):
    """What becomes of a wall-clock time that comes twice, because the clocks are put back over it."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


class Misfire(StrEnum):
    """What becomes of times that were missed, as long as they are within the window."""

    SKIP = "skip"  # only what is on time fires
    ONCE = "once"  # of all that is due, the latest fires
    ALL = "all"  # each fires


class Busy(StrEnum):
    """What becomes of a time when the run before is still going."""

    ALLOW = "allow"
    SKIP = "skip"
    REPLACE = "replace"  # the run before is cancelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When: a cron expression on the wall clocks of a zone, or an interval, which knows no clocks."""

    text: Annotated[str, Named("when")]  # as a person put it
    cron: str | None
    every: Length | None
    zone: Annotated[str, Named("timezone")]
    gap: Gap
    overlap: Overlap
    starts_at: Time  # nothing before this; an interval is counted from here
    ends_at: Time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    id: str
    timing: Annotated[Timing, FLAT]
    template: Mapping[str, Json]
    misfire: Misfire
    window: Annotated[Length, Named("misfire_window_sec")]
    busy: Busy
    created_at: Time
    created_by: str
    seen: Annotated[Time, About("The times up to here are decided.")]
    next_at: Time | None  # the first one after that; None: there is none, or nobody waits for it
    paused: bool = False
    last_run: Annotated[str | None, About("The task or the DAG that the last fire made.")] = None
    removed_at: Annotated[Micros | None, Hidden()] = None  # kept until its fires are old enough to be forgotten

    def body(self) -> dict[str, Json]:
        timing = self.timing
        return {
            "said": timing.text,
            "cron": timing.cron,
            "every": timing.every,
            "zone": timing.zone,
            "gap": timing.gap.value,
            "overlap": timing.overlap.value,
            "starts_at": timing.starts_at,
            "ends_at": timing.ends_at,
            "template": dict(self.template),
            "misfire": self.misfire.value,
            "window": self.window,
            "busy": self.busy.value,
            "created_at": self.created_at,
            "created_by": self.created_by,
            "seen": self.seen,
            "next_at": self.next_at,
            "paused": self.paused,
            "last_run": self.last_run,
            "removed_at": self.removed_at,
        }


_ScheduleText = TypedDict("_ScheduleText", {"said": str})  # noqa: UP013 - under this name it is stored


class ScheduleBody(_ScheduleText):
    cron: str | None
    every: Micros | None
    zone: str
    gap: str
    overlap: str
    starts_at: Micros
    ends_at: Micros | None
    template: dict[str, Json]
    misfire: str
    window: Micros
    busy: str
    created_at: Micros
    created_by: str
    seen: Micros
    next_at: Micros | None
    paused: bool
    last_run: str | None
    removed_at: Micros | None


SCHEDULE = RecordKind(KIND, ScheduleBody)


def schedule_of(record: Record) -> Schedule:
    body = SCHEDULE.of(record)
    timing = Timing(
        text=body["said"],
        cron=body["cron"],
        every=body["every"],
        zone=body["zone"],
        starts_at=body["starts_at"],
        ends_at=body["ends_at"],
        gap=Gap(body["gap"]),
        overlap=Overlap(body["overlap"]),
    )
    return Schedule(
        id=record.id,
        timing=timing,
        misfire=Misfire(body["misfire"]),
        busy=Busy(body["busy"]),
        template=body["template"],
        window=body["window"],
        created_at=body["created_at"],
        created_by=body["created_by"],
        seen=body["seen"],
        next_at=body["next_at"],
        paused=body["paused"],
        last_run=body["last_run"],
        removed_at=body["removed_at"],
    )


def follows_the_clock(cron: str) -> bool:
    """Whether the expression names times of day, and not every hour or minute: as Debian's cron tells the two apart."""
    minute, hour, *_ = cron.split()
    return not minute.startswith("*") and not hour.startswith("*")


# What is due


class UnfiredTimes(NamedTuple):
    """Nominal times that do not fire, by the first of them."""

    first: Micros
    why: str


class DueTimes(NamedTuple):
    """What becomes of the times since the last look."""

    fires: tuple[Micros, ...]
    passed: UnfiredTimes | None
    seen: Micros


def judged(schedule: Schedule, times: Times, now: Micros, most: int) -> DueTimes:
    """Decide on the times that have come, on so many at once at most."""
    oldest = Micros(max(schedule.seen, now - schedule.window - 1))
    too_old = next(times(schedule.seen, oldest), None)
    passed = None if too_old is None else UnfiredTimes(too_old, _too_late(schedule))
    if schedule.misfire is Misfire.ALL:
        return _all_of(tuple(islice(times(oldest, now), most)), passed, now, most)
    late_until = Micros(max(oldest, now - LATE - 1))
    late = next(times(oldest, late_until), None)
    on_time = tuple(islice(times(late_until, now), most))
    if late is None:
        return _all_of(on_time, passed, now, most)
    if schedule.misfire is Misfire.SKIP:
        skipped = UnfiredTimes(too_old or late, "it was missed, and missed runs are skipped")
        return _all_of(on_time, skipped, now, most)
    latest = _latest(times, late, now)
    if latest != late and passed is None:
        passed = UnfiredTimes(late, "it was missed, and one run makes up for all that were")
    return DueTimes((latest,), passed, now)


def _all_of(due: tuple[Micros, ...], passed: UnfiredTimes | None, now: Micros, most: int) -> DueTimes:
    return DueTimes(due, passed, due[-1] if len(due) == most else now)


def _latest(times: Times, known: Micros, now: Micros) -> Micros:
    """The last nominal time, found from behind: in between there may be very many."""
    back = MINUTE
    while now - back > known:
        *_, last = (known, *times(Micros(now - back), now))
        if last != known:
            return last
        back = Micros(back * 4)
    *_, last = (known, *times(known, now))
    return last


def _too_late(schedule: Schedule) -> str:
    return f"it was missed by more than the {schedule.window // SECOND} s in which a run is made up for"
