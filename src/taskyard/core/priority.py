"""Who comes first: the rank that is stored once, and what it is worth at any moment.

    effective = priority − boost · age in minutes − deadline boost − critical path boost        (lower goes first)

Tasks of one boost age alike, so their order is settled by `rank`, in which the present time does not occur; tasks of
different boosts are compared by `effective`. Nothing here knows what time it is, or looks at other tasks.
"""

from decimal import Decimal
from math import log2

from taskyard.core.units import MINUTE, Micros, fixed_point

RANK_UNIT = 1_000_000  # a rank is in millionths, whole, so that every store sorts it alike
BOOST_STEPS = 100  # a boost is in hundredths per minute, so that there are few lanes
MOST_BOOST = 100  # per minute: with creation times before 2140 a rank stays below 2**53, which Redis and JSON hold

TIERS = {"critical": 0, "high": 10, "normal": 30, "low": 60, "background": 80}  # from which priority on
MOST_CRITICAL_PATH_BOOST = 10
FULL_DEADLINE_BOOST = 40 * RANK_UNIT
DEADLINE_HALVING = 30 * MINUTE
RESCORE_STEP = RANK_UNIT // 2


def boost_steps(per_minute: float | str | Decimal) -> int:
    """A boost per minute in steps of 0.01; ValueError says the rule it breaks."""
    return fixed_point(per_minute, places=2, most=MOST_BOOST)


def aged(boost: int, at: Micros) -> int:
    """What a boost is worth from 1970 until `at`. Only the difference of two of these means anything."""
    return boost * at * RANK_UNIT // (BOOST_STEPS * MINUTE)


def rank(*, priority: int, boost: int, created_at: Micros, height: int, deadline: Micros | None, now: Micros) -> int:
    """The order of a task among those of the same boost, for as long as its deadline boost stands."""
    steady = (priority - critical_path_boost(height)) * RANK_UNIT
    return steady + aged(boost, created_at) - deadline_boost(deadline, now)


def effective(rank: int, boost: int, now: Micros) -> int:
    """What a rank is worth now, comparable between any two tasks."""
    return rank - aged(boost, now)


def critical_path_boost(height: int) -> int:
    return min(height, MOST_CRITICAL_PATH_BOOST)


def deadline_boost(deadline: Micros | None, now: Micros) -> int:
    """In millionths: full at and after the deadline, halving for every half hour before it."""
    if deadline is None:
        return 0
    return int(FULL_DEADLINE_BOOST * 2.0 ** -(max(deadline - now, 0) / DEADLINE_HALVING))


def rescore_at(deadline: Micros | None, now: Micros) -> Micros | None:
    """When the deadline boost will have grown by half a point; None where it will not grow any more."""
    if deadline is None or now >= deadline:
        return None
    next_boost = min(deadline_boost(deadline, now) + RESCORE_STEP, FULL_DEADLINE_BOOST)
    remaining = DEADLINE_HALVING * log2(FULL_DEADLINE_BOOST / next_boost)
    return Micros(deadline - int(remaining))


def tier(priority: int) -> str:
    """The word people use for a priority."""
    return next(word for word, floor in reversed(TIERS.items()) if priority >= floor or not floor)
