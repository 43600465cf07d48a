"""Measuring: in rounds, each case once a round, so that what disturbs the machine disturbs all of them alike.

What is shown of a case is its median, with the least and the most; its ratio to another case of the same rounds; and
what can be counted instead of timed, which no noise touches.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import strftime
from typing import NamedTuple


class Count(NamedTuple):
    """Something counted, and what was promised of it."""

    value: float
    at_most: float | None = None

    @property
    def kept(self) -> bool:
        return self.at_most is None or self.value <= self.at_most


Counts = dict[str, Count]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Something that can be measured again and again."""

    name: str
    once: Callable[[], Awaitable[float]]  # one sample, in the unit of the measurement
    count: Callable[[], Awaitable[Counts]]  # asked for when the rounds are over
    against: str | None = None  # the case that its ratio is to


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of a case."""

    case: str
    unit: str
    median: float
    least: float
    most: float
    samples: int
    against: str | None
    ratio: Count | None
    counts: Counts

    @property
    def kept(self) -> bool:
        """Whether everything that was promised holds."""
        return all(count.kept for count in (*self.counts.values(), *([self.ratio] if self.ratio else [])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    title: str
    settings: dict[str, float]
    rows: list[Row]


async def measure(
    cases: Sequence[Case], *, unit: str, rounds: int, warm_up: int = 1, at_most: float | None = None
) -> list[Row]:
    """Every case once a round, in turns; the first rounds do not count. `at_most` is what is promised of the ratios."""
    samples: dict[str, list[float]] = {case.name: [] for case in cases}
    for number in range(warm_up + rounds):
        for case in cases:
            sample = await case.once()
            if number >= warm_up:
                samples[case.name].append(sample)
    middle = {name: median(taken) for name, taken in samples.items()}
    return [
        Row(
            case=case.name,
            unit=unit,
            median=middle[case.name],
            least=min(samples[case.name]),
            most=max(samples[case.name]),
            samples=rounds,
            against=case.against,
            ratio=None if case.against is None else Count(middle[case.name] / middle[case.against], at_most),
            counts=await case.count(),
        )
        for case in cases
    ]


def markdown(tables: Sequence[Table]) -> str:
    return "\n\n".join(_table(table) for table in tables)


def _table(table: Table) -> str:
    counted = list(dict.fromkeys(name for row in table.rows for name in row.counts))
    heads = ["", "median", "least", "most", "unit", "ratio", *counted]
    lines = [heads, ["---"] * len(heads), *(_cells(row, counted) for row in table.rows)]
    settings = ", ".join(f"{name} {_figure(value)}" for name, value in table.settings.items())
    return "\n".join([f"### {table.title}", "", settings, "", *(f"| {' | '.join(line)} |" for line in lines)])


def _cells(row: Row, counted: Sequence[str]) -> list[str]:
    figures = [_figure(value) for value in (row.median, row.least, row.most)]
    ratio = "" if row.ratio is None else f"{_counted(row.ratio)} × {row.against}"
    return [row.case, *figures, row.unit, ratio, *(_counted(row.counts.get(name)) for name in counted)]


def _counted(count: Count | None) -> str:
    if count is None:
        return ""
    promise = (
        "" if count.at_most is None else f" (at most {_figure(count.at_most)}: {'kept' if count.kept else 'BROKEN'})"
    )
    return _figure(count.value) + promise


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.3g}"


def report(tables: Sequence[Table], versions: dict[str, str]) -> str:
    """Everything as JSON, with what it was measured on."""
    machine = {
        "at": strftime("%Y-%m-%dT%H:%M:%S%z"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "command": sys.argv,
        **versions,
    }
    return json.dumps({"machine": machine, "tables": [asdict(table) for table in tables]}, indent=2)
