"""Words for tests that drive schedules over a year: what each must have fired, found without the yard's own rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from taskyard.core.units import Micros, micros, to_iso
from taskyard.features.sources.fires import Fire, FireOutcome
from taskyard.yard import Yard

ZONES = ("Europe/Berlin", "America/New_York")
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
CLOSE = timedelta(minutes=75)  # before and after each change of the clocks, minute by minute
AROUND = timedelta(days=1)  # and hour by hour, where that is not done all year
WINDOW = 31 * 86_400  # seconds
WORK = {"type": "audit"}
Span = tuple[datetime, datetime]


class Planned(NamedTuple):
    """A schedule, the span in which it is to fire, and the moments at which it must."""

    id: str
    when: str
    span: Span
    times: list[datetime]


def plans(span: Span, *, hourly_all_year: bool) -> list[Planned]:
    return [plan for zone in ZONES for plan in _plans(zone, span, hourly_all_year)]


def _plans(zone: str, span: Span, hourly_all_year: bool) -> Iterator[Planned]:
    clocks, name = ZoneInfo(zone), zone.rpartition("/")[2]
    days = [span[0] + timedelta(days=number) for number in range((span[1] - span[0]).days + 1)]
    yield Planned(f"daily.{name}", f"every day at 02:30 {zone}", span, [_half_past_two(day, clocks) for day in days])
    firsts = {datetime(day.year, day.month, 1, tzinfo=clocks).astimezone(UTC) for day in days}
    yield Planned(f"monthly.{name}", f"every month on the 1st at 00:00 {zone}", span, sorted(firsts))
    if hourly_all_year:
        yield Planned(f"hourly.{name}", f"0 * * * * {zone}", span, _every(HOUR, span))
    for number, change in enumerate(_changes(clocks, span)):
        close, around = ((change - each, change + each) for each in (CLOSE, AROUND))
        yield Planned(f"minutely.{number}.{name}", f"* * * * * {zone}", close, _every(MINUTE, close))
        if not hourly_all_year:
            yield Planned(f"hourly.{number}.{name}", f"0 * * * * {zone}", around, _every(HOUR, around))


def _every(step: timedelta, span: Span) -> list[datetime]:
    return [span[0] + number * step for number in range((span[1] - span[0]) // step + 1)]


def _half_past_two(day: datetime, clocks: ZoneInfo) -> datetime:
    """When 02:30 comes on this date: first, where it comes twice; where it does not, when the clocks change."""
    meant = datetime(day.year, day.month, day.day, 2, 30, tzinfo=clocks, fold=0).astimezone(UTC)
    shown = meant.astimezone(clocks)
    if (shown.hour, shown.minute) == (2, 30):
        return meant
    [change] = _changes(clocks, (day, day + timedelta(days=1)))
    return change


def _changes(clocks: ZoneInfo, span: Span) -> list[datetime]:
    """The moments at which the clocks change, which are at full hours in these zones."""
    hours = _every(HOUR, span)
    offsets = [hour.astimezone(clocks).utcoffset() for hour in hours]
    return [hour for hour, before, after in zip(hours[1:], offsets, offsets[1:], strict=False) if before != after]


async def add_all(yard: Yard, planned: Sequence[Planned]) -> None:
    for plan in planned:
        first, last = plan.span
        await yard.schedules.add(
            plan.id, plan.when, task=WORK, misfire="all", misfire_window_sec=WINDOW, starts_at=first, ends_at=last
        )


async def wrong_with(yard: Yard, plan: Planned) -> list[str]:
    """The times that did not fire exactly once, and those that fired and should not have."""
    fired = await all_fires(yard, plan.id)
    wanted = [micros(at) for at in plan.times if plan.span[0] <= at <= plan.span[1]]
    found = sorted(fire.nominal or Micros(0) for fire in fired)
    odd = [f"{plan.id} {fire.outcome} {fire.why}" for fire in fired if fire.outcome is not FireOutcome.FIRED]
    missing = [f"{plan.id} did not fire at {to_iso(at)}" for at in sorted(set(wanted) - set(found))]
    extra = [f"{plan.id} fired at {to_iso(at)}" for at in sorted(set(found) - set(wanted))]
    return odd + missing + extra + ([] if len(found) == len(set(found)) else [f"{plan.id} fired twice"])


async def all_fires(yard: Yard, schedule_id: str) -> list[Fire]:
    """Every fire that is kept, latest first."""
    found: list[Fire] = []
    while page := await yard.schedules.fires(schedule_id, limit=200, below=found[-1].key if found else None):
        found += page
    return found
