"""What time it is: by the machine, or by a test.

A store is given one of these and makes of it a time that never goes back.
"""

import time

from taskyard.core import units
from taskyard.core.units import Micros


class SystemClock:
    """The machine's time."""

    def now(self) -> Micros:
        return Micros(time.time_ns() // 1000)


class ManualClock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self._now = units.from_iso("2026-01-01T00:00Z")

    def now(self) -> Micros:
        return self._now

    def advance(self, *, seconds: float) -> None:
        """Move on, or back where `seconds` is below 0, as a machine's clock may when it is set."""
        self._now = Micros(self._now + units.seconds(seconds))
