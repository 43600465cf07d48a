"""The statements of the .sql files by name, and how one statement takes many rows.

A statement is stepped without the interpreter's lock, and taking the lock again waits for whatever else runs: under
load a millisecond each time. So many rows are written by few statements, not by many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import apsw

from taskyard.core.jsonvalue import compact
from taskyard.core.task import Hot
from taskyard.stores.shared.rows import Row
from taskyard.stores.shared.sql_files import (
    ChangedColumns,
    group_by_changes,
    parse_statements,
    positions_of,
    read_files,
)

_FILES = ("writing.sql", "removing.sql", "reading.sql")

# How many rows one statement takes: few widths, so that each is prepared once and found again.
_WIDTHS = (128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)
_MARKS = re.compile(r"\(\?(?:, \?)*\)")
_LONGEST = 16_000  # apsw does not keep longer statements prepared


def _statements() -> dict[str, str]:
    text = read_files(Path(__file__).parent, _FILES)
    names = {
        "{hot}": ", ".join(f"task.{name}" for name in Hot._fields),
        "{hot_names}": ", ".join(Hot._fields),
        "({hot_marks})": _marks(len(Hot._fields)),
    }
    for mark, meant in names.items():
        text = text.replace(mark, meant)
    return parse_statements(text)


def _marks(number: int) -> str:
    return f"({', '.join('?' * number)})"


SQL = _statements()


def names_text(names: Iterable[str | int]) -> str:
    """A list of names or numbers as one parameter: `in (select value from json_each(?))`."""
    return compact(list(names))


class Wide:
    """A statement that takes any number of rows."""

    def __init__(self, sql: str) -> None:
        marks = _MARKS.search(sql)
        assert marks is not None, f"there is no group of question marks to repeat in: {sql}"
        self._before, self._after = sql[: marks.start()], sql[marks.end() :]
        self._row = marks[0].replace(" ", "")
        most = (_LONGEST - len(sql)) // (len(self._row) + 1)
        self._widths = tuple(width for width in _WIDTHS if width <= most)
        self._texts: dict[int, str] = {}

    def run(self, connection: apsw.Connection, rows: Sequence[Row]) -> None:
        for text, values in self._pieces(rows):
            connection.execute(text, values)

    def ask(self, connection: apsw.Connection, rows: Sequence[Row]) -> Iterator[Row]:
        for text, values in self._pieces(rows):
            yield from connection.execute(text, values)

    def _pieces(self, rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
        start, left = 0, len(rows)
        while left:
            width = next(width for width in self._widths if width <= left)
            yield self._text(width), tuple(chain.from_iterable(rows[start : start + width]))
            start, left = start + width, left - width

    def _text(self, width: int) -> str:
        if width not in self._texts:
            self._texts[width] = self._before + ",".join([self._row] * width) + self._after
        return self._texts[width]


@cache
def wide(name: str) -> Wide:
    return Wide(SQL[name])


@cache
def _mover(differs: ChangedColumns) -> tuple[Wide, itemgetter[Any]] | None:
    """The update of just these columns, and what takes its values from the row after."""
    places = positions_of(differs)
    if not places:
        return None
    names = [Hot._fields[place] for place in places]
    sql = (
        SQL["change_tasks"]
        .replace("{columns}", ", ".join(names))
        .replace("(?, {marks})", _marks(len(names) + 1))
        .replace("{assignments}", ", ".join(f"{name} = moved.{name}" for name in names))
    )
    return Wide(sql), itemgetter(0, *places)


def move(connection: apsw.Connection, steps: Iterable[tuple[Hot, Hot]]) -> None:
    """Write of each row after a step what differs from the row before it, and nothing else."""
    for differs, rows in group_by_changes(steps).items():
        if (mover := _mover(differs)) is not None:
            statement, values = mover
            statement.run(connection, list(map(values, rows)))
