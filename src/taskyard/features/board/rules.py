"""Where a task stands on the board: in which column, in which lane, and before which other task. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.priority import RANK_UNIT, effective
from taskyard.core.task import Hot, Status
from taskyard.core.units import DAY, Micros

MOST_CARDS = 100  # of a column, or of a column in a lane
USUAL_CARDS = 20
MOST_LANES = 50
MOST_READ = 1_000  # tasks of each column
DONE_FOR = DAY  # for so long a task that is done stays on the board


class ColumnName(StrEnum):
    WAITING = "waiting"
    READY = "ready"
    RUNNING = "running"
    VALIDATING = "validating"
    DONE = "done"
    DEAD = "dead"


COLUMNS: Mapping[ColumnName, frozenset[Status]] = {
    ColumnName.WAITING: frozenset({Status.PENDING, Status.RETRYING}),
    ColumnName.READY: frozenset({Status.READY}),
    ColumnName.RUNNING: frozenset({Status.CLAIMED, Status.RUNNING}),
    ColumnName.VALIDATING: frozenset({Status.VALIDATING}),
    ColumnName.DONE: frozenset({Status.COMPLETED}),
    ColumnName.DEAD: frozenset({Status.DEAD_LETTERED}),
}
LANES = ("agent", "subject", "type")


class PlacedTask(NamedTuple):
    """A task, and where it stands among those that wait."""

    hot: Hot
    lane: str | None  # None: of no agent, or about nothing
    standing: float


def lanes_of(given: str | None) -> str | None:
    if given is not None and given not in LANES:
        raise InvalidInput("lanes", f"must be one of {', '.join(LANES)}")
    return given


def standing(hot: Hot, boost: int, now: Micros) -> float:
    """What its place is worth now, in steps of priority: the lowest is claimed first."""
    return round(effective(hot.rank, boost, now) / RANK_UNIT, 6)


def in_order(column: ColumnName, placed: Iterable[PlacedTask]) -> list[PlacedTask]:
    """What waits in the order of its claims; what is at work the longest first; what has ended the last first."""
    keys: dict[ColumnName, Callable[[PlacedTask], tuple[float, int]]] = {
        ColumnName.WAITING: _by_standing,
        ColumnName.READY: _by_standing,
        ColumnName.RUNNING: lambda each: (each.hot.started_at or each.hot.claimed_at or 0, each.hot.seq),
        ColumnName.VALIDATING: lambda each: (each.hot.updated_at, each.hot.seq),
        ColumnName.DONE: lambda each: (-each.hot.updated_at, -each.hot.seq),
        ColumnName.DEAD: lambda each: (-each.hot.updated_at, -each.hot.seq),
    }
    return sorted(placed, key=keys[column])


def _by_standing(each: PlacedTask) -> tuple[float, int]:
    return each.standing, each.hot.seq


def is_shown(column: ColumnName, hot: Hot, now: Micros) -> bool:
    """What was done long ago is not on the board any more."""
    return column is not ColumnName.DONE or hot.updated_at >= now - DONE_FOR


def first_of_each_lane(placed: Sequence[PlacedTask], lanes: Iterable[str | None], limit: int) -> list[PlacedTask]:
    """The first cards of each of these lanes, in the order of the column."""
    room = Counter(dict.fromkeys(lanes, limit))
    kept: list[PlacedTask] = []
    for each in placed:
        if room[each.lane] > 0:
            room[each.lane] -= 1
            kept.append(each)
    return kept


def lanes_in_order(columns: Iterable[Sequence[PlacedTask]]) -> tuple[list[str | None], int]:
    """The lanes by their names, the one without a name last; and how many were left out, with the fewest tasks."""
    sizes = Counter(each.lane for placed in columns for each in placed)
    kept = sorted(sizes, key=lambda lane: (-sizes[lane], lane or ""))[:MOST_LANES]
    return sorted(kept, key=lambda lane: (lane is None, lane or "")), len(sizes) - len(kept)
