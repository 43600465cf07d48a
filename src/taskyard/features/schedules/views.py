"""What is answered about schedules."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.definition.view import FLAT, About, Time
from taskyard.features.schedules.rules import Schedule
from taskyard.features.sources.fires import Fire


class Preview(NamedTuple):
    """How a time was understood, and what it comes to."""

    when: str
    cron: Annotated[str | None, About("None: an interval.")]
    timezone: str
    next_times: tuple[Time, ...]


class ScheduleView(NamedTuple):
    schedule: Annotated[Schedule, FLAT]
    next_times: tuple[Time, ...] = ()
    fires: Annotated[tuple[Fire, ...], About("The last ones, latest first; those of one schedule only.")] = ()
