"""Time in whole microseconds, money in whole micro-dollars, and the only ways into and out of them.

Only money that is gone is rounded, and only up; nothing here guesses a time zone, or knows what time it is.
"""

import re
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache
from typing import NewType

Micros = NewType("Micros", int)  # since 1970 in UTC, or a length of time
MicroUsd = NewType("MicroUsd", int)

SECOND = Micros(1_000_000)
MINUTE = Micros(60 * SECOND)
HOUR = Micros(60 * MINUTE)
DAY = Micros(24 * HOUR)

MOST_USD = 9_000_000_000  # in micro-dollars still below 2**53, which every store and JSON reader holds exactly

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

# datetime.fromisoformat cuts off a seventh decimal in silence, and takes week dates; a time comes back as it was sent.
_ISO = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:[Zz]|[+-]\d\d:?\d\d)", re.ASCII)
_ISO_RULE = "must be an ISO 8601 time with an offset or Z and at most six decimals, such as 2026-11-15T02:37:00Z"

# Decimal also takes underscores, blanks, other scripts' digits and exponents that fill the memory.
_NUMBER = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?", re.ASCII)

# The caller's own decimal context may round, trap or be too short.
_EXACT = Context(prec=120)
_PICO = Decimal("1e-12")


def from_iso(text: str) -> Micros:
    """The moment that `text` names; ValueError says the rule it breaks."""
    if not _ISO.fullmatch(text):
        raise ValueError(_ISO_RULE)
    try:
        return micros(datetime.fromisoformat(text.upper()).astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{_ISO_RULE}: {error}") from None


def to_iso(at: Micros) -> str:
    """Always `Z` and six decimals, so that the text sorts as the time does."""
    second, rest = divmod(at, SECOND)
    return f"{_second(second)}.{rest:06}Z"


@lru_cache(maxsize=1024)  # the times of a batch lie close together
def _second(second: int) -> str:
    return moment(Micros(second * SECOND)).replace(tzinfo=None).isoformat()


def utc_date(at: Micros) -> str:
    return _date(at // DAY)


@lru_cache(maxsize=16)  # every claim and every end of an attempt asks for the same few days
def _date(day: int) -> str:
    return to_iso(Micros(day * DAY))[:10]


def moment(at: Micros) -> datetime:
    return EPOCH + at * _MICROSECOND


def micros(aware: datetime) -> Micros:
    return Micros((aware - EPOCH) // _MICROSECOND)


def seconds(value: int | float) -> Micros:
    """A length of time, to the nearest microsecond; ValueError where it is none."""
    try:
        return Micros(round(value * SECOND))
    except (ValueError, OverflowError):
        raise ValueError("must be a finite number of seconds") from None


def usd(value: str | int | float | Decimal) -> MicroUsd:
    """Dollars, exactly; ValueError says the rule they break."""
    return MicroUsd(fixed_point(value, places=6, most=MOST_USD))


def usd_spent(value: str | int | float | Decimal) -> MicroUsd:
    """Dollars that are gone, rounded up to a micro-dollar: they are spent, whatever the form they are reported in."""
    exact = _decimal(value)
    if isinstance(value, float):
        # What multiplying prices leaves behind the twelfth decimal is no money: it must not round up.
        exact = exact.quantize(_PICO, context=_EXACT)
    if not 0 <= exact <= MOST_USD:
        raise ValueError(f"must be from 0 to {MOST_USD}")
    return MicroUsd(int(exact.scaleb(6, context=_EXACT).to_integral_value(rounding=ROUND_CEILING)))


def to_usd(amount: MicroUsd) -> str:
    """Dollars in plain decimals, no more of them than needed."""
    dollars, rest = divmod(abs(amount), 1_000_000)
    sign = "-" if amount < 0 else ""
    return f"{sign}{dollars}.{rest:06}".rstrip("0").rstrip(".")


def fixed_point(value: str | int | float | Decimal, *, places: int, most: int) -> int:
    """`value` in steps of 10**-places, exactly; ValueError says the rule it breaks."""
    exact = _decimal(value)
    if not 0 <= exact <= most:
        raise ValueError(f"must be from 0 to {most}")
    steps = exact.scaleb(places, context=_EXACT)
    if steps != int(steps):
        raise ValueError(f"must have at most {places} decimals")
    return int(steps)


def _decimal(value: str | int | float | Decimal) -> Decimal:
    # By its text also when it is a number: a float then means what it prints as, and True and NaN are none.
    if not _NUMBER.fullmatch(text := str(value)):
        raise ValueError("must be a decimal number")
    return Decimal(text)
