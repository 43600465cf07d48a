"""The statements of the .sql files by name, and statements that write many rows at once.

SQLite runs a statement without the interpreter's lock, and taking the lock back waits for other threads: under load a
millisecond for each statement. Few statements of many rows are therefore faster than many statements.
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

from taskyard.core.json_value import compact
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

# How many rows one statement writes. There are few sizes, so that each statement is prepared once and reused.
_WIDTHS = (128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)
_PLACEHOLDERS = re.compile(r"\(\?(?:, \?)*\)")
_LONGEST = 16_000  # characters; apsw does not cache longer statements


def _read_statements() -> dict[str, str]:
    text = read_files(Path(__file__).parent, _FILES)
    names = {
        "{hot}": ", ".join(f"task.{name}" for name in Hot._fields),
        "{hot_names}": ", ".join(Hot._fields),
        "({hot_marks})": _placeholders(len(Hot._fields)),
    }
    for mark, meant in names.items():
        text = text.replace(mark, meant)
    return parse_statements(text)


def _placeholders(number: int) -> str:
    return f"({', '.join('?' * number)})"


SQL = _read_statements()


def json_list(names: Iterable[str | int]) -> str:
    """Names or numbers as one parameter, for `in (select value from json_each(?))`."""
    return compact(list(names))


class MultiRowStatement:
    """A statement for any number of rows."""

    def __init__(self, sql: str) -> None:
        marks = _PLACEHOLDERS.search(sql)
        assert marks is not None, f"there is no group of question marks to repeat in: {sql}"
        self._before, self._after = sql[: marks.start()], sql[marks.end() :]
        self._row = marks[0].replace(" ", "")
        most = (_LONGEST - len(sql)) // (len(self._row) + 1)
        self._widths = tuple(width for width in _WIDTHS if width <= most)
        self._texts: dict[int, str] = {}

    def run(self, connection: apsw.Connection, rows: Sequence[Row]) -> None:
        for text, values in self._chunks(rows):
            connection.execute(text, values)

    def ask(self, connection: apsw.Connection, rows: Sequence[Row]) -> Iterator[Row]:
        for text, values in self._chunks(rows):
            yield from connection.execute(text, values)

    def _chunks(self, rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
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
def multi_row(name: str) -> MultiRowStatement:
    return MultiRowStatement(SQL[name])


@cache
def _update_of(changed: ChangedColumns) -> tuple[MultiRowStatement, itemgetter[Any]] | None:
    """The update of only these columns, and the getter of their values from the row after the change."""
    places = positions_of(changed)
    if not places:
        return None
    names = [Hot._fields[place] for place in places]
    sql = (
        SQL["change_tasks"]
        .replace("{columns}", ", ".join(names))
        .replace("(?, {marks})", _placeholders(len(names) + 1))
        .replace("{assignments}", ", ".join(f"{name} = moved.{name}" for name in names))
    )
    return MultiRowStatement(sql), itemgetter(0, *places)


def update_rows(connection: apsw.Connection, steps: Iterable[tuple[Hot, Hot]]) -> None:
    """Write of each row only the columns that differ from the row before."""
    for changed, rows in group_by_changes(steps).items():
        if (update := _update_of(changed)) is not None:
            statement, values = update
            statement.run(connection, list(map(values, rows)))
