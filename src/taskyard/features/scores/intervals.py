"""Means, rates and their 95 % intervals, and whether two of them differ by more than chance. Pure.

Means have Student's t interval and their difference Welch's. Rates, and scores that are all 0 or 1, have Wilson's
interval and their difference Newcombe's, which is made of Wilson's. An amount, such as dollars, is never a rate: many
tasks cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from statistics import fmean, variance
from typing import NamedTuple

LEAST = 5  # values on either side: of fewer nothing is said
_Z = 1.959964  # 95 % of the normal distribution, both sides
# The same of Student's t with 1, 2, … 30 degrees of freedom.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


class Estimate(NamedTuple):
    """A mean or a rate, and where it lies in 95 of 100 such samples. No interval: of fewer than two values."""

    mean: float | None
    low: float | None = None
    high: float | None = None


class Contrast(NamedTuple):
    """How much the second sample is above the first; None where there are too few values to say."""

    difference: float | None
    low: float | None = None
    high: float | None = None

    @property
    def is_more_than_chance(self) -> bool:
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def t_quantile(freedom: float) -> float:
    """Student's t for 95 %. Between two whole numbers the lower counts, which makes the interval wider."""
    if freedom < len(_T) + 1:
        return _T[max(int(freedom), 1) - 1]
    # The first terms of the expansion in 1 / freedom: exact to 4 digits here.
    return _Z + (_Z**3 + _Z) / (4 * freedom) + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * freedom**2)


def is_rate(*samples: Sequence[float]) -> bool:
    """Whether all values are yes or no."""
    return all(value in (0.0, 1.0) for values in samples for value in values)


def estimate(values: Sequence[float], *, is_amount: bool = False) -> Estimate:
    if not values:
        return Estimate(None)
    if not is_amount and is_rate(values):
        return Estimate(*_wilson(values))
    mean, count = fmean(values), len(values)
    if count < 2:
        return Estimate(mean)
    half = t_quantile(count - 1) * sqrt(variance(values) / count)
    return Estimate(mean, mean - half, mean + half)


def contrast(first: Sequence[float], second: Sequence[float], *, is_amount: bool = False) -> Contrast:
    if min(len(first), len(second)) < LEAST:
        return Contrast(None)
    is_of_rates = not is_amount and is_rate(first, second)
    return _newcombe(first, second) if is_of_rates else _welch(first, second)


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value that so large a share of the values does not exceed."""
    return sorted(values)[max(ceil(share * len(values)) - 1, 0)] if values else None


class _Rate(NamedTuple):
    rate: float
    low: float
    high: float


def _wilson(values: Sequence[float]) -> _Rate:
    count, square = len(values), _Z**2
    rate = sum(values) / count
    middle = (rate + square / (2 * count)) / (1 + square / count)
    half = _Z * sqrt(rate * (1 - rate) / count + square / (4 * count**2)) / (1 + square / count)
    return _Rate(rate, min(max(middle - half, 0.0), rate), max(min(middle + half, 1.0), rate))


def _newcombe(first: Sequence[float], second: Sequence[float]) -> Contrast:
    one, two = _wilson(first), _wilson(second)
    difference = two.rate - one.rate
    below = sqrt((two.rate - two.low) ** 2 + (one.high - one.rate) ** 2)
    above = sqrt((two.high - two.rate) ** 2 + (one.rate - one.low) ** 2)
    return Contrast(difference, difference - below, difference + above)


def _welch(first: Sequence[float], second: Sequence[float]) -> Contrast:
    one, two = variance(first) / len(first), variance(second) / len(second)
    difference, spread = fmean(second) - fmean(first), one + two
    if spread == 0:
        return Contrast(difference, difference, difference)
    freedom = spread**2 / (one**2 / (len(first) - 1) + two**2 / (len(second) - 1))
    half = t_quantile(freedom) * sqrt(spread)
    return Contrast(difference, difference - half, difference + half)
