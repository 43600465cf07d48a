"""Times as people say them: "every Monday at 09:00 Europe/Berlin", "every 15 minutes", "30 2 * * *".

What is understood is a cron expression or an interval, and the zone that was named. Nothing is guessed: what is not
understood is refused, with examples.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.units import DAY, HOUR, MINUTE, SECOND, Micros

FIELD = "when"
RULE = (
    "must be a cron expression such as 30 2 * * *, or words such as: every 15 minutes; every day at 02:30; every "
    "weekday at 9am; every Monday and Friday at 09:00; every month on the 1st at 06:00; each may end in a zone: "
    "Europe/Berlin"
)
_LONGEST = 255  # characters
_MOST_INTERVAL = 366 * DAY

_ZONE = re.compile(r"(?:^|\s)(?:in\s+)?((?:[A-Z][A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+)|UTC|GMT)$")
_CRON = re.compile(r"[0-9*][0-9*/,-]*( [0-9A-Za-z*/,#-]+){4}")
_INTERVAL = re.compile(r"every (\d{1,9}) (second|minute|hour|day|week)s?")
_HOURLY = re.compile(r"(?:every hour|hourly)(?: at :([0-5]\d))?")
_DAILY = re.compile(r"(every day|daily|every weekday)(?: at (.+))?")
_WEEKLY = re.compile(r"(?:every|weekly on) ((?:[a-z]+)(?:(?:, | and |, and )[a-z]+)*)(?: at (.+))?")
_MONTHLY = re.compile(
    r"(?:every month|monthly)(?: on (?:the )?(?:(\d{1,2})(?:st|nd|rd|th)?|day (\d{1,2})|(last day)))?(?: at (.+))?"
)
_TIME = re.compile(r"(\d{1,2})(?::([0-5]\d))?(?: ?(am|pm))?")
_AND = re.compile(r", and |, | and ")

_UNITS = {"second": SECOND, "minute": MINUTE, "hour": HOUR, "day": DAY, "week": Micros(7 * DAY)}
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
    "every minute": "* * * * *",
}


class ParsedTimes(NamedTuple):
    """What was understood: a cron expression, or an interval."""

    cron: str | None
    every: Micros | None
    zone: str | None  # None: none was named


def understood(text: str) -> ParsedTimes:
    words = " ".join(text.split())
    if len(words) > _LONGEST:
        raise InvalidInput(FIELD, f"must be at most {_LONGEST} characters")
    zone = _ZONE.search(words)
    rest = words[: zone.start()] if zone else words
    named = zone[1] if zone else None
    if _CRON.fullmatch(rest):
        return ParsedTimes(rest, None, named)
    lowered = rest.lower()
    every = _interval(lowered)
    return ParsedTimes(None, every, named) if every is not None else ParsedTimes(_cron(lowered), None, named)


def _interval(words: str) -> Micros | None:
    if words == "every second":
        return SECOND
    match = _INTERVAL.fullmatch(words)
    if match is None:
        return None
    every = int(match[1]) * _UNITS[match[2]]
    if not SECOND <= every <= _MOST_INTERVAL:
        raise InvalidInput(FIELD, "must be an interval from a second to a year")
    return Micros(every)


def _cron(words: str) -> str:
    if (known := _NICKNAMES.get(words)) is not None:
        return known
    if match := _HOURLY.fullmatch(words):
        return f"{int(match[1] or 0)} * * * *"
    if match := _DAILY.fullmatch(words):
        return f"{_clock(match[2])} * * {'1-5' if match[1] == 'every weekday' else '*'}"
    if match := _MONTHLY.fullmatch(words):
        day = "L" if match[3] else str(int(match[1] or match[2] or 1))
        return f"{_clock(match[4])} {day} * *"
    if match := _WEEKLY.fullmatch(words):
        days = sorted({_day(each) for each in _AND.split(match[1])})
        return f"{_clock(match[2])} * * {','.join(map(str, days))}"
    raise InvalidInput(FIELD, RULE)


def _day(word: str) -> int:
    """A day of the week by its name or by its first three letters, from Sunday on."""
    for number, name in enumerate(_DAYS):
        if word in (name, name[:3]):
            return number
    raise InvalidInput(FIELD, RULE)


def _clock(words: str | None) -> str:
    """Minute and hour, as cron has them. Several times of day go into one expression where their minute is the same."""
    times = [_time(each) for each in _AND.split(words)] if words else [(0, 0)]
    minutes, hours = {minute for _, minute in times}, sorted({hour for hour, _ in times})
    if len(minutes) > 1:
        raise InvalidInput(FIELD, "must have times of the same minute; make two schedules of those that differ")
    return f"{minutes.pop()} {','.join(map(str, hours))}"


def _time(words: str) -> tuple[int, int]:
    if words in ("noon", "midnight"):
        return (12 if words == "noon" else 0), 0
    match = _TIME.fullmatch(words)
    if match is None or (match[2] is None and match[3] is None):
        raise InvalidInput(FIELD, RULE)
    hour, minute = int(match[1]), int(match[2] or 0)
    if match[3] is None:
        if hour > 23:
            raise InvalidInput(FIELD, "must have a time of day from 00:00 to 23:59")
        return hour, minute
    if not 1 <= hour <= 12:
        raise InvalidInput(FIELD, "must have an hour from 1 to 12 before am or pm")
    return hour % 12 + (12 if match[3] == "pm" else 0), minute
