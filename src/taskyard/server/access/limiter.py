"""How often somebody may call, and how much at once: for each caller by itself, in this process."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
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
        left = self._left(caller)
        is_allowed = left >= 1
        self._set(caller, left - cost if is_allowed else left)
        if not is_allowed:
            raise TooManyRequests(round((1 - left) / self._rate.per_sec, 3))

    def charge(self, caller: str, cost: int) -> None:
        """Count what was done already: it is missing for the calls that come next."""
        self._set(caller, self._left(caller) - cost)

    def _left(self, caller: str) -> float:
        before = self._buckets.get(caller)
        if before is None:
            return self._rate.burst
        return min(self._rate.burst, before.left + (self._clock() - before.at) * self._rate.per_sec)

    def _set(self, caller: str, left: float) -> None:
        self._buckets[caller] = _Bucket(left, self._clock())
        self._buckets.move_to_end(caller)
        if len(self._buckets) > MOST_CALLERS:
            self._buckets.popitem(last=False)


class OneAtATime:
    """Lets one large call of each caller be made at a time. The next waits, and nobody else does."""

    def __init__(self) -> None:
        self._turns: dict[str, asyncio.Lock] = {}
        self._wanted: dict[str, int] = {}

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncGenerator[None]:
        self._wanted[caller] = self._wanted.get(caller, 0) + 1
        try:
            async with self._turns.setdefault(caller, asyncio.Lock()):
                yield
        finally:
            self._wanted[caller] -= 1
            if not self._wanted[caller]:
                del self._wanted[caller], self._turns[caller]
