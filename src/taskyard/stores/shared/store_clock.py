"""The time of a store: the database's clock, or a given clock. It goes back only if that clock was set back far.

Asking the database for every time would cost a round trip. The store instead measures the offset between the database's
clock and this machine's monotonic clock from time to time, and ignores slow answers, whose time is uncertain.
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


class StoreClock:
    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock
        self._latest = Micros(0)
        self._offset: int | None = None

    @property
    def uses_server_clock(self) -> bool:
        """Whether the database's clock decides, and not a given one."""
        return self._clock is None

    def read(self) -> Micros:
        """What the clock shows, also if it went back."""
        if self._clock is not None:
            return self._clock.now()
        return self._latest if self._offset is None else Micros(_monotonic() + self._offset)

    def now(self) -> Micros:
        self._latest = time_of(self._latest, self.read())
        return self._latest

    def observe(self, at: Micros) -> bool:
        """Go on from a time that another process used. False: the time is too far ahead of this process's clock."""
        if is_beyond(at, self.read()) and (self._clock is not None or self._offset is not None):
            return False
        self._latest = max(self._latest, at)
        return True

    async def measure(self, ask: Callable[[], Awaitable[int]]) -> None:
        """Ask the database a few times, and use the quickest answer unless that was slow too."""
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
