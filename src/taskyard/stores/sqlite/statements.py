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
from taskyard.core.task import LET_GO, Attempt, Hot
from taskyard.stores.shared.commits.places import HELD_ONLY, HELD_TOO
from taskyard.stores.shared.rows import Row
from taskyard.stores.shared.sql_files import parse_statements, read_files

_FILES = (
    *("writing.sql", "tasks.sql", "log.sql", "removing.sql", "reading.sql", "graphs.sql", "checking.sql"),
    *("copying.sql", "streams.sql", "lists.sql"),
)

# How many rows one statement writes. There are few sizes, so that each statement is prepared once and reused.
_WIDTHS = (128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)
_PLACEHOLDERS = re.compile(r"\(\?(?:, \?)*\)")
_LONGEST = 16_000  # characters; apsw does not cache longer statements


POSITIONS = {name: place for place, name in enumerate(Hot._fields)}
HELD_NAMES = ("seq", *HELD_TOO, *HELD_ONLY)
TASK_NAMES = tuple(name for name in Hot._fields if name not in HELD_ONLY)
_ATTEMPT_NAMES = Attempt._fields[1:]  # `attempt` has the number of the task instead of its id
_OUTPUT_NAMES = ("data", "artifacts", "decision_report")


def _read_statements() -> dict[str, str]:
    text = read_files(Path(__file__).parent, _FILES)
    meanings = {
        "{hot}": ", ".join(map(_stored, Hot._fields)),
        "{waiting}": ", ".join(map(_stored_waiting, Hot._fields)),
        "{task}": "task\nleft join held\non held.seq = task.seq",
        "{task_names}": ", ".join(TASK_NAMES),
        "({task_marks})": _placeholders(len(TASK_NAMES) + 1),
        "{held_names}": ", ".join(HELD_NAMES),
        "({held_marks})": _placeholders(len(HELD_NAMES) + 1),
        "{attempt}": ", ".join(f"attempt.{name}" for name in _ATTEMPT_NAMES),
        "{attempt_names}": ", ".join(_ATTEMPT_NAMES),
        "({attempt_marks})": _placeholders(len(_ATTEMPT_NAMES) + 1),
        "({ended_marks})": _placeholders(len(_ATTEMPT_NAMES) + 1 + len(_OUTPUT_NAMES)),
        "{attempt_assignments}": ", ".join(f"{name} = excluded.{name}" for name in _ATTEMPT_NAMES),
    }
    for mark, meant in meanings.items():
        text = text.replace(mark, meant)
    return parse_statements(text)


def _stored(name: str) -> str:
    """A column of a task that may be held."""
    if name in HELD_TOO:
        return f"iif(held.seq is null, task.{name}, held.{name})"
    if name not in HELD_ONLY:
        return f"task.{name}"
    empty = LET_GO[name]
    return f"held.{name}" if empty is None else f"coalesce(held.{name}, {empty})"


def _stored_waiting(name: str) -> str:
    """A column of a task that is not held."""
    if name not in HELD_ONLY:
        return f"task.{name}"
    return "null" if LET_GO[name] is None else str(LET_GO[name])


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
        if len(rows) == 1:
            connection.execute(self._text(1), rows[0])
            return
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
def update_of(name: str, columns: tuple[str, ...]) -> tuple[MultiRowStatement, itemgetter[Any]]:
    """The update of only these columns, and the getter of the task's number and their values from a row."""
    sql = (
        SQL[name]
        .replace("{columns}", ", ".join(columns))
        .replace("(?, {marks}, ?)", _placeholders(len(columns) + 2))
        .replace("{assignments}", ", ".join(f"{column} = moved.{column}" for column in columns))
    )
    return MultiRowStatement(sql), itemgetter(POSITIONS["seq"], *(POSITIONS[column] for column in columns))
