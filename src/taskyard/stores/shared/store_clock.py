"""The time that counts: the database's clock, or one that was given. It goes back only where that was set back far.

Asking the database each time would cost a round trip. So how far its clock is from this machine's monotonic one is
measured now and then, and slow answers are not believed: the time of a slow answer is known badly.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from taskyard.core.clock_jump import is_beyond, time_of
from taskyard.core.units import Micros
from taskyard.stores.contract import Clock

MEASURED_EVERY = 30.0  # seconds
_SAMPLES = 5
_SLOW = 50_000  # microseconds


class StoreTime:
    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock
        self._told = Micros(0)
        self._offset: int | None = None

    @property
    def is_the_stores(self) -> bool:
        """Whether the database's own clock decides."""
        return self._clock is None

    def clock(self) -> Micros:
        """What the clock itself says."""
        if self._clock is not None:
            return self._clock.now()
        return self._told if self._offset is None else Micros(_monotonic() + self._offset)

    def now(self) -> Micros:
        self._told = time_of(self._told, self.clock())
        return self._told

    def hear(self, at: Micros) -> bool:
        """Somebody was told this; whether that can be believed by the clock here."""
        if is_beyond(at, self.clock()) and (self._clock is not None or self._offset is not None):
            return False
        self._told = max(self._told, at)
        return True

    async def measure(self, ask: Callable[[], Awaitable[int]]) -> None:
        """Ask the database a few times, and believe the quickest answer, unless that was slow too."""
        if self._clock is not None:
            return
        samples: list[tuple[int, int]] = []
        for _ in range(_SAMPLES):
            before = _monotonic()
            answer = await ask()
            took = _monotonic() - before
            samples.append((took, answer - before - took // 2))
        took, offset = min(samples)
        if took <= _SLOW or self._offset is None:
            self._offset = offset


def _monotonic() -> int:
    return time.monotonic_ns() // 1000
