"""The time that counts: the database's clock, or one that was given; never behind what somebody was already told.

Asking the database each time would cost a round trip. So how far its clock is from this machine's monotonic one is
measured now and then, and slow answers are not believed: the time of a slow answer is known badly.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

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

    def now(self) -> Micros:
        if self._clock is not None:
            self.hear(self._clock.now())
        elif self._offset is not None:
            self.hear(Micros(_monotonic() + self._offset))
        return self._told

    def hear(self, at: Micros) -> None:
        """Somebody was told this."""
        self._told = max(self._told, at)

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
