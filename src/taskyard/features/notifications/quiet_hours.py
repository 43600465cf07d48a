"""Quiet hours: the part of each day, on the clocks of one time zone, in which a notifier is left alone. Pure."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from taskyard.core.errors import InvalidInput
from taskyard.core.units import Micros, micros, moment

_SHAPE = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", re.ASCII)


class QuietHours(NamedTuple):
    """From one wall time to another, which may be on the next day."""

    begins: int  # minutes after midnight
    ends: int
    zone: str

    @property
    def text(self) -> str:
        return f"{_clock(self.begins)}-{_clock(self.ends)}"

    def over_at(self, at: Micros) -> Micros:
        """When it is no longer quiet: at once, where it is not."""
        zone = ZoneInfo(self.zone)
        here = moment(at).astimezone(zone)
        shown = here.hour * 60 + here.minute
        is_quiet = (
            self.begins <= shown < self.ends if self.begins < self.ends else shown >= self.begins or shown < self.ends
        )
        if not is_quiet:
            return at
        # By the wall and not by adding hours: clocks are put forward and back at night.
        day = here.date() + timedelta(days=1 if shown >= self.ends else 0)
        ended = micros(datetime.combine(day, time(self.ends // 60, self.ends % 60), zone))
        # An end that the clocks leap over, or that comes twice, is still later than now.
        return max(ended, Micros(at + 1))


def quiet_hours(given: str | None, zone: str | None) -> QuietHours | None:
    """What an operator wrote: `22:00-07:00`, and a time zone."""
    if given is None:
        if zone is not None:
            raise InvalidInput("time_zone", "goes with quiet_hours")
        return None
    match = _SHAPE.fullmatch(given)
    if match is None:
        raise InvalidInput("quiet_hours", "must be like 22:00-07:00")
    hours = [int(each) for each in match.groups()]
    begins, ends = hours[0] * 60 + hours[1], hours[2] * 60 + hours[3]
    if begins == ends:
        raise InvalidInput("quiet_hours", "must have an end: a notifier that is never to be sent is removed")
    try:
        ZoneInfo(zone or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput("time_zone", "must be one that is known, such as Europe/Berlin or UTC") from None
    return QuietHours(begins, ends, zone or "UTC")


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"
