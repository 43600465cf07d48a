"""Which moments a timetable names: cron expressions on the wall clocks of a zone, and intervals.

Wall clocks jump. Between two jumps they run like any clock, so times are found stretch by stretch: within one, a wall
time is one moment; at its end, the policies say what becomes of wall times that are left out or come again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from taskyard.core.errors import InvalidInput
from taskyard.core.units import EPOCH, HOUR, SECOND, Micros, micros, moment
from taskyard.definition.fields import LATEST
from taskyard.features.schedules.rules import Gap, Overlap, Timing, follows_the_clock
from taskyard.features.schedules.text import understood

_STEP = Micros(6 * HOUR)  # no zone puts its clocks forward and back within so short a time
_FURTHEST = Micros(26 * HOUR)  # no two clocks of a zone are further apart
_NAIVE_EPOCH = EPOCH.replace(tzinfo=None)
_LEAST = Micros(1)


def timed(text: str, *, gap: Gap | None, overlap: Overlap | None, starts_at: Micros, ends_at: Micros | None) -> Timing:
    """What a person means. Where no policy was chosen: times of day fire once, whatever the clocks do, and what goes
    by hours or minutes goes on as if they did nothing."""
    meant = understood(text)
    zone = meant.zone or "UTC"
    _check_zone(zone)
    if meant.cron is not None:
        _check_cron(meant.cron)
    by_clock = meant.cron is not None and follows_the_clock(meant.cron)
    return Timing(
        text=" ".join(text.split()),
        cron=meant.cron,
        every=meant.every,
        zone=zone,
        gap=gap or (Gap.NEXT if by_clock else Gap.SKIP),
        overlap=overlap or (Overlap.FIRST if by_clock else Overlap.BOTH),
        starts_at=starts_at,
        ends_at=ends_at,
    )


def times(timing: Timing, after: Micros, until: Micros = LATEST) -> Iterator[Micros]:
    """The nominal times after one moment, up to and including another, in order."""
    until = min(until, LATEST if timing.ends_at is None else timing.ends_at)
    if timing.every is not None:
        return _every(timing.every, timing.starts_at, after, until)
    return _at_wall_times(timing, Micros(max(after, timing.starts_at - _LEAST)), until)


def wall_time(timing: Timing, at: Micros) -> str:
    """What the clocks of the zone show, with their distance from UTC."""
    return moment(at).astimezone(ZoneInfo(timing.zone)).isoformat()


def _check_zone(zone: str) -> None:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput("when", "must name a time zone that is known, such as Europe/Berlin or UTC") from None


def _check_cron(cron: str) -> None:
    try:
        next(CronSim(cron, _NAIVE_EPOCH))
    except CronSimError as error:
        raise InvalidInput("when", f"must be a cron expression that can be read: {error}") from None
    except StopIteration:
        raise InvalidInput("when", "must be a time that comes at least once in 50 years") from None


def _every(every: Micros, start: Micros, after: Micros, until: Micros) -> Iterator[Micros]:
    """The start is the moment at which the schedule was made, or that was asked for; an interval ends after it."""
    number = max(1, (after - start) // every + 1)
    while (at := Micros(start + number * every)) <= until:
        yield at
        number += 1


def _at_wall_times(timing: Timing, after: Micros, until: Micros) -> Iterator[Micros]:
    zone, cron = ZoneInfo(timing.zone), timing.cron or ""
    if timing.gap is Gap.NEXT and _begins_after_gap(timing.zone, cron, after):
        yield (after := Micros(after + _LEAST))
    while after < until:
        jump = _next_jump(timing.zone, after)
        for wall in CronSim(cron, _naive(Micros(after + jump.before))):
            at = Micros((wall - _NAIVE_EPOCH) // timedelta(microseconds=1) - jump.before)
            if at > until or at >= jump.at:
                break
            if _is_wanted(zone, at, timing.overlap):
                yield at
        else:
            return  # not within 50 years
        if at > until and jump.at > until:
            return
        if jump.at <= until and timing.gap is Gap.NEXT and _has_time_in_gap(cron, jump):
            yield jump.at
            after = jump.at
        else:
            # Over the end of a year nothing comes again: the search goes on shortly before what was found.
            found = at - _FURTHEST if jump.before == jump.after else jump.at
            after = Micros(max(jump.at - _LEAST, found - _LEAST))


class _Jump(NamedTuple):
    """Where the clocks of a zone are put forward or back; or the end of a year, over which nothing happens."""

    at: Micros
    before: int  # how far the wall clocks are ahead of UTC, in microseconds
    after: int


def _has_time_in_gap(cron: str, jump: _Jump) -> bool:
    if jump.after <= jump.before:
        return False
    first = next(CronSim(cron, _naive(Micros(jump.at + jump.before - SECOND))), None)
    return first is not None and first < _naive(Micros(jump.at + jump.after))


def _begins_after_gap(zone: str, cron: str, after: Micros) -> bool:
    """Whether the clocks are put forward in the very next microsecond, over a time that is to fire."""
    first = Micros(after + _LEAST)
    return any(jump.at == first and _has_time_in_gap(cron, jump) for jump in _jumps(zone, moment(first).year))


def _is_wanted(zone: ZoneInfo, at: Micros, overlap: Overlap) -> bool:
    if overlap is Overlap.BOTH:
        return True
    shown = moment(at).astimezone(zone)
    comes_twice = shown.replace(fold=0).utcoffset() != shown.replace(fold=1).utcoffset()
    return not comes_twice or (shown.fold == 0) == (overlap is Overlap.FIRST)


def _next_jump(zone: str, after: Micros) -> _Jump:
    """The first one at which another stretch begins for who stands just behind `after`."""
    year = moment(Micros(after + _LEAST)).year
    return next(jump for jump in _jumps(zone, year) if jump.at > after + _LEAST)


@lru_cache(maxsize=512)
def _jumps(zone: str, year: int) -> tuple[_Jump, ...]:
    """Those of a year, and its end."""
    clocks = ZoneInfo(zone)
    at, end = (micros(datetime(each, 1, 1, tzinfo=EPOCH.tzinfo)) for each in (year, year + 1))
    found: list[_Jump] = []
    while at < end:
        later = min(Micros(at + _STEP), end)
        if _offset(clocks, at) != _offset(clocks, later):
            found.append(_between(clocks, at, later))
        at = later
    return *found, _Jump(end, _offset(clocks, end), _offset(clocks, end))


def _between(clocks: ZoneInfo, low: Micros, high: Micros) -> _Jump:
    before, after = _offset(clocks, low), _offset(clocks, high)
    while high - low > SECOND:
        middle = Micros((low + high) // 2 // SECOND * SECOND)
        if _offset(clocks, middle) == before:
            low = middle
        else:
            high = middle
    return _Jump(high, before, after)


def _offset(clocks: ZoneInfo, at: Micros) -> int:
    shown = moment(at).astimezone(clocks).utcoffset() or timedelta(0)
    return shown // timedelta(microseconds=1)


def _naive(at: Micros) -> datetime:
    return _NAIVE_EPOCH + timedelta(microseconds=at)
