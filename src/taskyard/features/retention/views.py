"""What is answered about upkeep."""

from __future__ import annotations

from typing import NamedTuple


class Swept(NamedTuple):
    """What one sweep did."""

    expired: int = 0
    woken: int = 0
    rescored: int = 0
    pruned: int = 0
    finished: int = 0  # cascades and graphs that a crash had left half done
    fired: int = 0  # schedules whose time had come
