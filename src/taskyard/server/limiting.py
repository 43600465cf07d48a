"""How often somebody may call: a bucket for each caller, in this process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from taskyard.core.errors import TooManyRequests

MOST_CALLERS = 10_000  # whose buckets are remembered; the one that was seen longest ago is full again by then


class Rate(NamedTuple):
    per_sec: float
    burst: int  # calls that may come at once


class _Bucket(NamedTuple):
    left: float
    at: float


class Limiter:
    """Lets each caller make so many calls, and says to the others when to come again."""

    def __init__(self, rate: Rate, *, clock: Callable[[], float] = monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def check(self, caller: str, *, cost: int = 1) -> None:
        """Count a call, or refuse it. One that costs nothing only asks whether there is room."""
        now = self._clock()
        before = self._buckets.pop(caller, _Bucket(self._rate.burst, now))
        left = min(self._rate.burst, before.left + (now - before.at) * self._rate.per_sec)
        is_allowed = left >= 1
        self._buckets[caller] = _Bucket(left - cost if is_allowed else left, now)
        if len(self._buckets) > MOST_CALLERS:
            self._buckets.popitem(last=False)
        if not is_allowed:
            raise TooManyRequests(round((1 - left) / self._rate.per_sec, 3))
