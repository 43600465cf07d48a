"""Sends many rows as values of one statement: column by column, each column as one text.

The driver examines every element of a list several times, which was half of the process's cost of a batch; it sends a
text unexamined. Most columns of a batch have the same value in all rows: such a value is sent and parsed once. A row
that is alone is sent value by value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from taskyard.stores.shared.rows import Row
from taskyard.stores.turns import LONG_TURN, in_turns

_ROWS = re.compile(r"unnest\(\s*(\$[^()]*?)\s*\)(\s+with ordinality)?\s+as (\w+) \(([^()]*)\)")
_GIVEN = re.compile(r" as given \([^()]*\)")
_ARRAY = re.compile(r"\$\d+::(\w+)\[\]")
_number = int.__repr__  # of all integers, booleans included


Filled = tuple[str, list[str | None]]  # a statement and its values


class Columns(NamedTuple):
    """A statement that takes its rows as columns, the same for one row, and the types of the columns."""

    sql: str
    sql_of_one: str
    kinds: Sequence[str]

    def fill(self, rows: Sequence[Row]) -> Filled:
        """The first column gives the number of rows. Other columns are arrays, or one value for all rows."""
        if len(rows) == 1:
            return self.sql_of_one, list(map(_one, self.kinds, rows[0]))
        first, *others = zip(self.kinds, zip(*rows, strict=True), strict=True)
        return self.sql, [_array(*first), *chain.from_iterable(map(_texts, others))]

    async def fill_in_turns(self, rows: Sequence[Row]) -> Filled:
        """The same for many rows: others have the loop between some columns and the next."""
        if len(rows) <= LONG_TURN:
            return self.fill(rows)
        first, *others = zip(self.kinds, zip(*rows, strict=True), strict=True)
        return self.sql, [_array(*first), *chain.from_iterable(await in_turns(_texts, others))]


def to_columns(sql: str) -> Columns:
    """Rewrite a statement with rows of the form `unnest($1::TYPE[], …) as NAME (…)` for columns as texts."""
    found = _ROWS.search(sql)
    assert found is not None, f"this statement has no rows: {sql}"
    arrays, ordinality, name, names = found.groups()
    kinds = _ARRAY.findall(arrays)
    columns = [each.strip() for each in names.split(",")]
    first, *rest = columns[: len(kinds)]
    shared = [f"coalesce({each}, ${2 * place + 3}::text::{kinds[place + 1]})" for place, each in enumerate(rest)]
    texts = ["$1", *(f"${2 * place + 2}" for place in range(len(rest)))]
    given = ", ".join(f"{text}::text::{kind}[]" for text, kind in zip(texts, kinds, strict=True))
    each_row = ", ".join((first, *shared, *columns[len(kinds) :]))
    # A constant column is sent as an empty array, which unnest fills up with nulls, and its value replaces the nulls.
    rows = f"(select {each_row} from unnest({given}){ordinality or ''} as given ({names})) as {name} ({names})"
    values = ", ".join(
        [f"${place}::text::{kind}" for place, kind in enumerate(kinds, 1)] + ["1::bigint"] * bool(ordinality)
    )
    row = f"(select {names} from (values ({values})) as given ({names})) as {name} ({names})"
    before, after = sql[: found.start()], sql[found.end() :]
    return Columns(before + rows + after, before + row + after, kinds)


def add_condition(condition: str, sql: str) -> str:
    """Add a condition to a statement of columns: it has no rows where the condition is false."""
    found = _GIVEN.search(sql)
    assert found is not None, f"this statement has no columns: {sql}"
    return f"{sql[: found.end()]} where {condition}{sql[found.end() :]}"


def _texts(given: tuple[str, Sequence[Any]]) -> tuple[str, str | None]:
    """A column as an array, or as the one value of all its rows."""
    kind, column = given
    if _is_constant(column):
        return "{}", _one(kind, column[0])
    return _array(kind, column), None


def _is_constant(column: Sequence[Any]) -> bool:
    return column[0] == column[-1] and column.count(column[0]) == len(column)


def _one(kind: str, value: Any) -> str | None:
    if value is None:
        return None
    return str(value) if kind == "text" else _number(value)


def _array(kind: str, values: Sequence[Any]) -> str:
    """The values in PostgreSQL's text format of arrays."""
    if kind != "text":
        texts = map(_number, values) if None not in values else ["NULL" if v is None else _number(v) for v in values]
    elif None in values:
        texts = ["NULL" if value is None else _quoted(value) for value in values]
    else:
        joined = '","'.join(values)
        if "\\" not in joined and joined.count('"') == 2 * (len(values) - 1):
            return f'{{"{joined}"}}'
        texts = map(_quoted, values)
    return f"{{{','.join(texts)}}}"


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
